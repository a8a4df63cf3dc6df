"""ChaCha20-Poly1305 on x86-64 and ARM, for every length: the loop of a kernel over long texts, by induction.

    induction.chacha_loop [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

loop.py says how. On 32-bit ARM, lengths and pointers are 32-bit numbers.
"""
import spec
from induction import loop as loops
from induction.engine import BOTH, SHAPES, Way, find, instructions
from induction.loop import attempts, message, prove
from isa import arm32, arm64, x86
from run.kernels import SCRATCH
from run.packets import CHACHA, chacha_left, h_before, key_symbols, put_chacha, residue
from spec.args import A, FIRST
from values import linear, terms
from values.terms import P, Unproved, add_modular, const, extend, symbol

ADS = (0, 1, 13, 16, 40)
FRAME = A["SCRATCH_SAVE_BYTES"] + 128  # of x86-64's rsi in scratch


def general(n):
    return "general", n


def scratch(offset):
    return "memory", SCRATCH + offset


def frame(offset):
    """Eight bytes."""
    return "memory8", SCRATCH + FRAME + offset


def in_row(cells, bits):
    """The limbs of an accumulator: (cell, position of its lowest bit)."""
    return [(c, bits * i) for i, c in enumerate(cells)]


def registers(numbers, bits):
    return in_row(map(general, numbers), bits)


class Part(loops.Part):
    BLOCK, LONGEST = 64, {64: (1 << 38) - 64, 32: (1 << 30) - 64}  # RFC 8439, 2.8; half of the 32-bit address space

    def __init__(self, kernel, shape, regions, done=None, ad_bytes=0, counter=None):
        """counter: of the part's first block, 32 bits."""
        super().__init__(kernel, shape, CHACHA, regions, done, ad_bytes)
        self.set(total=symbol("total", 64), ad_bytes=symbol("ad bytes", 64))
        self.begins = self.counter = const(1, 32) if shape.flags & FIRST else counter or symbol("state counter", 32)
        self.r, self.s = put_chacha(self, shape.flags, extend(self.counter, 64))

    def get(self, cell):
        kind, n = cell
        return self.machine.general[n] if kind == "general" else self.memory.number(n, 8 if kind == "memory8" else 4)

    def set_cell(self, cell, v):
        kind, n = cell
        if kind == "general":
            self.machine.general[n] = extend(v, self.width)
        else:
            self.memory.put_number(n, extend(v, 64 if kind == "memory8" else 32))

    def limbs(self, loop):
        found = [self.get(cell) for cell, _ in loop.limbs]
        if not all(v.defined for v in found):
            raise Unproved("the accumulator is not there")
        return found

    def bounds(self, loop):
        return [v.most for v in self.limbs(loop)]

    def put_accumulator(self, loop, bounds):
        for (cell, _), most in zip(loop.limbs, bounds):
            self.set_cell(cell, symbol(f"{cell} at most {most}", max(1, most.bit_length()), most))

    def accumulated(self, loop):
        h = residue(self.limbs(loop), [w for _, w in loop.limbs])
        return h * self.r.residue % P if loop.pending else h

    def h_before(self):
        return 0 if self.shape.flags & FIRST else residue(h_before())

    def absorb(self, h, message):
        return spec.poly1305(h, self.r, message)

    def encrypted(self, text):
        key, nonce = key_symbols()
        return spec.cipher_text(key, self.counter, nonce, text)

    def counted(self, n):
        """The counter after a call of n bytes, a length."""
        blocks = terms.shift_right(n, 6) if self.kernel.isa is arm64 else linear.shift(n, 6, True)
        return add_modular(self.begins, blocks) if self.width == 32 else terms.add(64, extend(self.begins, 64), blocks)[0]

    def finish(self, h, counters, written, folder=None):
        """Checks the results of the call. h: the accumulator after all text. counters: as for chacha_left."""
        self.left_behind()
        self.wiped(written)
        lengths = symbol("ad bytes", 64), symbol("total", 64)
        chacha_left(self, self.shape.flags, h, self.r, self.s, lengths, [extend(c, 64) for c in counters], folder)


