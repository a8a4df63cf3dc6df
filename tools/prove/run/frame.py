"""Checks the code that C links on MIPS and RISC-V. The proofs are of Go's object, which is the body of a kernel alone.

    run.frame [SOURCE...]

The source is assembled with each compiler as for a C library. The code must have, in this order:

    saves     The stack pointer is lowered. Each register that the calling convention preserves is stored in its own
              slot.
    body      Go's, bit for bit, because jumps are relative. On big-endian 32-bit MIPS, a pointer argument is the second
              word of its slot, not the first, so its load reads four bytes further. Calls of Go's code show which loads
              these are.
    restores  The registers are loaded from their slots, each slot is zeroed, and the stack pointer is
              restored.

The body must not name another preserved register. The exit status is 1 if a condition does not hold.
"""
from run import linked, proof
from run.kernels import ARGS, Kernel
from run.linked import assemble, results
from run.memory import Memory
from run.packets import GcmShape, Setup, Shape
from spec.args import A, FIRST, LAST
from values.terms import Unproved

COMPILERS = {"mips": ["mips-linux-gnu-gcc", "mipsel-linux-gnu-gcc"], "mips64": ["mips64-linux-gnuabi64-gcc", "mips64el-linux-gnuabi64-gcc"],
             "riscv64": ["riscv64-linux-gnu-gcc"]}
LINKED = "-nostdlib -static -Wl,--no-relax,-e,0,--build-id=none".split()
PRESERVED = {"EM_MIPS": range(16, 23), "EM_RISCV": (8, 9, *range(18, 27))}
POINTERS = [A["ARG_" + name] for name in "OUT IN AD KEY NONCE TAG STATE".split()]


def words(kernel):
    return [int.from_bytes(kernel.code[i:i + 4], "big" if getattr(kernel.isa, "big", False) else "little") for i in range(0, len(kernel.code), 4)]


class Mips:
    def __init__(self, bits):
        self.add, self.store, self.load = (0x19, 0x3f, 0x37) if bits == 64 else (9, 0x2b, 0x23)
        self.returns, self.go_returns = lambda size: [0x03e00008, self.moved(size)], [0x03e00008, 0]

    def moved(self, by):
        return self.add << 26 | 29 << 21 | 29 << 16 | by & 0xffff

    def access(self, stores, r, at):
        return (self.store if stores else self.load) << 26 | 29 << 21 | r << 16 | at


class RiscV:
    go_returns = [0x00008067]

    def __init__(self, bits):
        self.returns = lambda size: [self.moved(size), *self.go_returns]

    def moved(self, by):
        return (by & 0xfff) << 20 | 2 << 15 | 2 << 7 | 0x13

    def access(self, stores, r, at):
        return (at >> 5 << 25 | r << 20 | 2 << 15 | 3 << 12 | (at & 31) << 7 | 0x23) if stores else at << 20 | 2 << 15 | 3 << 12 | r << 7 | 3


class Loads:
    """A trace of instructions that records which ones load a pointer from its argument slot."""

    def __init__(self, kernel):
        self.isa, self.code, self.reached, self.pointers = kernel.isa, kernel.code, set(), set()

    def add(self, pc):
        slot = self.isa.fields(self.code, pc)[0] in ("jr", *self.isa.BRANCHES)
        self.pc = pc + 4 * slot  # in a step with a delay slot, only the slot may load
        self.reached |= {pc, self.pc}

    def load(self, memory, address, size, load=Memory.load):
        if address - ARGS in POINTERS:
            self.pointers.add(self.pc)
        return load(memory, address, size)


def pointer_loads(go, candidates):
    """Returns which of these instructions load a pointer. All of them must be reached."""
    loads, make, shapes = Loads(go), Shape, []
    if "aesgcm" in go.name:
        make, shapes = GcmShape, [Setup(256), GcmShape(64, opens=True, flags=FIRST, given=True)]
    shapes += [make(64, ad=5 * (flags & FIRST), opens=opens, flags=flags) for flags in (FIRST | LAST, FIRST, 0, LAST) for opens in (False, True)]
    Memory.load = lambda memory, address, size: loads.load(memory, address, size)
    try:
        for shape in shapes:
            proof.in_cases(proof.run, go, shape, loads)
    finally:
        Memory.load = Loads.load.__defaults__[0]
    if left := candidates - loads.reached:
        raise Unproved(f"no call reaches {min(left):#x}")
    return candidates & loads.pointers


def prove(go, other):
    """Compares two forms of a kernel. Returns how many instructions are not Go's."""
    isa, bits = go.isa, go.isa.POINTER
    registers, of = PRESERVED[isa.MACHINE], (RiscV if isa.MACHINE == "EM_RISCV" else Mips)(bits)
    mine, code = words(go), words(other)
    body = mine[:-len(of.go_returns)]
    if mine[len(body):] != of.go_returns:
        raise Unproved("Go's does not end with a return")
    for pc in range(0, 4 * len(body), 4):
        isa.fields(go.code, pc)  # refuses reserved registers
    places = [bits // 8 * i for i in range(len(registers))]
    size = -(-len(registers) * bits // 8 // 16) * 16 if isa.MACHINE == "EM_RISCV" else bits
    saves = [of.moved(-size), *(of.access(True, r, at) for r, at in zip(registers, places))]
    restores = [word for r, at in zip(registers, places) for word in (of.access(False, r, at), of.access(True, 0, at))] + of.returns(size)
    if code[:len(saves)] != saves or code[-len(restores):] != restores or len(code) != len(saves) + len(body) + len(restores):
        raise Unproved("the frame is another one")
    pointers = set()
    if isa.MACHINE == "EM_MIPS" and bits == 32 and isa.big:
        pointers = pointer_loads(go, {4 * i for i, x in enumerate(body) if x >> 21 == 0x23 << 5 | 4 and x & 0xffff in POINTERS})
    for i, (x, y) in enumerate(zip(body, code[len(saves):])):
        if y != x + 4 * (4 * i in pointers):
            raise Unproved(f"at {4 * (len(saves) + i):#x} {y:08x}: where Go has {x:08x}" + ", which loads a pointer" * (4 * i in pointers))
    return len(code) - len(body)


def conventions(source, folder, isa):
    """Yields the result with each compiler."""
    def prove_with(command):
        assembled = lambda *flags: Kernel(assemble([command, *(LINKED if isa == "riscv64" else ["-c"])], source, folder, *flags))
        return prove(assembled("-DSEALANE_GO"), assembled())
    return results(COMPILERS[isa], prove_with)


def main():
    return linked.main("frame", COMPILERS, conventions)
