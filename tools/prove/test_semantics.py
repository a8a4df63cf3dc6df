"""What x86.py says of an instruction, beside what this CPU does: every instruction of the kernels, by mnemonic and form of
its operands, with random and edge inputs.

    test_semantics.py [--inputs N] [--plant] OBJECT...

Each input is taken twice: as constants, and as symbols whose result is then evaluated, so that the terms are tested and not
only the folding of constants. Instructions that this CPU does not have are listed as not run. --plant makes one
instruction in a hundred wrong, which must be found.
"""
import argparse
import collections
import ctypes
import mmap
import random
import subprocess
import sys
import tempfile
import time

import kernels
import terms
import x86
from capstone import x86_const as X
from memory import Memory
from terms import Unproved, cat, const, cut, evaluate, symbol

BUFFER = 0x70000000  # behind the heap of a program that lies at the bottom
GENERAL, VECTOR, MASK, FLAGS, SIZE = 0, 128, 128 + 32 * 64, 128 + 32 * 64 + 64, 128 + 32 * 64 + 64 + 64
LEAST = 6  # inputs that a form has however short the time
FREE = [i for i in range(16) if i not in (x86.RSP, x86.RBP)]


def features():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()


CPU = features()
WIDE = "avx512bw" in CPU
# What capstone calls an instruction set, and Linux a feature.
NEEDS = {"avx": "avx", "avx2": "avx2", "bmi": "bmi1", "bmi1": "bmi1", "bmi2": "bmi2", "avx512": "avx512f", "ifma": "avx512ifma",
         "vlx": "avx512vl", "bwi": "avx512bw", "dqi": "avx512dq", "aes": "aes", "pclmul": "pclmulqdq", "sse41": "sse4_1",
         "ssse3": "ssse3", "sse2": "sse2", "sse1": "sse"}


def frame():
    """Machine code around an instruction: all registers from memory at rbp, and back."""
    lines = [".intel_syntax noprefix", "begin:"]
    lines += [f"push {r}" for r in ("rbx", "rbp", "r12", "r13", "r14", "r15")] + ["mov rbp, rdi"]
    if WIDE:
        lines += [f"kmovq k{i}, [rbp + {MASK + 8 * i}]" for i in range(8)]
        lines += [f"vmovdqu64 zmm{i}, [rbp + {VECTOR + 64 * i}]" for i in range(32)]
    else:
        lines += [f"vmovdqu ymm{i}, [rbp + {VECTOR + 64 * i}]" for i in range(16)]
    lines += [f"push qword ptr [rbp + {FLAGS}]", "popfq"]
    lines += [f"mov {x86.NAMES64[i]}, [rbp + {GENERAL + 8 * i}]" for i in FREE]
    lines += ["end_of_beginning:"]
    lines += [f"mov [rbp + {GENERAL + 8 * i}], {x86.NAMES64[i]}" for i in FREE] + ["pushfq", f"pop qword ptr [rbp + {FLAGS}]"]
    if WIDE:
        lines += [f"vmovdqu64 [rbp + {VECTOR + 64 * i}], zmm{i}" for i in range(32)]
        lines += [f"kmovq [rbp + {MASK + 8 * i}], k{i}" for i in range(8)]
    else:
        lines += [f"vmovdqu [rbp + {VECTOR + 64 * i}], ymm{i}" for i in range(16)]
    lines += ["vzeroupper"] + [f"pop {r}" for r in ("r15", "r14", "r13", "r12", "rbp", "rbx")] + ["ret", "finish:"]
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/f.s", "w") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run(["cc", "-c", "-o", d + "/f.o", d + "/f.s"], check=True)
        from elftools.elf.elffile import ELFFile
        with open(d + "/f.o", "rb") as f:
            elf = ELFFile(f)
            text = elf.get_section_by_name(".text").data()
            middle, = [s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols() if s.name == "end_of_beginning"]
    return text[:middle], text[middle:]


class Cpu:
    def __init__(self):
        self.before, self.after = frame()
        self.page = mmap.mmap(-1, 1 << 16, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.state = (ctypes.c_ubyte * SIZE)()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        got = libc.mmap(BUFFER, 8192, 3, 0x100022, -1, 0)  # private, anonymous, at this very address, where nothing else is
        if got != BUFFER:
            raise SystemExit("no memory at the address of the buffer")
        self.buffer = (ctypes.c_ubyte * 8192).from_address(BUFFER)

    def load(self, code):
        text = self.before + code + self.after
        self.page[:len(text)] = text
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)

    def run(self):
        self.call(ctypes.addressof(self.state))


EDGES64 = [0, 1, 2, 3, 5, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, (1 << 44) - 1, (1 << 52) - 1, 1 << 52,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 5, 0x0ffffffc0fffffff]


def number(rng):
    k = rng.random()
    return rng.choice(EDGES64) if k < 0.3 else rng.getrandbits(rng.randrange(1, 65)) if k < 0.5 else rng.getrandbits(64)


