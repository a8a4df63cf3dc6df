"""AES-GCM, for every length: the loop of a kernel over long texts, by induction.

    induction.gcm [--quick] [--planted] [--jobs N] OBJECT...

loop.py says how. The loop starts at the target of its last jump. x86-64's kernels count passes: a place is the number
of passes from this one on, or the length left after the last one. Both must be of the same division of the length, so
they are right for the text that follows. GHASH so far is any 128 bits for each lane. The specification's Y is the sum
of lane i / H^i.
"""
from typing import NamedTuple

import spec
from induction import loop as loops
from induction.engine import BOTH, PARTS, anew, find, instructions
from induction.loop import attempts, prove
from isa import x86
from run.kernels import NONCE, SCRATCH, STATE
from run.packets import GCM, gcm_key, gcm_left, nonce_symbols
from spec.args import A, FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved, add_modular, cat, const, cut, field_power, field_product, symbol

LONGEST = (1 << 36) - 32  # bytes of text, SP 800-38D, 5.2.1.1


class Shape(NamedTuple):
    flags: int = WHOLE
    opens: bool = False
    in_place: bool = False
    bits: int = 128
    j0: bool = False

    def __str__(self):
        more = (", any J0" if self.j0 else "") + (", in place" if self.in_place else "")
        return f"AES-{self.bits}, {'open' if self.opens else 'seal'}{PARTS[self.flags]}{more}"


