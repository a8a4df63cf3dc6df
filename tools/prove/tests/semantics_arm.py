"""What isa/arm64.py and isa/arm32.py say of an instruction, beside what an emulator does: every instruction of the kernels, by
mnemonic and form of its operands, with random and edge inputs.

    tests.semantics_arm [--inputs N] [--seed S] [--part I/N] [--neighbors] [--plant] OBJECT...

All forms go into one static program, which is given the states of registers and memory before, many at a time, and tells those
after. All inputs are taken as symbols, whose result is then evaluated (columns.py), and some as constants too. --plant makes
one instruction in a hundred wrong, which must be found. --neighbors takes what no kernel has
but a mutant may (mutation/mutate.py): forms made of these by turning one bit over, whose meaning is given as well. Then what the
prover refuses is no failure, and counted.
"""
import argparse
import collections
import random
import re
import subprocess
import tempfile

import numpy as np
from isa import arm32, arm64
from isa.code import STOPS
from run import kernels
from run.memory import Memory
from tests import columns
from values import terms
from values.terms import Unproved, const

BUFFER, BYTES, FROM, SEEN = 0x30000000, 8192, 2176, 384  # what an instruction may touch is that part of it
AIM = FROM + 128

C = """
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static sigjmp_buf back;
static void trapped(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}
extern void (*const forms[])(void *);
static _Alignas(64) unsigned char records[%(most)d][%(size)d + %(seen)d];
int main(void)
{
    unsigned char *b = mmap((void *)%(buffer)#xUL, %(bytes)d, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    uint32_t asked[2]; /* which form, how many records */
    if (b != (void *)%(buffer)#xUL)
        return 1;
    signal(SIGILL, trapped), signal(SIGSEGV, trapped), signal(SIGBUS, trapped);
    while (fread(asked, 8, 1, stdin) == 1) {
        if (asked[1] > %(most)d || fread(records, sizeof records[0], asked[1], stdin) != asked[1])
            return 1;
        for (uint32_t i = 0; i < asked[1]; i++) {
            memcpy(b + %(from)d, records[i] + %(size)d, %(seen)d);
            if (sigsetjmp(back, 1)) /* no such instruction, or no such address */
                memset(records[i], 0xd1, sizeof records[i]);
            else
                forms[asked[0]](records[i]);
            memcpy(records[i] + %(size)d, b + %(from)d, %(seen)d);
        }
        if (fwrite(records, sizeof records[0], asked[1], stdout) != asked[1] || fflush(stdout))
            return 1;
    }
    return 0;
}
"""


class Arm64:
    isa, compiler, emulator = arm64, "aarch64-linux-gnu-gcc", ("qemu-aarch64", "-cpu", "max")
    general, vector, flags, size, words, vectors, pointer = 0, 256, 768, 832, 32, 32, 64
    free = [i for i in range(31) if i not in (18, 28, 29, 30)]
    base = 28

    @staticmethod
    def assembly(codes):
        out = [".arch armv8-a+crypto", ".text"]
        for k, code in enumerate(codes):
            out += [f"form{k}:", "sub sp, sp, #192"]
            out += [f"stp x{i}, x{i + 1}, [sp, #{8 * (i - 19)}]" for i in range(19, 29, 2)] + ["stp x29, x30, [sp, #80]"]
            out += [f"stp d{i}, d{i + 1}, [sp, #{96 + 8 * (i - 8)}]" for i in range(8, 16, 2)]
            out += ["mov x28, x0", "ldr x1, [x28, #768]", "msr nzcv, x1"]
            out += [f"ldr q{i}, [x28, #{256 + 16 * i}]" for i in range(32)]
            out += [f"ldr x{i}, [x28, #{8 * i}]" for i in Arm64.free]
            out += [f".inst {code:#x}"]
            out += [f"str x{i}, [x28, #{8 * i}]" for i in Arm64.free]
            out += [f"str q{i}, [x28, #{256 + 16 * i}]" for i in range(32)]
            out += ["mrs x1, nzcv", "str x1, [x28, #768]"]
            out += [f"ldp d{i}, d{i + 1}, [sp, #{96 + 8 * (i - 8)}]" for i in range(8, 16, 2)]
            out += ["ldp x29, x30, [sp, #80]"] + [f"ldp x{i}, x{i + 1}, [sp, #{8 * (i - 19)}]" for i in range(19, 29, 2)]
            out += ["add sp, sp, #192", "ret"]
        out += [".section .data.rel.ro,\"aw\"", ".globl forms", ".p2align 3", "forms:"] + [f".quad form{k}" for k in range(len(codes))]
        return "\n".join(out) + "\n.section .note.GNU-stack,\"\",%progbits\n"

    @staticmethod
    def vector_words(m):
        return [w for v in m.vector for w in v]

    @staticmethod
    def set_vectors(m, words):
        m.vector = [words[4 * i:4 * i + 4] for i in range(32)]


