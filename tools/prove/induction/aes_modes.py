"""AES in ECB, CTR, CBC and XTS, for every length: the loops of a kernel, by induction.

    induction.aes_modes [--quick] [--planted] [--jobs N] OBJECT...

A call has one text, or for CBC encryption as many texts of one length as front ends pass. The invariant is computed.
A cell is a register, a word of a vector, or four bytes of scratch or stack. S is the state of the mode: the counter
block, the previous block or the tweak of each text; ECB has none. f(S) is the value in a cell when the run from the
first instruction reaches the loop with state S. The invariant is that there is an S such that each cell has f(S),
except places: positions in the texts, and the length. The output so far is the specification's, whose state is S. With
any 128 bits as S, these are proved:

    base   defines f
    step   A pass from f(S) leads to f(S') in each cell, where S' is the state of the specification after the blocks of
           a pass. f(S') is computed by another run from the first instruction, with S' as the state. A cell with
           another value counts as never written, and the step is tried again, until nothing changes.
    exit   a pass, and the rest of less than a pass, to the return: output, state, wiping

On ARM, many lanes of CBC encryption are processed in groups, whose loops follow each other. An exit then leads to the
next loop. Pointers to text and lengths are symbols with bounds. The text of a pass is at any position behind the
arguments' pointers.
"""
import functools
import re
from typing import NamedTuple

import spec
from induction.engine import instructions
from isa import arm32, arm64, x86
from run import modes, proof
from run.kernels import Call
from run.memory import Near
from run.modes import ModeShape, blocks_of, state_at
from spec import modes as aes
from spec.args import CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, XTS_DECRYPT, XTS_ENCRYPT
from values import linear, terms
from values.terms import Unproved, add_modular, cat, const, cut, same

LONGEST = 1 << 60  # bytes of text; 2^30 on 32-bit ARM
END, AT = 0x1000000, 0x1000  # values in a run: the length of a text before the loop, and the position in a text later
LANES = 8  # of CBC encryption: TOGETHER of src/aes_api.c; aes/modes.go has the same


class Loop(NamedTuple):
    """
    step     the bytes of a pass
    lanes    for each loop of CBC encryption in the code: for up to how many lanes it is, and how many it has at most
    ahead    these bytes are subtracted from the length before the loop starts again, so a pass always follows there.
             If 0, those of a pass are subtracted where the loop starts, and there may be none
    again    the least rest after a pass for which the loop starts again. It is 16 if the kernel is bit-sliced: its last
             pass also processes the remaining bytes
    least    shorter texts are proved by calls only
    """

    step: int
    lanes: tuple = ()
    ahead: int = 0
    again: int = 0
    least: int = 16

    @property
    def rests(self):
        return range(self.again, self.step + self.again, 16)


EACH = tuple((n, n) for n in range(LANES, 0, -1))
LOOPS = {
    (x86, "aesni"): Loop(128, ((LANES, LANES), (1, 1)), 128, least=128),
    (x86, "avx2"): Loop(256, ((LANES, LANES), (1, 1)), 256, least=256),
    (x86, "avx512"): Loop(512, ((LANES, LANES), (1, 1)), 512, least=512),
    (arm64, "ce"): Loop(128, EACH),
    (arm64, "neon"): Loop(128, ((4, 2), (LANES, LANES)), again=16, least=80),
    (arm32, "ce32"): Loop(128, EACH[2:]),
    (arm32, "neon"): Loop(128, ((3, 1), (LANES, LANES)), again=16),
    (arm32, "armv6"): Loop(32, ((2, 2),), again=16),
}
OF_LANES = Loop(16, ahead=16)  # those of CBC encryption


def level(kernel):
    return kernel.name.removeprefix("sealane_aes_")


def loop_of(kernel):
    return LOOPS.get((kernel.isa, level(kernel)))