class Part(loops.Part):
    BLOCK, LONGEST = 16, {64: LONGEST, 32: (1 << 30) - 32}
    steps = None  # the number of passes from the start of a run at the loop

    def __init__(self, kernel, shape, texts, done=None, ad_bytes=0, counter=None, given=None):
        """counter: of a later part. given: whether the nonce has 12 bytes, or the counter of a later part is public."""
        first = shape.flags & FIRST
        given = not shape.j0 if given is None else given
        super().__init__(kernel, shape, (GCM[0], (12 if given else 16) if first else 0, GCM[2]), texts, done, ad_bytes,
                         A["FLAG_NONCE"] if given else 0)
        memory, word = self.memory, counter or symbol("counter", 32)
        memory.cells.update(gcm_key(kernel, shape.bits)[0])
        self.schedule = spec.key_schedule(cat(*(symbol(f"key{i}", 32) for i in range(shape.bits // 32))))
        self.h = spec.field_element(spec.aes(self.schedule, const(0, 128)))
        self.begins = self.counter = word
        if first:
            j0 = counter_block(const(1, 32) if given else word)
            self.begins = self.counter = add_modular(const(1, 32) if given else word, const(1, 32))
            memory.poke(NONCE, cut(j0, 0, 96 if given else 128))
            self.mask = spec.aes(self.schedule, j0)
        else:
            self.mask = cat(*(symbol(f"mask{i}", 32) for i in range(4)))
            for name, v in ("Y", self.y), ("COUNTER", counter_block(word)), ("MASK", self.mask):
                memory.poke(STATE + A["GCM_STATE_" + name], v)
        self.set(total=terms.extend(symbol("packet bytes", 61), 64), ad_bytes=terms.extend(symbol("ad bytes", 61), 64))

    y = property(lambda self: cat(*(symbol(f"y before {i}", 32) for i in range(4))))

    def bounds(self, loop):
        return []

    def put_accumulator(self, loop, bounds):
        self.change({cell: symbol(f"hash {i}", 32) for i, cell in enumerate(loop.hash_cells())})

    def accumulated(self, loop):
        return loop.hash_of(self)

    def h_before(self):
        return 0 if self.shape.flags & FIRST else spec.field_element(self.y)

    def absorb(self, y, message):
        return spec.ghash(y, self.h, message)

    def encrypted(self, text):
        return spec.gcm_text(self.schedule, counter_block(self.counter), 0, text)

    def counted(self, n):
        return add_modular(self.begins, cut(linear.shift(n, 4, True), 0, 32))

    def finish(self, y, counters, written, folder):
        """Checks the results of the call. y: GHASH of all text. counters: allowed in the state."""
        self.left_behind()
        self.wiped(written)
        lengths = [terms.extend(symbol(f"{name} bytes", 61), 64) for name in ("ad", "packet")]
        gcm_left(self, self.shape.flags, y, self.h, self.mask, lengths, [counter_block(word) for word in counters])

    def here(self, v):
        found = linear.place(v)
        if found and found[0] is not self.left:
            base, offset = found
            if base is self.steps or self.rest and self.rest.rest and base.quotient == self.rest.rest[2]:
                return "steps", offset + self.passed // self.loop.step
            if base is self.rest:
                return ("left" if offset == 0 else "unknown"), 0
        return super().here(v)


def counter_block(word):
    return cat(*nonce_symbols(), spec.reverse(word))


class Loop(loops.Loop):
    """lag: how far authentication is behind when sealing. lanes: those of GHASH so far. hash_cells(): its cells, a
    block for each lane, with its bytes reversed."""

    part, lag, lanes = Part, 0, 1

    def sizes(self, shape, of, absorbs):
        return 3 * self.step, self.least

    def accumulator(self):
        return set(self.hash_cells())

    def authenticated(self, call):
        return 0 if call.shape.opens else -self.lag

    def some(self, shape):
        """All exits are proved with keys of 128 bits and separate output."""
        return shape.bits != 128 or shape.in_place

    def hash_of(self, call):
        """Returns GHASH so far, as an element of the field."""
        cells = call.cells()
        words = [cells[c] for c in self.hash_cells()]
        inverse, factor, y = field_power(call.h, (1 << 128) - 2), 1, 0
        for i in range(self.lanes):
            lane = cat(*words[4 * i:4 * i + 4])
            if not lane.defined:
                raise Unproved("GHASH so far is not there")
            y ^= field_product(field_product(terms.X127, lane.image), factor)
            factor = field_product(factor, inverse)
        return y


class Passes(Loop):
    """x86-64's kernels. over: the fewest bytes that remain after the passes. register: the vector register of GHASH so
    far. passes: with fewer, a text may take another path."""

    places = "in", "out", "steps", "left"

    def __init__(self, step, over, register, lanes, passes=2):
        self.step, self.blocks, self.lag, self.least = step, step // 16, step, passes * step + over
        self.register, self.lanes = register, lanes

    def hash_cells(self):
        return [("vector", self.register, i) for i in range(4 * self.lanes)]

    def place(self, kernel, shape):
        """Returns the start of the loop: the target of the longest jump back over AES rounds and products. The code is
        used only to find it; the proof shows that each pass reaches it once."""
        if kernel.head is None:
            jumps = [(i.address, i.operands[0].imm) for i in instructions(kernel) if i.mnemonic == "jne"]
            kernel.head = max((at - target, target) for at, target in jumps)[1]
        return kernel.head

    def processed(self, call):
        """The first pointer to text is one of whole passes. The length left after the loop is the remainder of the
        length's division by that of a pass."""
        places = [p for v in call.machine.general if (p := linear.place(v))]
        call.rest = next((base for base, offset in places if base.rest and offset == 0 and base.rest[0] is call.left
                          and base.rest[1] == 0 and 1 << base.rest[2][2] == self.step), None)
        if call.rest is None:
            raise Unproved("no cell tells the length left after the loop")
        done = max((offset for base, offset in places if base is call.source), default=-1)
        return done if done % self.step == 0 else -1

    def fewest(self, at):
        return self.step + at.rest.least

    def remains(self, call, at, rest, enough):
        """The number of passes, of which an exit has one, and the length left after them."""
        if rest is not None:
            return {"steps": 1, "left": rest - self.step}
        call.rest = linear.Base("left", at.rest.least, at.rest.most)
        call.steps = linear.Base("steps", 2, LONGEST >> 4)
        return {"steps": call.steps, "left": call.rest}


class Crypto32(Loop):
    """32-bit ARM: GHASH so far is in memory, with the bytes of each half reversed. Authentication is never behind. The
    loop counts bytes. It is reached once before the associated data, and again before the text of a first part."""

    step, blocks, least, y = 128, 8, 256, SCRATCH + 272

    def place(self, kernel, shape):
        if kernel.head is None:
            kernel.head = find(kernel, "str r4, [r1, #0x154]").address
        return kernel.head

    def reached(self, shape, section):
        return 2 if shape.flags & FIRST and not section else 1

    def hash_cells(self):
        return [("memory", self.y + o) for o in (8, 12, 0, 4)]

    def processed(self, call):
        return max((-p[1] for v in call.cells().values() if (p := linear.place(v)) and p[0] is call.left), default=-1)

    def fewest(self, at):
        return self.step


LOOPS = {
    "sealane_aesgcm_aesni": Passes(128, 1, 11, 1, 3),
    "sealane_aesgcm_aesniavx": Passes(128, 1, 11, 1, 3),
    "sealane_aesgcm_avx2": Passes(256, 1, 11, 2),
    "sealane_aesgcm_avx512": Passes(512, 304, 19, 4, 3),
    "sealane_aesgcm_ce32": Crypto32(),
}

# Instructions of the loop that planted faults omit: (name of the fault, their text, which of them).
_EVERY = [("the passes are not counted", "dec"), ("a product of the loop is left out", ("pclmulqdq", "vpclmullqlqdq", "vpclmulqdq")),
          ("a round is left out", ("aesenc ", "vaesenc "), 9)]
_XMM = [("what is authenticated does not move", "sub r12"), ("the text does not move", "sub r8"), *_EVERY]
_WIDE = [("what is authenticated does not move", "add r10"), ("the text does not move", "add r8"), *_EVERY]
LEFT_OUT = {
    "sealane_aesgcm_aesni": _XMM, "sealane_aesgcm_aesniavx": _XMM, "sealane_aesgcm_avx2": _WIDE, "sealane_aesgcm_avx512": _WIDE,
    "sealane_aesgcm_ce32": [("the counter does not go on", "str r3, [r1, #0x148]"), ("the text does not move", "str r3, [r1, #0x13c]"),
                            ("the output does not move", "str r4, [r1, #0x140]"), ("the remaining length does not change", "str ip, [r1, #0x144]"),
                            ("a product is left out", "vmull.p64", 3), ("a round is left out", "aese.8", 9),
                            ("GHASH is not kept", "vst1.8 {d30, d31}, [r7]")],
}


# ---- All of it -----------------------------------------------------------------------------------------------------------

SHAPES = [Shape(opens=o) for o in BOTH] + [Shape(opens=o, bits=b, in_place=b == 256) for b in (192, 256) for o in BOTH] + \
    [Shape(opens=o, j0=True) for o in BOTH] + [Shape(f, opens=o, j0=j) for f in (FIRST, 0, LAST) for o in BOTH for j in BOTH] + \
    [Shape(f, opens=o, bits=b) for f in (FIRST, 0, LAST) for o in BOTH for b in (192, 256)]


def least(kernel):
    return LOOPS[kernel.name].least if kernel.name in LOOPS else None


def tasks(kernel, args):
    return [(str(shape), shape) for shape in (SHAPES[i] for i in ((0, 3, 12) if args.quick else range(len(SHAPES))))]


def one(kernel, task, args, found):
    prove(kernel, LOOPS[kernel.name], task[1], args, found)


def planted(kernel, args, attempt):
    right = LOOPS[kernel.name]
    place, proof = right.place(kernel, Shape()), attempts(kernel, right, Shape(), Shape(opens=True))

    def counted_twice():
        anew()
        program = kernel.program()
        at = [i.address for i in instructions(kernel) if i.address < place and i.mnemonic == "dec"][-1]
        once, *more = program.meaning(program.code, at)
        program.steps[at] = (lambda m: (once(m), once(m)), *more)

    attempt("the counter goes on by one block more", proof(blocks=right.blocks + 1))
    attempt("a pass has 16 bytes more", proof(step=right.step + 16))
    attempt("authentication is another block behind", proof(lag=right.lag - 16 if right.lag else 16))
    if kernel.isa is x86:
        attempt("the pass before the loop counts as two", proof(counted_twice))
        attempt("GHASH is in another register", proof(register=right.register - 2))
        attempt("GHASH is in another number of lanes", proof(lanes={1: 2, 2: 4, 4: 1}[right.lanes]))
    else:
        attempt("GHASH is elsewhere", proof(y=right.y + 16))
    attempt.without(LEFT_OUT[kernel.name], proof(), place)