LONGEST, inside = Part.LONGEST, Part.inside


class Loop(loops.Loop):
    """head: the text of an instruction, which of those it is, and perhaps how many instructions ahead of it the loop
    starts. enough: the fewest remaining bytes for a pass. limbs: of in_row(). counts: the cell of the remaining length.
    message: the cells that point to the next authenticated byte, when sealing and when opening, as of classes. pending:
    whether a block was added to the accumulator that has not been multiplied. classes: residues modulo `step` of a
    packet's length with which a call starts in the same way. lead: how many bytes the output is ahead of `counts` and,
    when opening, of `message`. few_in_place: whether only some exits of calls in place are proved."""

    part = Part

    def __init__(self, head, step, enough, arrivals, least, limbs, counts, message, pending=False,
                 classes=((None,), (None,)), opens=BOTH, lead=0, few_in_place=False):
        self.head, self.step, self.enough, self.arrivals, self.least = head, step, enough, arrivals, least
        self.limbs, self.counts, self.message, self.pending = limbs, counts, message, pending
        self.classes, self.opens = classes, opens
        self.lead, self.few_in_place, self.blocks = lead, few_in_place, step // 64

    def place(self, kernel, shape):
        return head(kernel, self)

    def sizes(self, shape, of, absorbs):
        return min((self.arrivals + 1) * self.step, self.least), self.least

    def residues(self, shape):
        return self.classes[shape.opens] if shape.flags & FIRST else (None,)

    def some(self, shape):
        return shape.in_place and self.few_in_place

    def ads(self, i):
        return loops.ADS if not i or self.pending else (ADS[1 + i % 4],)

    def accumulator(self):
        cells = {c for c, _ in self.limbs}
        return cells | {("memory", a + o) for kind, a in cells if kind == "memory8" for o in (0, 4)}

    def processed(self, call):
        kind, offset = call.here(call.get(self.counts)) or (None, 0)
        if kind != "bytes":
            raise Unproved(f"the remaining length before the loop is not known: {kind} {offset}")
        return self.lead - offset

    def authenticated(self, call):
        kind, offset = call.here(call.get(self.message[call.shape.opens])) or (None, 0)
        if kind != ("in" if call.shape.opens or call.shape.in_place else "out"):
            raise Unproved(f"what is authenticated next is not known: {kind} {offset}")
        return offset + (self.lead if call.shape.opens else 0)

    def fewest(self, at):
        return self.enough - self.step


