"""ChaCha20-Poly1305 in a loop whose Poly1305 is ahead of ChaCha20, or behind it, for every length, by induction.

    induction.chacha_skew [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

Ahead: opening with NEON on 32-bit ARM. Poly1305 is faster than ChaCha20: a pass decrypts 256 bytes and authenticates up
to 288. So Poly1305 is ahead by a growing number of bytes, until it reaches the end of the text. At the start of the
loop, d is its lead, a multiple of 16, and e is the number of bytes that it has left. d + e bytes are left to decrypt.
These are proved:

    base    from the first instruction to the second pass
    steps   for any d, and any e of at least 336: d grows by 32. And for each smaller e, and any d with which a pass
            depends only on e: it authenticates 32 bytes at a time, while it can.
    exits   for each d and e without such a step, to the return

Authenticated bytes are read before anything is written; this is checked.

Behind: sealing and opening with RISC-V's vectors. A pass encrypts the blocks that vectors hold, 4 with vectors of 128
bits, and authenticates those of the previous pass. Where it begins, scratch has the previous ciphertext, which the
accumulator does not have yet. A packet's first pass begins with block 0. It has a block of text less, and its
ciphertext stands 64 bytes further on (its lead). The next pass begins in this separate state.

    base    from the first instruction to the second pass
    step    from either state, to the second one: with more than 1,024 bytes left, the most that a pass may have, and
            with each number of blocks up to there that surely fills the vectors
    exit    from either state, for each number of bytes that such steps may leave, to the return; in place for every
            23rd

States are as in chacha_scalar.py.
"""
import spec
from induction import engine
from induction.chacha_loop import (ADS, CARRY, LEFT, LONGEST, LOOPS, PRODUCT, TEXT, Part, authenticated, beginnings,
                                   general, head, inside, registers, scratch)
from induction.chacha_scalar import AHEAD, Invariant, Loop, Proof, attempts, end_of, here, later
from induction.engine import SHAPES, Way, anew, text_named
from induction.loop import texts
from isa import arm32
from run.kernels import SCRATCH
from spec.args import FIRST, LAST, WHOLE
from values import linear
from values.terms import Unproved, const, cut, extend, undefined


# ---- Ahead -----------------------------------------------------------------------------------------------------------

FAST, PASS, E_ANY = 288, 256, 336
LONG = 1 << 29  # the most bytes before a pass, and the most that are left
SEALING = LOOPS[arm32, "neon"]
MESSAGE = scratch(296)