class Arm32:
    isa, compiler, emulator = arm32, "arm-linux-gnueabihf-gcc", ("qemu-arm", "-cpu", "max")
    general, vector, flags, size, words, vectors, pointer = 0, 64, 320, 384, 16, 16, 32
    free = [i for i in range(13) if i != 10]
    base = 10

    @staticmethod
    def assembly(codes):
        out = [".arch armv8-a", ".fpu crypto-neon-fp-armv8", ".arm", ".text"]
        for k, code in enumerate(codes):
            out += [f"form{k}:", "push {r4-r12, lr}", "vpush {d8-d15}", "mov r10, r0", "ldr r1, [r10, #320]", "msr cpsr_f, r1",
                    "add r0, r10, #64", "vldmia r0!, {d0-d15}", "vldmia r0, {d16-d31}"]
            out += [f"ldr r{i}, [r10, #{4 * i}]" for i in Arm32.free]
            out += [f".inst {code:#x}"]
            out += [f"str r{i}, [r10, #{4 * i}]" for i in Arm32.free]
            out += ["mrs r1, cpsr", "str r1, [r10, #320]", "add r0, r10, #64", "vstmia r0!, {d0-d15}", "vstmia r0, {d16-d31}",
                    "vpop {d8-d15}", "pop {r4-r12, lr}", "bx lr", ".ltorg"]
        out += [".section .data.rel.ro,\"aw\"", ".globl forms", ".p2align 2", "forms:"] + [f".word form{k}" for k in range(len(codes))]
        return "\n".join(out) + "\n.section .note.GNU-stack,\"\",%progbits\n"

    @staticmethod
    def vector_words(m):
        return m.vector

    @staticmethod
    def set_vectors(m, words):
        m.vector = words


def form(insn):
    """Mnemonic and kinds of operands: what one test stands for. Shifts, lanes and lists of registers belong to it."""
    text = insn.op_str
    names = re.findall(r"\b[wxvqdsr]\d+\b|\b(?:sb|fp|ip)\b", re.sub(r"\[[^\]]*\]", "", text))
    same = "same" if len(set(names)) < len(names) else ""
    short = re.sub(r"\b(?:sb|fp|ip)\b", "r", re.sub(r"\b([wxvqdsr])\d+(?!\w)", r"\1", text))
    if not re.search(r"lsl|lsr|asr|ror|ext|shr|shl|sli|sri|rsb|\bv|^v", insn.mnemonic + " " + short):
        short = re.sub(r"#-?(0x)?[0-9a-f]+", "#", short)
    elif "[" in short and "{" not in short or insn.mnemonic in ("mov", "and", "orr", "add", "sub"):
        short = re.sub(r"(\[\w+, )#-?(0x)?[0-9a-f]+", r"\1#", short)
    return insn.mnemonic, short, same


