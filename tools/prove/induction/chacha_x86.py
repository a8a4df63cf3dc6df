"""ChaCha20-Poly1305 on x86-64, for every length: the loop of a kernel over long texts, by induction.

    induction.chacha_x86 [--quick] [--jobs N] [--queries FOLDER] OBJECT...

LOOPS has the invariant of each kernel, at the point between two passes of the loop. There every other cell,
including registers, counts as never written. Pointers, lengths and the counter are symbols with bounds
(values/linear.py). These are proved:

    base    From the kernel's first instruction through one pass, the invariant holds for all texts that are long
            enough. The texts are divided into classes of lengths if the first pass depends on them.
    step    From there, with enough bytes for a whole pass, the invariant holds again. The pass reads and writes its own
            bytes, and branches only on lengths. Its output is the specification's, and the accumulator that of one more
            pass.
    exit    From there to the end, for each possible rest after any number of passes: the remaining text and the tag are
            correct. Scratch that the loop has written is wiped.

The exit status is 1 if a property is not proved, or, with --planted, if a wrong invariant or a broken kernel is not
refused.
"""

import spec
from induction import engine
from induction.engine import SHAPES, Way, anew, find, instructions
from run.kernels import AD, SCRATCH, text_symbols
from run.packets import CHACHA, chacha_left, h_before, key_symbols, one_time, put_chacha, residue
from spec.args import A, FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import P, Unproved, add_modular, cat, const, cut, extend, same, symbol

LONGEST = (1 << 38) - 64  # bytes of text, RFC 8439, 2.8
FRAME = A["SCRATCH_SAVE_BYTES"] + 128
SLOT = {"in": -112, "out": -104, "left": -96, "chunk": -88, "h": 0, "counter": 48}


class Loop:
    """step: bytes of a pass. first: bytes of the first pass when sealing; when opening, it depends on the bits `mask`
    of the number of bytes + 63. kept: (offset, bytes) of the unchanging parts of scratch. most: the greatest h2, in
    calls where the text starts and in later ones. least: the shortest text that is proved, in a call where it
    starts. blocks: by how much the counter increases. behind: how many passes with another state precede, when a
    text that starts in this call is opened."""

    def __init__(self, step, first, mask, most, kept, least, behind=0):
        self.step, self.first, self.mask, self.most, self.kept, self.least = step, first, mask, most, kept, least
        self.blocks, self.behind = step // 64, behind

    def most_of(self, flags):
        return self.most[0 if flags & FIRST else 1]

    def classes(self, flags, opens):
        """Returns (bytes of the first pass, the residues of the length modulo step for which it has that size)."""
        if not flags & FIRST:
            return [(0, range(self.step))]
        if not opens:
            return [(self.first, range(self.step))]
        return [(f, [r for r in range(self.step) if (r + 63) & self.mask == f]) for f in range(0, self.step, 64)]


# Arguments, table, key pointer; r, s1; the nonce; s; the key, or the number of powers of r and these.
_POINTERS = [(-128, 16), (-24, 8), (24, 24), (52, 12), (128, 16)]
_WIDE = _POINTERS + [(-8, 8), (160, 96)]
LOOPS = {
    "sealane_chacha20poly1305_ssse3": Loop(256, 192, 192, (4, 7), _POINTERS + [(-16, 8), (160, 32)], 448),
    "sealane_chacha20poly1305_avx2": Loop(512, 448, 448, (8, 8), _WIDE + [(-16, 8)], 1472, 1),
    "sealane_chacha20poly1305_avx512vl": Loop(512, 448, 448, (8, 8), _WIDE + [(-16, 8)], 1472, 1),
}


def head(kernel):
    """Returns the start of the loop: the target of the jump at the end of a pass, which reads CHUNK and OUT. The code
    is used only to find it; the proof shows that each pass reaches it once."""
    insns = {i.address: i for i in instructions(kernel)}
    reads = lambda pc, place: pc in insns and insns[pc].op_str.endswith(f"[rsi - {place:#x}]")
    found = {to for i in insns.values() if i.mnemonic == "jmp" for to in (i.operands[0].imm,)
             if reads(to, 0x58) and reads(to + insns[to].size, 0x68)}
    if len(found) != 1:
        raise Unproved(f"the head of the loop is at {found}")
    return found.pop()