ORDER = XTS_ENCRYPT, XTS_DECRYPT, ECB_ENCRYPT, ECB_DECRYPT, CTR, CTR_LITTLE, CBC_DECRYPT  # of loops in the code of ARM
MODES = CTR, CTR_LITTLE, XTS_ENCRYPT, CBC_DECRYPT, ECB_ENCRYPT, ECB_DECRYPT, XTS_DECRYPT


def shapes(kernel, modes_of, lanes=(0,)):
    """The shapes of a kernel in some modes. One that branches on the counter has only calls of CTR."""
    return [ModeShape(mode, None, bits, in_place, count)
            for mode in modes_of if mode != CTR or not kernel.branches_on_counter
            for count in lanes for bits in (128, 192, 256) for in_place in (False, True)]


# ---- Where loops start: the code is used only to find it, and the proof shows that a run reaches it -----------------

def heads(kernel):
    """Returns the start of the loop of each mode with one text. It is the target of jumps that are always taken, to
    the count of a pass; or of the longest conditional jump."""
    insns = {i.address: i for i in instructions(kernel)}
    jumps = [(i, int(i.op_str.lstrip("#"), 0)) for i in insns.values() if i.mnemonic in ("b", "jae", "bne", "b.ne")]
    each = sorted(to for i, to in jumps if i.mnemonic == "b" and to < i.address and insns[to].mnemonic == "subs")
    longest = max((i.address - to, to) for i, to in jumps if i.mnemonic != "b")[1]
    return dict(zip(ORDER, each, strict=True)) if each else dict.fromkeys(ORDER, longest)


# The end of a loop of CBC encryption: 16 is added to the position in the texts, which is less than their length.
LANES_END = re.compile(r"^add (rdx|[rx]\d+|ip), (?:\1, #)?0x10\n"
                       r"(?:str \1, .*\n)?cmp \1, .*\n(?:jb|b\.lo|blo) #?(0x[0-9a-f]+)$", re.M)


def groups(kernel, shape):
    """Returns [(lanes, start of their loop)]."""
    if not shape.lanes:
        kernel.head = kernel.head or heads(kernel)
        return [(range(1), kernel.head[shape.mode])]
    listing, found, done = "\n".join(f"{i.mnemonic} {i.op_str}" for i in instructions(kernel)), [], 0
    loops = list(zip(loop_of(kernel).lanes, (int(m[2], 0) for m in LANES_END.finditer(listing)), strict=True))
    while left := shape.lanes - done:
        (_, most), place = min((loop for loop in loops if loop[0][0] >= left), default=max(loops))
        found.append((range(done, done + min(most, left)), place))
        done = found[-1][0].stop
    return found


# ---- Runs -----------------------------------------------------------------------------------------------------------

_texts = terms.memo()