def form(insn):
    """Mnemonic and kinds of operands: what one test stands for."""
    kinds = []
    for o in insn.operands:
        if o.type == X.X86_OP_REG:
            n = insn.reg_name(o.reg)
            kinds.append(n[:3] if n[1:3] == "mm" else "k" if n[0] == "k" else f"r{8 * o.size}")
        elif o.type == X.X86_OP_MEM:
            kinds.append(f"m{8 * o.size}" + ("b" if "{1to" in insn.op_str else ""))
        else:
            # Controls and truth tables are part of what an instruction is; other constants are data.
            kinds.append(f"i{o.imm}" if insn.mnemonic.startswith(("v", "p", "insertps", "sh", "ro", "k")) else "i")
    registers = [o.reg for o in insn.operands if o.type == X.X86_OP_REG]
    return (insn.mnemonic, *kinds, "{z}" if "{z}" in insn.op_str else "",
            "same" if len(set(registers)) < len(registers) else "")


def prepare(insn, rng, values):
    """Makes the address of a memory operand one in the buffer."""
    for o in insn.operands:
        if o.type == X.X86_OP_MEM and insn.mnemonic != "lea":
            aim = BUFFER + 2048 + rng.choice((0, 0, 64, 64 * 3))
            if o.mem.index:
                i = x86.GENERAL[insn.reg_name(o.mem.index)][0]
                values[i] = rng.randrange(16) if o.mem.base else (aim - o.mem.disp) // o.mem.scale
                aim -= values[i] * o.mem.scale
                if o.mem.base == o.mem.index:
                    raise Unproved("base and index are one register")
            if o.mem.base:
                values[x86.GENERAL[insn.reg_name(o.mem.base)][0]] = (aim - o.mem.disp) & ((1 << 64) - 1)


def counts(insn, rng, values, vectors):
    """Counts and controls as kernels have them: not beyond what is defined."""
    name = insn.mnemonic
    if name in ("shl", "shr", "sar", "rol", "ror", "shrd", "shld"):
        values[1] = rng.randrange(8 * insn.operands[0].size)
    if name in ("bsr", "bsf"):
        for i in FREE:
            values[i] |= 1 << rng.randrange(8 * insn.operands[1].size)


def addresses(insn):
    out = set()
    for o in insn.operands:
        if o.type == X.X86_OP_MEM:
            out |= {x86.GENERAL[insn.reg_name(r)][0] for r in (o.mem.base, o.mem.index) if r}
    return out


def machine(values, vectors, masks, flags, data, symbolic, keep):
    """A machine in that state; the dictionary says what its symbols are."""
    m, given = x86.Machine(Memory()), {}
    make = (lambda name, v, w: (given.__setitem__(name, v), symbol(name, w))[1]) if symbolic else (lambda name, v, w: const(v, w))
    for i in FREE:
        m.general[i] = const(values[i], 64) if i in keep else make(f"g{i}", values[i], 64)
    for i in range(32):
        m.vector[i] = tuple(make(f"v{i}.{j}", (vectors[i] >> 32 * j) & 0xffffffff, 32) for j in range(16))
    m.mask = [const(v, 64) for v in masks]
    m.carry, m.overflow = make("cf", flags & 1, 1), const((flags >> 11) & 1, 1)
    m.memory.region("buffer", BUFFER, 8192, True, True)
    for j in range(0, 1024, 4):
        m.memory.poke(BUFFER + 1792 + j, make(f"m{j}", int.from_bytes(data[1792 + j:1796 + j], "little"), 32))
    return m, given