def x86_loop(step, arrivals, least):
    """A pass that seals authenticates the previous pass's output. One that opens authenticates its own input, and the
    size of the first depends on the length."""
    classes = tuple(tuple(r for r in range(step) if (r + 63) // 64 * 64 % step == first) for first in range(0, step, 64))
    limbs = in_row([frame(8 * i) for i in range(3)], 64)
    return Loop(("mov rcx, qword ptr [rsi - 0x58]", -1), step, step, arrivals, least, limbs, frame(-96),
                (frame(-104), frame(-112)), classes=((None,), classes), lead=step, few_in_place=True)


X19 = registers(range(19, 22), 64)
LOOPS = {
    (x86, "ssse3"): x86_loop(256, 2, 448),
    (x86, "avx2"): x86_loop(512, 3, 1472),
    (x86, "avx512vl"): x86_loop(512, 3, 1472),
    # .Lrounds, and .Lnext_counts
    (arm64, "neon"): Loop(("cmp x8, #0xa0", 0, 2), 256, 512, 3, 960, X19, general(4), 2 * [general(22)]),
    (arm64, "neon6"): Loop(("add v31.4s, v31.4s, v30.4s", 1), 384, 641, 3, 1409, X19, general(4), 2 * [general(22)]),
    # .Lmore. When opening, Poly1305 is faster than ChaCha20, so its lead grows.
    (arm32, "neon"): Loop(("ldr r8, [r1, #-0x18]", 0, 1), 256, 257, 3, 960, registers((2, 3, 4, 6, 5), 32),
                          scratch(320 - 56), 2 * [scratch(320 - 24)], True,
                          2 * [tuple(tuple(n % 256 for n in range(i + 1, i + 65)) for i in range(0, 256, 64))], (False,)),
}

# Instructions after the start of the loop that planted faults omit: (name of the fault, start of their text).
TEXT, OUTPUT = "the text does not move", "the output does not move"
LEFT, COUNTER = "the remaining length does not change", "the counter does not go on"
PRODUCT, CARRY = "a product is left out", "a carry is dropped"
ROTATION, WIPE = "a rotation is left out", "a wipe is left out"
_X86 = [(TEXT, "add qword ptr [rsi - 0x70]"), (COUNTER, "add dword ptr [rsi + 0x30]"), (LEFT, "mov qword ptr [rsi - 0x60]"), (CARRY, "adc"),
        (WIPE, ("movdqa xmmword ptr [rax", "vmovdqa ymmword ptr [rax"), -1)]
_ARM64 = [(COUNTER, "add v31.4s, v31.4s"), (PRODUCT, "umulh"), (CARRY, "adc x"), (ROTATION, "sri v"), (WIPE, "stp q0, q0, [x1, #0x170]")]
LEFT_OUT = {
    (x86, "ssse3"): _X86, (x86, "avx2"): _X86, (x86, "avx512vl"): _X86,
    (arm64, "neon"): [(TEXT, "add x2, x2, #0x100"), (OUTPUT, "add x3, x3, #0x100"), (LEFT, "sub x4, x4, #0x100"), *_ARM64],
    (arm64, "neon6"): [(LEFT, "subs x4, x4, #0x40", 1), *_ARM64],
    (arm32, "neon"): [(TEXT, "str r7, [r1, #-0x34]"), (OUTPUT, "str sb, [r1, #-0x30]"), (LEFT, "str r8, [r1, #-0x38]"), (PRODUCT, "umlal"),
                      (CARRY, "adc r"), (ROTATION, "vsri.32"), (COUNTER, "str r0, [r1, #0x90]")],
}


def name_of(kernel):
    return kernel.isa, kernel.name.removeprefix("sealane_chacha20poly1305_")


def loop_of(kernel):
    return LOOPS.get(name_of(kernel))


def head(kernel, loop):
    """The address where a pass of the loop begins."""
    kernel.head = kernel.head or {}
    if loop.head not in kernel.head:
        text, number, *before = loop.head
        found = [i.address for i in instructions(kernel)]
        kernel.head[loop.head] = found[found.index(find(kernel, text, number).address) - sum(before)]
    return kernel.head[loop.head]


def authenticated(h, r, waiting, mac, text, n):
    """Returns the accumulator after n more bytes. The next authenticated byte is `mac` bytes after the start of the
    run."""
    return spec.poly1305(h, r, message(text, n, mac, waiting))


def beginnings(kernel, loop, shape, section):
    """Yields all runs from the first instruction to the loop."""
    return loop.beginnings(kernel, shape, section=section)


# ---- All of it -------------------------------------------------------------------------------------------------------

def least(kernel):
    loop = loop_of(kernel)
    return loop and loop.least


def tasks(kernel, args):
    return [(str(shape), shape) for shape in (SHAPES[::3] if args.quick else SHAPES) if shape.opens in loop_of(kernel).opens]


def one(kernel, task, args, found):
    prove(kernel, loop_of(kernel), task[1], args, found)


def planted(kernel, args, attempt):
    right, proof = loop_of(kernel), attempts(kernel, loop_of(kernel), Way())

    (first, low), (second, high), *limbs = right.limbs
    attempt("the counter goes on by one more", proof(blocks=right.blocks + 1))
    attempt("a pass has 64 bytes more", proof(step=right.step + 64))
    attempt("limbs are in another order", proof(limbs=[(second, low), (first, high), *limbs]))
    attempt("there is a pass with a pass less", proof(enough=right.enough - right.step))
    attempt.without(LEFT_OUT[name_of(kernel)], proof(), head(kernel, right))