def taken(e):
    """How many bytes a pass authenticates if e are left; None: at least E_ANY."""
    return FAST if e is None else min(FAST, e // 32 * 32)


def least_d(e):
    """From this d on, a pass depends only on e: a whole set is left to decrypt, and more than it authenticates."""
    return max(16, PASS + 16 - taken(e))


class Ahead(Proof):
    least, shapes = SEALING.least, [s for s in SHAPES if s.opens]
    loop = Loop(SEALING.head, SEALING.limbs, {scratch(268): "source", scratch(272): "target", scratch(264): "left",
                                              MESSAGE: "message", scratch(464): "counter"}, pending=True)

    def prove(self):
        self.inv = inv = Invariant(self.kernel, self.loop)
        self.invariants, twice = (inv,), engine.changed(SEALING, arrivals=2)
        for call in beginnings(self.kernel, twice, self.shape, self.section):
            _, message = linear.place(call.get(MESSAGE)) or (None, 0)
            ahead = message - call.done
            if ahead % 16 or ahead < 16 or self.least - message < E_ANY:
                raise Unproved("the loop begins otherwise")
            h = call.accumulated(self.loop)  # beginnings() has checked it
            self.arrive(call, inv, h, "", **here(call, call.done, message=(call.source, message)))
        all_ = [None, *range(0, E_ANY, 1 if self.shape.flags & LAST else 16)]
        few = [None, *all_[1::67], *all_[2:41:13]]
        for e in few:
            inv.until_stable(lambda _: self.step(e))
        if any([self.step(e) for e in (few if self.quick else all_)]):
            raise Unproved("the invariant does not stay")

    def run(self, to, e, d=None):
        """Runs a pass. If e is None, any numbers of bytes are left; if d is None, e bytes, with any d from least_d(e)
        on. Returns the call, the part of the text that is authenticated next, and the accumulator."""
        n = PASS if d is None else d + e
        call = inside(self.kernel, self.shape, texts(self.shape, n, again=False), most=LONG)
        text, _ = call.put_text(n)
        call.left = any_d = linear.Base("d", least_d(e), LONG // 2, modulus=16, width=32)
        if d is not None:
            call.set(bytes=call.done + n)
            ahead = cut(text, 8 * d, 8 * e) if e else None
            places = {"message": (call.source, d), "left": const(n, 32)}
        else:
            call.set(bytes=call.length("bytes", 1) + 0)
            call.message = end_of(call, call.source, any_d)
            if e is None:
                call.left = linear.Base("left", PASS + 1, LONG, width=32)
                any_e = linear.Base("e", E_ANY, LONG, width=32)
                linear.relate(end_of(call, call.source, call.left), call.message, any_e)
            ahead = text_named("ahead", taken(e))
            if ahead:
                call.message.address = AHEAD
                call.memory.region("text ahead", AHEAD, taken(e), True, False)
                call.memory.poke(AHEAD, ahead)
                in_order(call, taken(e))
            places = {"message": (call.message, 0), "left": (call.left, e or 0)}
        h = self.inv.put(call, **here(call, **places))
        call.go(self.inv.at, to)
        call.expect_output(text)
        return call, ahead, h

    def step(self, e):
        call, ahead, h = self.run(self.inv.at, e)
        places = {"message": (call.message, taken(e)), "left": (call.left, (e or 0) - PASS)}
        h = authenticated(h, call.r, None, 0, ahead, taken(e))
        return self.arrive(call, self.inv, h, "after a pass", **here(call, PASS, **places))

    def ends(self):
        """The (d, e) without a step: all for whole packets with separate output and for parts before others; some for
        the rest."""
        found = [(d, e) for d in range(16, PASS + 32, 16) for e in range(E_ANY) if d + e <= PASS or d < least_d(e)]
        if not self.shape.flags & LAST:
            found = [(d, e) for d, e in found if (d + e) % 64 == 0 and e % 16 == 0]
        elif self.quick:
            found = found[3::400]
        elif not self.shape.flags & FIRST or self.shape.in_place:
            found = found[::23]
        return [(f"ahead by {d}, {e} bytes there", d, e) for d, e in found]

    def leave(self, d, e, folder=None):
        call, ahead, h = self.run(None, e, d)
        size = (e + 15) // 16 * 16
        h = authenticated(h, call.r, None, 0, extend(ahead, 8 * size), size) if e else h
        call.finish(h, [call.counted(call.done + (d + e))], self.inv.written, folder)
        return call.machine.steps


def in_order(call, size):
    """Refuses reads of text ahead after text was written."""
    allowed, target, written = call.memory.allowed, call.target.address, []

    def check(address, n, write):
        allowed(address, n, write)
        if write and target <= address < target + PASS:
            written.append(address)
        if not write and written and AHEAD <= address < AHEAD + size:
            raise Unproved("text ahead is read when other text has been put out")
    call.memory.allowed = check


# ---- Behind ----------------------------------------------------------------------------------------------------------

MOST = 1024  # bytes of a pass
CIPHERTEXT, DONE = SCRATCH + 512, general(26)
BEGIN = Loop(("ld s3, 0x50(a0)", 1), registers((5, 6, 7), 64), {DONE: "done", scratch(256 + 48): "counter"})
CRYPT = Loop(("ld s3, 0x50(a0)", 3), [], {})  # .Ltext


class Behind(Proof):
    """states: by their lead. bytes: of a pass. limit: with more bytes left, a pass has as many blocks as vectors hold.
    A CPU may choose fewer if these are not twice as many. blocks: by how many more the counter goes on, for planted
    faults."""

    least, shapes = MOST + 1, SHAPES

    def __init__(self, *arguments, blocks=0, **more):
        super().__init__(*arguments, **more)
        isa, self.blocks = self.kernel.isa, blocks
        self.bytes = min(MOST, 64 * isa.vlen // 32)
        self.limit = min(MOST, 2 * self.bytes - 64 if isa.fewest else self.bytes)

    def prove(self):
        first = 64 if self.shape.flags & FIRST else 0
        self.states = states = {lead: Invariant(self.kernel, BEGIN, f" with lead {lead}") for lead in sorted({first, 0}, reverse=True)}
        self.at, self.begun = states[0].at, {}
        for ad_bytes in ADS if first else (0,):
            self.begin(first, ad_bytes)
        lefts = [(self.least, LONGEST[64]), *((n + 1, n + 64) for n in range(self.limit, MOST, 64))]
        for left in lefts if first else ():
            self.step(first, left)
        states[0].until_stable(lambda _: any([self.step(0, left) for left in lefts]))
        states[first].written = states[0].written = states[first].written | states[0].written

    def next(self, call, lead, text, h, done, blocks):
        """A run has reached the next pass, after this text."""
        result = call.expect_output(text)
        call.expect("the ciphertext in scratch", CIPHERTEXT + lead, text if self.shape.opens else result)
        return self.arrive(call, self.states[lead], h, "where a pass begins", done=done, counter=later(call, blocks))

    def begin(self, lead, ad_bytes):
        """From the first instruction to the second pass."""
        n = self.bytes - lead
        call = Part(self.kernel, self.shape, texts(self.shape, n, again=False), None, ad_bytes)
        call.set(bytes=call.length("bytes", self.least) + 0)
        text, _ = call.put_text(n)
        h = call.enter(self.at, ad_bytes)
        call.go(self.at, self.at)
        self.next(call, lead, text, h, const(n, 64), n // 64)

    def start(self, lead, size, bounds=None):
        """A run from where a pass begins, with `size` bytes of text. bounds: of the bytes left, if these are others.
        Returns it, the accumulator after the previous ciphertext, and the text."""
        name = self.states[lead].name
        call = inside(self.kernel, self.shape, texts(self.shape, size, again=False), name=name)
        total = call.done + size
        if bounds:
            all_ = call.length("bytes", 64)
            linear.relate(all_, call.done, linear.Base("left", *bounds))
            total = all_ + 0
        call.set(bytes=total)
        h = self.states[lead].put(call, done=(call.done, 0), counter=call.counter)
        before = text_named(f"before{name}", self.bytes - lead)
        call.poke(CIPHERTEXT + lead, before)
        return call, spec.poly1305(h, call.r, before), call.put_text(size)[0]

    def step(self, lead, bounds):
        """bounds: of the bytes left."""
        call, h, text = self.start(lead, self.bytes, bounds)
        call.go(self.at, self.at)
        return self.next(call, 0, text, h, (call.done, self.bytes), self.bytes // 64 + self.blocks)

    def rounds(self, lead, blocks):
        """The first part of a pass, before it has text, with any number of bytes left that fill these blocks. Returns
        the cells there, without lengths and pointers, and the number of instructions."""
        call, *_ = self.start(lead, 0, (64 * blocks - 63, 64 * blocks))
        call.go(self.at, head(self.kernel, CRYPT))
        return {c: undefined(v.width) if linear.place(v) else v for c, v in call.cells().items()}, call.machine.steps

    def ends(self):
        found = []
        for lead in self.states:
            few = (self.least if lead else self.limit + 1) - self.bytes + lead
            ends = [n for n in range(few, self.limit + 1) if self.shape.flags & LAST or n % 64 == 0]
            ends = ends[7::50] if self.quick else ends[::23 if self.shape.in_place else 1]
            found += [(f"end, {n} bytes", lead, n) for n in ends]
        return found

    def leave(self, lead, n, folder=None):
        steps, same = 0, (lead, (n + 63) // 64)
        if same not in self.begun:
            self.begun[same], steps = self.rounds(*same)
        call, h, text = self.start(lead, n)
        call.put(self.begun[same])
        call.set_cell(DONE, call.done + 0)
        call.go(head(self.kernel, CRYPT), None)
        result = call.expect_output(text)
        mac = text if self.shape.opens else result
        h = spec.poly1305(h, call.r, spec.pad16(mac) if self.shape.flags & LAST else mac)
        call.finish(h, [later(call, n // 64)], self.states[lead].written, folder)
        return call.machine.steps + steps


# ---- Both ------------------------------------------------------------------------------------------------------------

KERNELS = {("EM_ARM", "neon"): Ahead, ("EM_RISCV", "rvv"): Behind, ("EM_RISCV", "zvkb"): Behind}


def kind_of(kernel):
    return KERNELS.get((kernel.isa.MACHINE, kernel.name.removeprefix("sealane_chacha20poly1305_")))


def least(kernel):
    kind = kind_of(kernel)
    return kind and kind.least


def tasks(kernel, args):
    return [(str(shape), shape) for shape in kind_of(kernel).shapes[:1 if args.quick else None]]


def one(kernel, task, args, found):
    anew()
    kind_of(kernel)(kernel, task[1], args.quick).show(found, args.queries)


def planted(kernel, args, attempt):
    kind = kind_of(kernel)

    def of(end, opens=False, **change):
        return attempts(end, kind, kernel, Way(WHOLE, opens), True, **change)
    if kind is Ahead:
        attempt.without([(TEXT, "str r7, [r1, #-0x34]"), (LEFT, "str r8, [r1, #-0x38]"), (PRODUCT, "umlal"),
                         (CARRY, "adc r", 1), ("not asked whether a set is authenticated", "bgt")], of((32, 77), True))
    else:
        end = 64, 5
        attempt("the counter goes on by one more", of(end, blocks=1))
        attempt.without([("what is done does not change", "add s10, s10, a6"), (PRODUCT, "mulhu", 2)], of(end))
        attempt.without([(CARRY, "sltu", 2)], of(end, True))