def differences(m, given, state, buffer, vector_count):
    def check(what, v, got):
        want = evaluate(v, given)
        if want != got:
            yield f"{what}: {want:#x} here, {got:#x} by the CPU"
    for i in FREE:
        yield from check(x86.NAMES64[i], m.general[i], int.from_bytes(state[8 * i:8 * i + 8], "little"))
    for i in range(vector_count):
        width = 512 if WIDE else 256
        yield from check(f"vector {i}", cut(cat(*m.vector[i]), 0, width),
                         int.from_bytes(state[VECTOR + 64 * i:VECTOR + 64 * i + width // 8], "little"))
    if WIDE:
        for i in range(8):
            yield from check(f"k{i}", m.mask[i], int.from_bytes(state[MASK + 8 * i:MASK + 8 * i + 8], "little"))
    flags = int.from_bytes(state[FLAGS:FLAGS + 8], "little")
    if m.carry is not None:
        yield from check("carry", m.carry, flags & 1)
    if m.overflow is not None:
        yield from check("overflow", m.overflow, (flags >> 11) & 1)
    if m.result is not None:
        yield from check("zero", m.flag_zero(), (flags >> 6) & 1)
        yield from check("sign", m.flag_sign(), (flags >> 7) & 1)
    yield from check("memory", m.memory.peek(BUFFER + 1792, 1024), int.from_bytes(buffer, "little"))


def missing(insn, md):
    """A feature of the instruction that this CPU lacks."""
    for g in insn.groups:
        name = md.group_name(g)
        need = NEEDS.get(name)
        if need and need not in CPU:
            return need
    if insn.mnemonic.startswith(("vaes", "vpclmul")):
        wide = any(o.size >= 32 for o in insn.operands)
        if wide and not {"vaes", "vpclmulqdq"} <= CPU:
            return "vaes"
    if "52" in insn.mnemonic and "avx512ifma" not in CPU:
        return "avx512ifma"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=20, help="of each form, at most")
    parser.add_argument("--seconds", type=int, default=0, help="of all forms together, once each has had LEAST")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    rng, md = random.Random(args.seed), x86.decoder()
    forms = {}
    for path in args.objects:
        k = kernels.Kernel(path)
        if not k.specified:
            continue
        for insn in md.disasm(k.code, 0):
            if not insn.mnemonic.startswith("j") and insn.mnemonic not in ("ret", "endbr64", "nop", "lfence") and \
                    "rsp" not in insn.op_str:  # what the macros save and restore; the frame around a test needs the stack
                forms.setdefault(form(insn), bytes(insn.bytes))
    cpu = Cpu()
    begun, fewest = time.monotonic(), args.inputs
    failed, passed, symbolic_too, not_run = [], 0, 0, collections.Counter()
    for number_of, (what, code) in enumerate(sorted(forms.items())):
        insn = next(md.disasm(code, 0))
        lack = missing(insn, md)
        if lack:
            not_run[f"{what[0]} ({lack})"] += 1
            continue
        cpu.load(code)
        terms.forget()
        step = x86.step(insn)
        wrong, as_symbols = None, 0
        for done in range(args.inputs):
            if args.seconds and done >= LEAST and time.monotonic() > begun + args.seconds * (number_of + 1) / len(forms):
                fewest = min(fewest, done)
                break
            values = [number(rng) for _ in range(16)]
            vectors = [sum(number(rng) << 64 * j for j in range(8)) if rng.random() < 0.9 else (1 << 512) - 1 for _ in range(32)]
            masks = [number(rng) for _ in range(8)]
            data = bytes(rng.getrandbits(8) for _ in range(64)) * 128
            flags = 2 | rng.choice((0, 1)) | rng.choice((0, 1 << 6)) | rng.choice((0, 1 << 7)) | rng.choice((0, 1 << 11))
            counts(insn, rng, values, vectors)
            prepare(insn, rng, values)
            state = bytearray(SIZE)
            for i in FREE:
                state[8 * i:8 * i + 8] = values[i].to_bytes(8, "little")
            for i in range(32):
                state[VECTOR + 64 * i:VECTOR + 64 * i + 64] = (vectors[i] if WIDE else vectors[i] % (1 << 256)).to_bytes(64, "little")
            for i in range(8):
                state[MASK + 8 * i:MASK + 8 * i + 8] = masks[i].to_bytes(8, "little")
            state[FLAGS:FLAGS + 8] = flags.to_bytes(8, "little")
            cpu.state[:] = state
            cpu.buffer[:] = data
            cpu.run()
            state, buffer = bytes(cpu.state), bytes(cpu.buffer[1792:1792 + 1024])
            for symbolic in (False, True):
                m, given = machine(values, vectors, masks, flags, data, symbolic, addresses(insn))
                m.result = None
                if what[0].startswith(("cmov", "set")):
                    # Of zero and sign the machine keeps what they are of: one result that has both.
                    z, s = (flags >> 6) & 1, (flags >> 7) & 1
                    if z and s:
                        continue
                    m.result = const(0 if z else (1 << 63) if s else 1, 64)
                try:
                    step(m)
                except Unproved as e:
                    if symbolic and "depends on data" in str(e):
                        continue
                    wrong = str(e)
                    break
                if args.plant and number_of % 100 == 7:
                    i = next((x86.GENERAL[insn.reg_name(o.reg)][0] for o in insn.operands[:1]
                              if o.type == X.X86_OP_REG and insn.reg_name(o.reg) in x86.GENERAL), 0)
                    m.general[i] = terms.xor(m.general[i], const(1, 64))
                wrong = next(differences(m, given, state, buffer, 32 if WIDE else 16), None)
                if wrong:
                    wrong += " (symbols)" if symbolic else " (constants)"
                    break
                as_symbols += symbolic
            if wrong:
                break
            terms.forget()
            step = x86.step(insn)
        if wrong:
            failed.append((insn, wrong))
            print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong}")
        else:
            passed += 1
            symbolic_too += as_symbols > 0
    for what, n in sorted(not_run.items()):
        print(f"not run: {what}, {n} forms")
    print(f"{fewest} inputs each, or more; seed {args.seed}; {symbolic_too} forms with symbols too")
    print(f"semantics: {passed} passed, {len(failed)} failed, {sum(not_run.values())} not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