def at(name):
    return SCRATCH + FRAME + SLOT[name]


class Part(engine.Part):
    def __init__(self, kernel, shape, texts, ad_bytes=0):
        super().__init__(kernel, shape, CHACHA, texts, None, ad_bytes)

    def set_arguments(self, ad_bytes, total):
        self.set(bytes=total, total=total, ad_bytes=ad_bytes)
        put_chacha(self, self.shape.flags, state_before()[1])

    def slot(self, name, size=8):
        return self.memory.peek(at(name), size)

    def frame(self):
        """The register that must be unchanged at the loop's head."""
        return self.machine.general[6]  # rsi


class Kept:
    """The unchanging cells, as the base leaves them."""

    def __init__(self, call, loop):
        self.values = {o: call.memory.peek(SCRATCH + FRAME + o, n) for o, n in loop.kept}
        self.frame = call.frame()
        self.written = {a for a in call.memory.cells if SCRATCH <= a < SCRATCH + call.scratch_bytes}

    def check(self, call, loop):
        for o, n in loop.kept:
            v = call.memory.peek(SCRATCH + FRAME + o, n)
            if not v.defined:
                raise Unproved(f"what is kept at {o} of the frame was not written")
            if v is not self.values[o] and not same(v, self.values[o]):
                raise Unproved(f"what is kept at {o} of the frame has changed")
        if self.frame is not call.frame():
            raise Unproved("the frame is elsewhere")
        self.written |= {a for a in call.memory.cells if SCRATCH <= a < SCRATCH + call.scratch_bytes}


def check_moving(call, loop, moved, left, counter, h):
    """Checks the changing cells: in and out are `moved` bytes from their bases. `left`, the size of the pass, the
    counter and the accumulator are as given."""
    for name, base in (("in", call.source), ("out", call.target)):
        if linear.place(call.slot(name)) != (base, moved):
            raise Unproved(f"{name} is not {moved} bytes further")
    if linear.place(call.slot("left")) != left:
        raise Unproved("the bytes left are not what they should be")
    if call.slot("chunk").constant != loop.step:
        raise Unproved("the pass is not a whole one")
    if not same(call.slot("counter", 4), counter):
        raise Unproved("the counter is not what it should be")
    limbs = [call.memory.peek(at("h") + 8 * i, 8) for i in range(3)]
    most = loop.most_of(call.shape.flags)
    if limbs[2].most > most:
        raise Unproved(f"h2 may be {limbs[2].most}, more than the {most} of the invariant")
    if residue(limbs) != h % P:
        raise Unproved("the accumulator is not the polynomial of the specification")


def state_before():
    """The results of an earlier part: an accumulator below 2^131, and a 64-bit counter. The counter is below 2^32 if
    text follows, because a packet's last block has at most the number 2^32 - 1."""
    return h_before(), extend(symbol("state counter", 32), 64)


