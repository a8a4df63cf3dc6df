"""What arm64.py and arm32.py say of an instruction, beside what an emulator does: every instruction of the kernels, by
mnemonic and form of its operands, with random and edge inputs.

    test_semantics_arm.py [--inputs N] [--seed S] [--plant] OBJECT...

All forms go into one static program, which is given the states of registers and memory before, and tells those after. Each
input is taken twice: as constants, and as symbols whose result is then evaluated. --plant makes one instruction in a hundred
wrong, which must be found.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import arm32
import arm64
import kernels
import terms
from memory import Memory
from terms import Unproved, cat, const, cut, evaluate, symbol

BUFFER, BYTES, FROM, SEEN = 0x30000000, 8192, 1792, 1024  # what an instruction may touch; that part of it is compared

C = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
extern void (*const forms[])(void *);
static _Alignas(64) unsigned char state[%(size)d];
int main(void)
{
    unsigned char *b = mmap((void *)%(buffer)#xUL, %(bytes)d, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    uint32_t which;
    if (b != (void *)%(buffer)#xUL)
        return 1;
    while (fread(&which, 4, 1, stdin) == 1) {
        if (fread(state, sizeof state, 1, stdin) != 1 || fread(b + %(from)d, %(seen)d, 1, stdin) != 1)
            return 1;
        forms[which](state);
        if (fwrite(state, sizeof state, 1, stdout) != 1 || fwrite(b + %(from)d, %(seen)d, 1, stdout) != 1)
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
        keep = "{r0-r9, r11, r12}"
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


def number(rng, edges):
    k = rng.random()
    return rng.choice(edges) if k < 0.3 else rng.getrandbits(rng.randrange(1, 65)) if k < 0.5 else rng.getrandbits(64)


EDGES = [0, 1, 2, 3, 5, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffb, 1 << 32, (1 << 44) - 1, 1 << 52, (1 << 63) - 1,
         1 << 63, (1 << 64) - 1, (1 << 64) - 5, 0x0ffffffc0fffffff]


def arrange(arch, insn, rng, values, vectors):
    """Makes addresses lie in the buffer, and counts and controls what kernels have. Returns the registers that are not data."""
    keep = set()
    name, text = insn.mnemonic, insn.op_str
    m = re.search(r"\[([a-z][^\]]*)\](!?)", text) if re.match(r"v?(ld|st)", name) else None
    many = re.match(r"(\w+)!?, \{", text) if re.match(r"v?(ldm|stm)", name) else None
    find = arch.isa.number
    if many:
        b = find(many[1])
        values[b] = BUFFER + 2304
        keep.add(b)
    elif m:
        inside = [o.strip() for o in m[1].split(",")]
        b, aim = find(inside[0].split(":")[0]), BUFFER + 2304 + (0 if ":" in inside[0] or name in ("ldrd", "strd") else rng.choice((0, 0, 1, 3)))
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
    if name.startswith(("tbl", "vtbl")):
        n = int(re.search(r"(\d+)(\.\w+)?$", text)[1])
        control = bytes(rng.choice((rng.randrange(16), rng.randrange(40), 255)) for _ in range(16))
        if arch is Arm64:
            vectors[n] = control
        else:
            both_ = bytearray(vectors[n // 2])
            both_[8 * (n % 2):8 * (n % 2) + 8] = control[:8]
            vectors[n // 2] = bytes(both_)
    if name.startswith("vshl.u32") and "#" not in text:
        vectors[int(re.search(r"q(\d+)$", text)[1])] = b"".join(rng.choice((-31, -7, 0, 5, 31, -40, 40)).to_bytes(4, "little", signed=True) for _ in range(4))
    return keep


def tell(flags):
    return flags >> 31 & 1, flags >> 30 & 1, flags >> 29 & 1, flags >> 28 & 1


def machine(arch, values, vectors, flags, data, symbolic, keep, fixed):
    m, given = arch.isa.Machine(Memory()), {}
    make = (lambda n, v, w: (given.__setitem__(n, v), symbol(n, w))[1]) if symbolic else (lambda n, v, w: const(v, w))
    for i in arch.free:
        m.general[i] = const(values[i], arch.pointer) if i in keep else make(f"g{i}", values[i], arch.pointer)
    words = [int.from_bytes(v[4 * j:4 * j + 4], "little") for v in vectors for j in range(4)]
    arch.set_vectors(m, [const(w, 32) if i // 4 in fixed else make(f"v{i}", w, 32) for i, w in enumerate(words)])
    n, z, c, v = tell(flags)
    m.carry, m.overflow = make("c", c, 1), const(v, 1)
    m.result = const(0 if z else 1 << 63 if n else 1, 64)
    m.memory.region("buffer", BUFFER, BYTES, True, True)
    for j in range(0, SEEN, 4):
        m.memory.poke(BUFFER + FROM + j, make(f"m{j}", int.from_bytes(data[j:j + 4], "little"), 32))
    return m, given


def differences(arch, m, given, state, buffer, sets_flags):
    def check(what, v, got):
        want = evaluate(v, given)
        if want != got:
            yield f"{what}: {want:#x} here, {got:#x} by the emulator"
    w = arch.pointer // 8
    for i in arch.free:
        yield from check(f"register {i}", m.general[i], int.from_bytes(state[w * i:w * i + w], "little"))
    yield from check("the vectors", cat(*arch.vector_words(m)), int.from_bytes(state[arch.vector:arch.vector + 16 * arch.vectors], "little"))
    n, z, c, v = tell(int.from_bytes(state[arch.flags:arch.flags + 4], "little"))
    yield from check("carry", m.carry, c)
    if m.overflow is not None:
        yield from check("overflow", m.overflow, v)
    yield from check("zero", m.zero(), z)
    yield from check("negative", m.negative(), n)
    yield from check("memory", m.memory.peek(BUFFER + FROM, SEEN), int.from_bytes(buffer, "little"))


def test(arch, forms, args, rng):
    """Of (mnemonic and form) -> instruction. Returns how many passed, and failures."""
    order = sorted(forms.items(), key=lambda t: t[0])
    failed, passed, symbolic_too = [], 0, 0
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/f.s", "w") as f:
            f.write(arch.assembly([int.from_bytes(i.bytes, "little") for _, i in order]))
        with open(d + "/m.c", "w") as f:
            f.write(C % {"size": arch.size, "buffer": BUFFER, "bytes": BYTES, "from": FROM, "seen": SEEN})
        subprocess.run([arch.compiler, "-O1", "-static", "-o", d + "/t", d + "/m.c", d + "/f.s"], check=True)
        done = 0
        wrong = {}
        as_symbols = collections.Counter()
        begun = time.monotonic()
        while done < args.inputs and not (args.seconds and time.monotonic() > begun + args.seconds / 2):  # one half each architecture
            count = min(20, args.inputs - done)
            done += count
            asked, questions = [], []
            for k, (what, insn) in enumerate(order):
                for _ in range(count if k not in wrong else 0):
                    values = [number(rng, EDGES) % (1 << arch.pointer) for _ in range(32)]
                    vectors = [b"".join(number(rng, EDGES).to_bytes(8, "little") for _ in range(2)) for _ in range(arch.vectors)]
                    data = bytes(rng.getrandbits(8) for _ in range(SEEN))
                    flags = rng.choice((0, 1 << 31, 1 << 30)) | rng.choice((0, 1 << 29)) | rng.choice((0, 1 << 28))
                    keep = arrange(arch, insn, rng, values, vectors)
                    state = bytearray(arch.size)
                    for i in arch.free:
                        state[arch.pointer // 8 * i:arch.pointer // 8 * (i + 1)] = values[i].to_bytes(arch.pointer // 8, "little")
                    state[arch.vector:arch.vector + 16 * arch.vectors] = b"".join(vectors)
                    state[arch.flags:arch.flags + 4] = (flags | (0x10 if arch is Arm32 else 0)).to_bytes(4, "little")
                    asked.append(k.to_bytes(4, "little") + bytes(state) + data)
                    questions.append((k, values, vectors, flags, data, keep))
            got = subprocess.run([*arch.emulator, d + "/t"], input=b"".join(asked), stdout=subprocess.PIPE, check=True).stdout
            each = arch.size + SEEN
            if len(got) != each * len(questions):
                raise SystemExit("the emulator did not answer every question")
            for n, (k, values, vectors, flags, data, keep) in enumerate(questions):
                if k in wrong:
                    continue
                what, insn = order[k]
                answer = got[each * n:each * (n + 1)]
                controls = set()
                if insn.mnemonic.startswith(("tbl", "vtbl", "vshl.u32")):
                    r = int(re.search(r"(\d+)(\.\w+)?$", insn.op_str)[1])
                    controls = {r if arch is Arm64 or insn.mnemonic[1] == "s" else r // 2}
                for symbolic in (False, True):
                    if n % 50 == 0:
                        terms.forget()
                    try:
                        f = arch.isa.meaning(bytes(insn.bytes), 0)[0]
                        m, given = machine(arch, values, vectors, flags, data, symbolic, keep, controls if symbolic else set())
                        f(m)
                    except Unproved as e:
                        if symbolic and "depends on data" in str(e):
                            continue
                        wrong[k] = str(e)
                        break
                    if args.plant and k % 100 == 7:
                        m.general[1] = terms.xor(m.general[1], const(1, arch.pointer))
                    found = next(differences(arch, m, given, answer[:arch.size], answer[arch.size:], True), None)
                    if found:
                        wrong[k] = found + (" (symbols)" if symbolic else " (constants)")
                        break
                    as_symbols[k] += symbolic
        for k, (what, insn) in enumerate(order):
            if k in wrong:
                failed.append(what)
                print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong[k]}")
            else:
                passed += 1
                symbolic_too += as_symbols[k] > 0
    return passed, failed, symbolic_too, done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=10, help="of each form, at most")
    parser.add_argument("--seconds", type=int, default=0, help="after which no form gets more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    found = {arm64: {}, arm32: {}}
    for path in args.objects:
        k = kernels.Kernel(path)
        if not k.specified:
            continue
        md = k.isa.decoder()
        for insn in md.disasm(k.code, 0):
            name, text = insn.mnemonic, insn.op_str
            # Branches are in common.py; what the macros save and restore is on the stack, whose pointer the frame needs.
            if re.match(r"(b|b\..*|b(eq|ne|cs|hs|lo|cc|mi|pl|hi|ls|gt|lt|ge|le)|cbn?z|tbn?z|ret|bx|v?push|v?pop)$", name) or "sp" in re.split(r"\W+", text):
                continue
            found[k.isa].setdefault(form(insn), insn)
    passed, failed = 0, []
    for arch in (Arm64, Arm32):
        if found[arch.isa]:
            p, f, s, inputs = test(arch, found[arch.isa], args, rng)
            print(f"{arch.isa.__name__}: {p} of {len(found[arch.isa])} forms, {s} with symbols too, {inputs} inputs each, seed {args.seed}")
            passed, failed = passed + p, failed + f
    print(f"semantics: {passed} passed, {len(failed)} failed, 0 not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