def arrange(arch, insn, rng, values, vectors):
    """Makes addresses lie in the buffer, and counts and controls what kernels have. Returns the registers that are not data."""
    keep = set()
    name, text = insn.mnemonic, insn.op_str
    m = re.search(r"\[([a-z][^\]]*)\](!?)", text) if re.match(r"v?(ld|st)", name) else None
    many = re.match(r"(\w+)!?, \{", text) if re.match(r"v?(ldm|stm)", name) else None
    find = arch.isa.number
    if many:
        b = find(many[1])
        values[b] = BUFFER + AIM
        keep.add(b)
    elif m:
        inside = [o.strip() for o in m[1].split(",")]
        b, aim = find(inside[0].split(":")[0]), BUFFER + AIM + (0 if ":" in inside[0] or name in ("ldrd", "strd") else rng.choice((0, 0, 1, 3)))
        if name.startswith(("vldr", "vstr")):
            aim &= ~3
        behind = text[m.end():].strip(" ,")
        index = inside[1] if len(inside) > 1 else behind
        if len(inside) > 1 and inside[1].startswith("#"):
            aim -= int(inside[1][1:], 0)
        elif re.fullmatch(r"-?[a-z]\w*", index.split(",")[0]):
            i = find(index.split(",")[0].lstrip("-"))
            if i == b:
                raise Unproved("base and index are one register")
            values[i] = rng.randrange(16)
            keep.add(i)
            if len(inside) > 1:
                by = int(inside[2].split("#")[1], 0) if len(inside) > 2 and "#" in inside[2] else 0
                aim -= (values[i] << by) * (-1 if index.startswith("-") else 1)
        values[b] = aim % (1 << arch.pointer)
        keep.add(b)
    if name.startswith(("tbl", "tbx", "vtbl", "vtbx")):
        n = int(re.search(r"(\d+)(\.\w+)?$", text)[1])
        control = bytes(rng.choice((rng.randrange(16), rng.randrange(80), 255)) for _ in range(16))
        if arch is Arm64:
            vectors[n] = control
        else:
            both_ = bytearray(vectors[n // 2])
            both_[8 * (n % 2):8 * (n % 2) + 8] = control[:8]
            vectors[n // 2] = bytes(both_)
    if name.startswith("vshl.u32") and "#" not in text:
        vectors[int(re.search(r"q(\d+)$", text)[1])] = b"".join(rng.choice((-31, -7, 0, 5, 31, -40, 40)).to_bytes(4, "little", signed=True) for _ in range(4))
    return keep


class Emulated(columns.Machines):
    """The program with all forms, under the emulator."""

    by, spoiled = "the emulator", "g1"

    def __init__(self, arch, codes, folder):
        self.arch = arch
        with open(folder + "/f.s", "w") as f:
            f.write(arch.assembly(codes))
        with open(folder + "/m.c", "w") as f:
            f.write(C % {"size": arch.size, "buffer": BUFFER, "bytes": BYTES, "from": FROM, "seen": SEEN, "most": columns.PER_GROUP})
        subprocess.run([arch.compiler, "-O1", "-static", "-o", folder + "/t", folder + "/m.c", folder + "/f.s"], check=True)
        self.process = subprocess.Popen([*arch.emulator, folder + "/t"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.words = (arch.size + SEEN) // 8
        self.places = {f"g{i}": (arch.pointer, arch.pointer // 32 * i) for i in arch.free}
        self.places |= {f"v{i}": (32, arch.vector // 4 + i) for i in range(4 * arch.vectors)}
        self.places |= {f"m{j}": (32, (arch.size + j) // 4) for j in range(0, SEEN, 4)}
        self.places["carry"] = 1, 8 * arch.flags + 29
        compared = {at // 2 for name, (_, at) in self.places.items() if name != "carry"}
        self.compared = np.array(sorted(compared))

    def close(self):
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit("the emulated program failed")

    def seen(self, name):
        return True

    def made(self, get):
        m, arch = self.arch.isa.Machine(Memory()), self.arch
        for i in arch.free:
            m.general[i] = get(f"g{i}", arch.pointer)
        arch.set_vectors(m, [get(f"v{i}", 32) for i in range(4 * arch.vectors)])
        m.carry, m.overflow, m.result = get("carry", 1), const(self.overflow, 1), const(self.result, 64)
        m.memory.region("buffer", BUFFER + FROM, SEEN, True, True, 64)
        m.memory.cells = {BUFFER + FROM + j: get(f"m{j}", 32) for j in range(0, SEEN, 4)}
        return m

    def values(self, m):
        found = {f"g{i}": m.general[i] for i in self.arch.free}
        found.update((f"v{i}", v) for i, v in enumerate(self.arch.vector_words(m)))
        found.update((f"m{j}", m.memory.cells[BUFFER + FROM + j]) for j in range(0, SEEN, 4))
        return found

    def run(self, which, records):
        self.process.stdin.write(np.array([which, len(records)], dtype=np.uint32).tobytes() + records.tobytes())
        self.process.stdin.flush()
        got = self.process.stdout.read(records.nbytes)
        if len(got) != records.nbytes:
            raise SystemExit("the emulator did not answer every question")
        return np.frombuffer(got, dtype=np.uint64).reshape(records.shape)

    def flags(self, m, records):
        word = records.view(np.uint32)[:, self.arch.flags // 4].astype(np.uint64)
        return [("carry", m.carry, word >> 29 & 1), ("overflow", m.overflow, word >> 28 & 1), ("zero", m.zero(), word >> 30 & 1),
                ("negative", m.negative(), word >> 31 & 1)]

    def spoil(self, m):
        m.general[1] = terms.xor(m.general[1], const(1, self.arch.pointer))

    def prepare(self, insn, rng, records):
        arch = self.arch
        words = records.view(np.uint32)
        nz, v = rng.choice((0, 1 << 31, 1 << 30)), rng.choice((0, 1 << 28))
        self.result, self.overflow = 0 if nz == 1 << 30 else 1 << 63 if nz else 1, v >> 28
        at = arch.flags // 4
        words[:, at] = words[:, at] & (1 << 29) | (nz | v | (0x10 if arch is Arm32 else 0))
        size = arch.pointer // 32
        given = {i: int(words[0, size * i]) for i in arch.free}
        values = collections.defaultdict(int, given)
        first = words[0, arch.vector // 4:arch.vector // 4 + 4 * arch.vectors].tobytes()
        vectors = [first[16 * i:16 * i + 16] for i in range(arch.vectors)]
        keep = arrange(arch, insn, rng, values, vectors)
        for i in keep:
            words[0, size * i:size * i + size] = [values[i] >> 32 * j & 0xffffffff for j in range(size)]
        words[0, arch.vector // 4:arch.vector // 4 + 4 * arch.vectors] = np.frombuffer(b"".join(vectors), dtype=np.uint32)
        return {f"g{i}" for i in keep}


def test(arch, forms, args, rng, numbers):
    """Of (mnemonic and form) -> instruction. Returns how many passed, failures, how many with symbols, how many not."""
    part, parts = map(int, args.part.split("/"))
    order = sorted(forms.items(), key=lambda t: t[0])[part - 1::parts]
    failed, passed, symbolic_too, refused = [], 0, 0, [0, 0]
    terms.forget()
    with tempfile.TemporaryDirectory() as d:
        emulated = Emulated(arch, [int.from_bytes(i.bytes, "little") for _, i in order], d)
        for k, (what, insn) in enumerate(order):
            if len(terms.ATOMS) > 50_000:
                terms.forget()
            try:
                step = arch.isa.meaning(bytes(insn.bytes), 0)[0]
                wrong, symbolic = columns.compare(emulated, k, insn, step, numbers, rng, args.inputs,
                                                  args.plant and k % 100 == 7)
            except (Unproved, *STOPS) as e:
                wrong = f"stopped: {e}"
            if wrong and args.neighbors and not columns.differs(wrong):
                refused[wrong.startswith("stopped")] += 1
            elif wrong:
                failed.append(what)
                print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong}")
            else:
                passed += 1
                symbolic_too += symbolic
        emulated.close()
    return passed, failed, symbolic_too, refused


def skipped(insn):
    """Branches are in isa/code.py; what the macros save and restore is on the stack, whose pointer the frame needs."""
    branch = r"(b|b\..*|b(eq|ne|cs|hs|lo|cc|mi|pl|hi|ls|gt|lt|ge|le)|cbn?z|tbn?z|ret|bx|v?push|v?pop)$"
    return re.match(branch, insn.mnemonic) or "sp" in re.split(r"\W+", insn.op_str)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=1000, help="of each form, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="the I-th of N parts of the forms, for a run in pieces")
    parser.add_argument("--neighbors", action="store_true")
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    found = {arm64: {}, arm32: {}}
    for path in args.objects:
        k = kernels.Kernel(path)
        for insn in k.isa.decoder().disasm(k.code, 0):
            if not skipped(insn):
                found[k.isa].setdefault(form(insn), insn)
    passed, failed, numbers = 0, [], columns.pool(args.seed)
    for arch in (Arm64, Arm32):
        if found[arch.isa]:
            if args.neighbors:
                found[arch.isa] = columns.neighbors(found[arch.isa], form, arch.isa, arch.isa.decoder(), skipped)
            p, f, s, refused = test(arch, found[arch.isa], args, rng, numbers)
            more = f", {refused[0]} refused, {refused[1]} not compared" if args.neighbors else ""
            print(f"{arch.isa.__name__.removeprefix('isa.')}: {p} of {p + len(f)} forms, {s} with symbols too, "
                  f"with {args.inputs} inputs each, seed {args.seed}{more}")
            passed, failed = passed + p, failed + f
    print(f"semantics: {passed} passed, {len(failed)} failed, 0 not run")
    return 1 if failed else 0