def base(kernel, loop, shape, ad_bytes, first, of, section=None):
    """Runs from the first instruction to the loop's second state, or a later one if there are passes with another
    state. section: associated data of any length (ad.py). Returns the call."""
    flags, opens, in_place = shape
    before = first + (loop.behind * loop.step if opens and flags & FIRST else 0)
    size = before + loop.step
    least = max(size, loop.least if flags & FIRST else 0)
    bytes_ = linear.Base("bytes", least, LONGEST, modulus=loop.step, of=of)
    call = Part(kernel, shape, ([(0, size, True, in_place)], [] if in_place else [(0, size, not opens, True)]), ad_bytes)
    call.set_arguments(const(ad_bytes, 64), bytes_ + 0)
    ad, text = text_symbols("ad", ad_bytes), text_symbols("text", size)
    if ad:
        call.memory.poke(AD, ad)
    call.memory.poke(call.source.address, text)
    stop = head(kernel)
    if section:
        section.arguments(call)
        behind_ad = section.through(call, stop)
    else:
        call.go(0, stop)
    for _ in range((size - first) // loop.step):
        call.go(stop, stop)
    key, nonce = key_symbols()
    r, s = one_time(flags)
    counter, h = const(1, 32), 0
    if not flags & FIRST:
        limbs, counter = state_before()
        counter, h = cut(counter, 0, 32), residue(limbs)
    result = spec.cipher_text(key, counter, nonce, text)
    call.expect("the text", call.target.address, result)
    h = behind_ad if section else spec.poly1305(h, r, spec.pad16(ad) if ad else None)
    h = spec.poly1305(h, r, text if opens else cut(result, 0, 8 * first) if first else None)
    check_moving(call, loop, before, (bytes_, -before), add_modular(counter, const(before // 64, 32)), h)
    return call


def middle(kernel, loop, kept, shape, rest, left, total, ad_bytes):
    """The loop's state, with `rest` bytes of text after this pass. Returns the call, the accumulator, the counter, and
    the text after this pass. When sealing, it also returns the bytes of this pass, which the previous pass has
    written: any bytes."""
    step, (_, opens, in_place) = loop.step, shape
    if in_place:
        texts = [(0, step, True, False)] if not opens else [], []
        texts[0].extend([(step, rest, True, True)] if rest else [])
    else:
        texts = [(step, rest, True, False)], [(step, rest, not opens, True)]
        if not opens:
            texts[1].insert(0, (0, step, True, False))
    call = Part(kernel, shape, texts)
    call.set_arguments(ad_bytes, total)
    memory, m = call.memory, call.machine
    for o, v in kept.values.items():
        memory.poke(SCRATCH + FRAME + o, v)
    counter, most = symbol("counter", 32), loop.most_of(shape[0])
    limbs = [symbol("h0", 64), symbol("h1", 64), symbol(f"h2 at most {most}", most.bit_length(), most)]
    h = residue(limbs)
    memory.poke(at("h"), cat(limbs[0], limbs[1], extend(limbs[2], 64)))
    memory.poke(at("counter"), counter)
    for name, v in (("in", call.source + 0), ("out", call.target + 0), ("left", left), ("chunk", const(step, 64))):
        memory.poke(at(name), v)
    m.general = [terms.undefined(64)] * 16
    m.general[6] = kept.frame
    sealed = None if opens else text_symbols("text_before", step)
    if sealed:
        memory.poke(call.target.address, sealed)
    text = text_symbols("text", rest)
    if text:
        memory.poke(call.source.address + step, text)
    return call, h, counter, sealed, text


def put_out(loop, call, counter, text):
    key, nonce = key_symbols()
    result = spec.cipher_text(key, add_modular(counter, const(loop.step // 64, 32)), nonce, text)
    call.expect("the text", call.target.address + loop.step, result)
    return result


def step(kernel, loop, kept, shape):
    left = linear.Base("left", 2 * loop.step, LONGEST)
    total = linear.Base("total", loop.step, LONGEST)
    ad_bytes = symbol("ad bytes", 64)
    call, h, counter, sealed, text = middle(kernel, loop, kept, shape, loop.step, left + 0, total + 0, ad_bytes)
    place = head(kernel)
    call.go(place, place)
    kept.check(call, loop)
    put_out(loop, call, counter, text)
    r, s = one_time(shape[0])
    h = spec.poly1305(h, r, text if shape[1] else sealed)
    check_moving(call, loop, loop.step, (left, -loop.step), add_modular(counter, const(loop.blocks, 32)), h)
    return call.machine.steps


def leave(kernel, loop, kept, shape, rest, folder):
    """Proves the run to the end, with `rest` bytes after this pass, less than a whole one."""
    flags, opens, in_place = shape
    total = linear.Base("total", loop.step, LONGEST)
    n, ad_bytes = total + 0, symbol("ad bytes", 64)
    call, h, counter, sealed, text = middle(kernel, loop, kept, shape, rest, const(loop.step + rest, 64), n, ad_bytes)
    call.go(head(kernel), None)
    call.left_behind()
    call.wiped(kept.written)
    result = put_out(loop, call, counter, text) if text else None
    r, s = one_time(flags)
    if sealed:
        h = spec.poly1305(h, r, sealed)
    if text:
        h = spec.poly1305(h, r, spec.pad16(text if opens else result))
    before = const(1, 64) if flags & FIRST else state_before()[1]
    chacha_left(call, flags, h, r, s, (ad_bytes, n), [terms.add(64, before, linear.shift(n, 6, True))[0]], folder)
    return call.machine.steps


# ---- All of it -----------------------------------------------------------------------------------------------------------

ADS = (0, 1, 13, 16, 40)
QUICK_SHAPES = [Way(), Way(WHOLE, True, True), Way(0, True), Way(0)]


def prepare(kernel, args):
    """Proves every base and every step."""
    anew()
    loop, quick, kept, cases, steps = LOOPS[kernel.name], args.quick, {}, 0, 0
    shapes = QUICK_SHAPES if quick else SHAPES
    for shape in shapes:
        flags, opens, in_place = shape
        classes = loop.classes(flags, opens)
        for i, (first, of) in enumerate(classes[-1:] if quick else classes):
            for ad_bytes in ((0,) if not flags & FIRST else (ADS[(cases + 1) % len(ADS)],) if quick or i else ADS):
                call = base(kernel, loop, shape, ad_bytes, first, of)
                kept.setdefault(flags & FIRST, Kept(call, loop)).check(call, loop)
                cases, steps = cases + 1, steps + call.machine.steps
    for shape in shapes:
        steps += step(kernel, loop, kept[shape[0] & FIRST], shape)
        cases += 1
    return cases, steps, {"written": set().union(*(k.written for k in kept.values())), "kept": {}}


def exits(loop, quick):
    few = (0, 1, 17, 63, 64, 65, loop.step // 2 + 1, loop.step - 1)
    if quick:
        return [(Way(), 77), (Way(WHOLE, True, True), loop.step - 1), (Way(0), 128), (Way(LAST, True), 0)]
    found = []
    for shape in SHAPES:
        flags, _, in_place = shape
        rests = range(0, loop.step, 64) if not flags & LAST else few if in_place else range(loop.step)
        found += [(shape, rest) for rest in rests]
    return found


def tasks(kernel, args):
    return [(f"{shape}, {rest} bytes left", shape, rest) for shape, rest in exits(LOOPS[kernel.name], args.quick)]


def least(kernel):
    return LOOPS[kernel.name].least if kernel.name in LOOPS else None


def fresh_kept(kernel, loop, flags, written=()):
    """Makes the kept cells from one base. prepare() compares it with all others."""
    shape = Way(flags & FIRST or LAST)
    call = base(kernel, loop, shape, 0, *loop.classes(*shape[:2])[0])
    kept = Kept(call, loop)
    kept.written |= set(written)
    return kept


def one(kernel, task, args, found):
    _, shape, rest = task
    loop, kept, first = LOOPS[kernel.name], found.common["kept"], shape[0] & FIRST
    if len(terms.ATOMS) > 600_000:
        anew()
        kept.clear()
    if first not in kept:
        kept[first] = fresh_kept(kernel, loop, shape[0], found.common["written"])
    found.add(1, leave(kernel, loop, kept[first], shape, rest, args.queries))


def planted(kernel, args, attempt):
    right = LOOPS[kernel.name]

    def wrong(what, insn=None, **change):
        loop = engine.changed(right, **change)

        def show():
            anew()
            kept = fresh_kept(kernel, loop, WHOLE)
            step(kernel, loop, kept, Way())
            leave(kernel, loop, kept, Way(), 5, None)
        attempt(what, show, insn)
    place = head(kernel)
    wipes = [i for i in instructions(kernel) if f"{i.mnemonic} {i.op_str}".startswith(("movdqa xmmword ptr [rax", "vmovdqa ymmword ptr [rax"))]
    wrong("h2 at most one less", most=(right.most[0] - 1, right.most[1]))
    wrong("h2 at most twice as much", most=(2 * right.most[0] + 3, right.most[1]))
    wrong("the counter goes on by one more", blocks=right.blocks + 1)
    wrong("r is not kept", kept=[k for k in right.kept if k[0] != 24])
    wrong("more is kept than there is", kept=right.kept + [(-64, 8)])
    wrong("a pass has 64 bytes more", step=right.step + 64)
    wrong("in does not move", find(kernel, "add qword ptr [rsi - 0x70]", behind=place))
    wrong("the counter does not move", find(kernel, "add dword ptr [rsi + 0x30]", behind=place))
    wrong("the bytes left do not change", find(kernel, "mov qword ptr [rsi - 0x60]", behind=place))
    wrong("a carry is dropped", find(kernel, "adc", behind=find(kernel, "imul", behind=place).address))
    wrong("a wipe is left out", wipes[-1])