class Part(Call):
    """A run of a part of a call. length: that of each text, as a value. texts: those that the part reads, or None, at a
    position behind the pointers. last: the last block of a text, which is read before the loop."""

    def __init__(self, kernel, shape, states, length, texts=(), position=AT, last=None):
        super().__init__(kernel)
        self.lanes, self.values, more = modes.lanes_of(shape, 0), {}, []
        self.memory.by_pointers = not shape.lanes  # whose pointers are numbers
        for i, text in ((i, v) for i, v in enumerate(texts) if v):
            source, target = (self.lanes[i][slot].address + position for slot in ("in", "out"))
            more.append((f"in {i}", source, text.width // 8, True, shape.in_place))
            if not shape.in_place:
                more.append((f"out {i}", target, text.width // 8, False, True))
            self.memory.poke(source, text)
        if last:
            more.append(("end of in", self.lanes[0]["in"].address + END - 16, 16, True, False))
            self.memory.poke(more[-1][1], last)
        modes.prepare(self, shape, self.lanes, states, terms.extend(length, 64), *more)

    def callers(self, name, address):
        """A pointer to text is so far from the ends of memory that a length can be added."""
        if name.split()[0] not in ("in", "out"):
            return super().callers(name, address)
        width = self.kernel.isa.POINTER
        if (address, width) not in _texts:
            _texts[address, width] = linear.Base(name, 1 << 20, 1 << width - 2, address=address, width=width)
        return _texts[address, width] + 0

    def known(self, v, what):
        """Lengths and positions that addresses are made of have a value in the run."""
        found = linear.any_place(v)
        if what == "an address" and found and (found[0].sum or found[0] in self.values):
            values = [self.values.get(base, base.address) for base in found[0].sum or found[:1]]
            if None not in values:
                return Near(sum(values), found[1])
        return super().known(v, what)


def alike(a, b):
    """Compares two values bit by bit."""
    return a is b or a.defined and b.defined and all(same(cut(a, i, 8), cut(b, i, 8)) for i in range(0, a.width, 8))


def memory_cells(call):
    """The addresses in scratch that a run has written."""
    return {c[1] for c in call.cells() if c[0] == "memory"}


class Induction:
    """One kind of a call. For planted faults, other numbers than the kernel's move the state and the places: blocks and
    step, in bytes."""

    def __init__(self, kernel, shape, blocks=None, step=None):
        self.kernel, self.shape, self.groups = kernel, shape, groups(kernel, shape)
        self.loop = OF_LANES if shape.lanes else loop_of(kernel)
        self.step, self.steps, self.written = step or self.loop.step, 0, set()
        # Whether the state is written after the loop, instead of before it.
        self.state_last = shape.mode in (XTS_ENCRYPT, XTS_DECRYPT, CBC_ENCRYPT) or \
            shape.mode == CTR_LITTLE and self.loop.again and kernel.isa is arm32
        self.all = range(shape.lanes or 1)
        self.states = [None if shape.mode in modes.WITHOUT_STATE else blocks_of(f"any state {i} ", 1) for i in self.all]
        texts = [blocks_of(f"now{i}_", blocks or self.loop.step // 16) for i in self.all]
        self.following = [after for _, after in self.results(texts)]
        self.leave_last = self.prove()

    def results(self, texts):
        """Returns the specification's output and state for each text."""
        schedules = [modes.schedule_of(self.shape.bits, f"key{i}_") for i in self.all]
        return [aes.result_of(self.shape.mode, *of) for of in zip(schedules, texts, self.states)]

    def length(self, name, least, times=1):
        width = self.kernel.isa.POINTER
        return linear.Base(name, least, times * (LONGEST if width == 64 else (1 << 30) - 64), width=width)

    def run(self, call, start, stop):
        self.kernel.program().run(call.machine, None, start, stop)
        self.steps += call.machine.steps
        if stop is not None:
            self.written |= memory_cells(call)
        return call

    def begin(self, states):
        """Runs from the first instruction to the loop. In some modes the state is written by then."""
        shape, state = self.shape, states[0]
        length, last = self.length("bytes", self.loop.least), None if shape.lanes else blocks_of("last", 1)
        call = Part(self.kernel, shape, states, length + 0, last=last)
        call.values, call.length = {length: END}, length + 0
        self.run(call, 0, self.groups[0][1])
        if shape.mode in (CTR, CTR_LITTLE) and not self.state_last:
            first = spec.reverse(cut(state, 96, 32)) if shape.mode == CTR else cut(state, 0, 32)
            if self.kernel.isa is not arm64:
                count = add_modular(first, cut(linear.shift(length + 0, 4, True), 0, 32))
            else:  # a 64-bit sum, of which 32 bits are kept: the same number
                count = cut(terms.add(64, terms.extend(first, 64), terms.shift_right(length + 0, 4))[0], 0, 32)
            last = cat(cut(state, 0, 96), spec.reverse(count)) if shape.mode == CTR else cat(count, cut(state, 32, 96))
        if not self.state_last and state:
            call.expect("the state", state_at(call.lanes[0]), last)
        return call

    def in_memory(self, i):
        """A state in memory. The loop does not keep it, except the part of a counter block beside the counter."""
        state = blocks_of(f"state in memory {i} ", 1)
        if self.state_last or self.shape.mode not in (CTR, CTR_LITTLE):
            return self.states[i] and state
        if self.shape.mode == CTR:
            return cat(cut(self.states[i], 0, 96), cut(state, 96, 32))
        return cat(cut(state, 0, 32), cut(self.states[i], 32, 96))

    def enter(self, lanes, cells, states, rest=None, first=False):
        """Starts a run at the loop. `rest` bytes follow a pass; if None, any number, and another pass. first: it is the
        first pass of the call."""
        loop, width = self.loop, self.kernel.isa.POINTER
        done, left = self.length("done", 0), self.length("left", loop.ahead + loop.step + loop.again)
        position = const(0, width) if first else done + 0
        if rest is not None:
            left, length = const(rest, width), done + (loop.ahead + rest)
        else:
            end = self.length("end", left.least, 2)
            linear.relate(end, done, left)
            left, length = left + -loop.ahead, (left if first else end) + 0
        before = [self.in_memory(i) if i in lanes else v for i, v in enumerate(states)]
        ahead = loop.step if rest is None else loop.ahead + rest
        texts = [blocks_of(f"now{i}_", ahead // 16) if i in lanes else None for i in self.all]
        call = Part(self.kernel, self.shape, before, length, texts, 0 if first else AT)
        call.values, call.length, call.before, call.texts = {done: AT}, length, before, texts
        call.places = self.places(call, position, left, length)
        call.put({cell: self.place(call, *v) if isinstance(v, tuple) else v for cell, v in cells.items()})
        return call

    def places(self, call, position, left, length):
        """The places at a position in the texts."""
        texts = {f"{slot} {i}": terms.add(position.width, call.callers(slot, lane[slot].address), position)[0]
                 for i, lane in enumerate(call.lanes) for slot in ("in", "out")}
        return {**texts, "position": position, "left": left, "length": length}

    def place(self, call, name, word=None, after=False):
        """The value of a place, or a word of it. after: after the pass."""
        v = call.places[name]
        if after and name != "length":
            v = terms.add(v.width, v, const((-self.step if name == "left" else self.step) % (1 << v.width), v.width))[0]
        return v if word is None else cut(v, 32 * word, 32)

    def invariant(self, begin, lanes, place):
        """Finds the cells that are kept in a loop, by as many steps as necessary. Returns cell -> value, or the name of
        a place and a word of it. Where several have one value, the first pass shows which it is."""
        call, then = begin(self.states), begin(self.following).cells()
        begun, names = call.cells(), {}
        ahead = const(-self.loop.ahead % (1 << call.length.width), call.length.width)
        left = terms.add(ahead.width, call.length, ahead)[0]
        for name, v in self.places(call, const(0, ahead.width), left, call.length).items():
            for word in (None, *range(v.width // 32)):
                names.setdefault(v if word is None else cut(v, 32 * word, 32), []).append((name, word))
        cells = {c: names.get(v, [v])[0] for c, v in begun.items() if v in names or v.defined and then[c].defined}
        first = again = True
        while again:
            call = self.run(self.enter(lanes, cells, self.states, first=first), place, place)
            found, before, cells = call.cells(), cells, {}
            for c, v in before.items():
                for kind in (begun[c], *names.get(begun[c], ())) if first else (v,):
                    now = self.place(call, *kind, after=True) if isinstance(kind, tuple) else then[c]
                    if c not in cells and alike(found[c], now):
                        cells[c] = kind
            again, first = first or len(cells) < len(before), False
        self.expect(call, lanes)
        if not {"left", "length"} & {v[0] for v in cells.values() if isinstance(v, tuple)}:
            raise Unproved("no cell counts the remaining length")
        return cells

    def expect(self, call, lanes, at_end=False):
        """Requires the specification's output, and its states or unchanged ones. A loop of lanes may change theirs."""
        for i, (out, after) in enumerate(self.results(call.texts)):
            if i in lanes:
                call.expect(f"text {i}", call.lanes[i]["out"].address + AT, out)
            if self.states[i] and (at_end or not self.shape.lanes or i not in lanes):
                written = at_end and self.state_last and i in lanes
                call.expect(f"state {i}", state_at(call.lanes[i]), after if written else call.before[i])

    def leave(self, lanes, cells, place, stop, states, rest=0):
        """Proves the run from a loop to the next one, or to the end, with `rest` bytes, or more by those of `ahead`."""
        call = self.run(self.enter(lanes, cells, states, rest), place, stop)
        self.expect(call, lanes, True)
        return call

    def prove(self):
        """Proves base and step of each loop. Returns a function that proves the exit of the last one."""
        begin = self.begin
        for (lanes, place), (_, stop) in zip(self.groups, [*self.groups[1:], (None, None)]):
            cells = self.invariant(begin, lanes, place)
            begin = functools.partial(self.leave, lanes, cells, place, stop)
        return begin

    def end(self, rest):
        """Proves an exit. Returns the number of instructions."""
        call = self.leave_last(self.states, rest)
        call.left_behind()
        call.wiped(self.written | memory_cells(call))
        return call.machine.steps


def anew(kernel):
    proof.mode(by_image=True)
    terms.forget()


def least(kernel):
    loop = loop_of(kernel)
    return loop and loop.least


def tasks(kernel, args):
    """Returns the calls by shape; CBC encryption is one task."""
    lanes = shapes(kernel, (CBC_ENCRYPT,), range(1, LANES + 1))
    return [(str(s), [s]) for s in shapes(kernel, MODES)[::7 if args.quick else 1]] + \
        [("cbc encrypt", lanes[7::31] if args.quick else lanes)]


def one(kernel, task, args, found):
    for shape in task[1]:
        anew(kernel)
        shown = Induction(kernel, shape)
        found.add(2, shown.steps)
        rests = shown.loop.rests
        for rest in (rests[0], rests[len(rests) // 2], rests[-1]) if args.quick and len(rests) > 1 else rests:
            if len(terms.ATOMS) > terms.MANY:
                anew(kernel)
                shown = Induction(kernel, shape)
            found.end(f"{shape}, {rest} bytes left", shown.end, rest)


# ---- What must be refused -------------------------------------------------------------------------------------------

# Instructions that planted faults omit, by kernel. Each is the first one after the start of the loop that matches this
# regular expression, without v. A number at the end is one of lanes.
FAULTS = [
    (CBC_ENCRYPT, "the texts do not move", {
        x86: "add rdx", "ce32": "add r2, r2, #0x10", "ce": "add x7, x7, #0x10", (arm64, "neon"): "add x7, x7, #0x10",
        (arm32, "neon"): "add r5, r5, #0x10", "armv6": "add ip, ip, #0x10"}),
    (CBC_ENCRYPT, "a lane is not chained", {
        x86: "pxor xmm10", "ce32": "eor q1, q1", (arm64, "neon"): r"stp q0, q1, \[x1",
        (arm32, "neon"): r"st1\.8 \{d16, d17, d18, d19\}, \[r7\]!", "armv6": "stm r0, "}),
    (CBC_ENCRYPT, "a round is left out", {x86: "aesenc xmm9", "ce32": r"aese\.8 q1"}),
    (CBC_ENCRYPT, "the next lanes are not found", {"ce32": "add r3, r3", "armv6": r"str r3, \[r1"}, 7),
    (ECB_ENCRYPT, "the text does not move", {
        x86: "add .*r8", "ce32": r"ld1\.8 .*\[r3\]!", "ce": r"ldp .*\], #", (arm64, "neon"): "add x3, x3, x27",
        (arm32, "neon"): "add r3, r3, r8", "armv6": "add r3, r3, #0x10"}),
    (ECB_ENCRYPT, "the output does not move", {x86: "add .*r9", "ce32": r"st1\.8 .*\[r4\]!", "ce": r"stp .*\], #"}),
    (ECB_DECRYPT, "the output does not move", {
        (arm64, "neon"): "add x4, x4, x27", (arm32, "neon"): r"st1\.8 .*\[r4\]!", "armv6": "add r4, r4, #0x10"}),
    (ECB_ENCRYPT, "the remaining length does not change", {
        x86: "sub .*r10", "ce32": "subs r5, r5, #0x80", "ce": "subs .*#0x80", (arm64, "neon"): "subs x5, x5, x27",
        (arm32, "neon"): "subs r7, r7, r8", "armv6": "subs r5, r5, r2"}),
    (CTR, "a counter does not move", {
        x86: "paddd ", "ce32": "add r2, r2, #1", "ce": "add .*#8", "armv6": "add fp, fp, #2"}),
    (CTR_LITTLE, "a counter does not move", {(arm64, "neon"): "add w9, w9, #1"}),
    (CTR, "a round is left out", {x86: "aesenc ", "ce32": r"aese\.8 ", "ce": "aese "}),
    (CBC_DECRYPT, "a round of decryption is left out", {x86: "aesdec ", "ce32": r"aesd\.8 ", "ce": "aesd "}),
    (CBC_DECRYPT, "what is chained is left out", {
        (arm64, "neon"): r"str q24, \[x1", (arm32, "neon"): r"st1\.8 \{d8, d9\}, \[r7\]", "armv6": r"str r0, \[ip"}),
    (XTS_ENCRYPT, "a tweak is not the next", {
        x86: "pclmulqdq ", "ce32": "eor r2, r2", "ce": "extr ", (arm64, "neon"): "extr ",
        (arm32, "neon"): "bic sb, fp, sb", "armv6": "and r8, r8, #0x87"}),
]


def reading_again(step):
    """An instruction, behind a fault: pointers to text are those of the arguments again."""
    def first(v):
        base = (linear.any_place(v) or [None])[0]
        return next(b for b in base.sum if b.address) + 0 if base and base.sum else v

    def run(m):
        m.general = [first(v) for v in m.general]
        m.memory.cells.update({a: first(v) for a, v in m.memory.cells.items()})
        return step[0](m)
    return run, *step[1:]


def planted(kernel, args, attempt):
    loop, program = loop_of(kernel), kernel.program()
    few = 5 if loop.again else 3  # lanes; 5 are more than are processed by lookups

    def wrong(mode, what, text=None, lanes=few, again=False, **change):
        def show():
            anew(kernel)
            if again:
                program.steps[begin] = reading_again(program.steps.get(begin) or program.meaning(kernel.code, begin))
            shown = Induction(kernel, shape, **change)
            for rest in shown.loop.rests[::loop.step // 16 - 1]:
                shown.end(rest)
        shape = ModeShape(mode, None, *((128, False, lanes) if mode == CBC_ENCRYPT else (256,)))
        begin = groups(kernel, shape)[0][1]
        name = lambda i: f"{i.mnemonic} {i.op_str}".removeprefix("v")
        insn = next(i for i in instructions(kernel, begin) if re.match(text, name(i))) if text else None
        attempt(f"{modes.NAMES[mode]}: {what}", show, insn)

    blocks = loop.step // 16
    if not kernel.branches_on_counter:
        wrong(CTR, "the counter is one more after a pass", blocks=blocks + 1)
    wrong(XTS_ENCRYPT, "the tweak is of one block less", blocks=blocks - 1)
    wrong(ECB_ENCRYPT, "a pass has a block more", step=loop.step + 16)
    wrong(ECB_ENCRYPT, "pointers to text are read again", again=True)
    wrong(CBC_ENCRYPT, "a pass has two blocks", step=32)
    for mode, what, texts, *lanes in FAULTS:
        text = texts.get(kernel.isa) or texts.get(level(kernel)) or texts.get((kernel.isa, level(kernel)))
        if text:
            wrong(mode, what, text, *lanes)
