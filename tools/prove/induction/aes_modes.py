"""AES in ECB, CTR, CBC (decryption) and XTS, for every length: the loop of a kernel over long texts, by induction.

    induction.aes_modes [--quick] [--planted] [--jobs N] OBJECT...

The invariant is computed. A cell is a register, a word of a vector, or four bytes of scratch or stack. S is the
state of the mode: the counter block, the previous block or the tweak; ECB has none. f(S) is the value in a cell when
the run from the first instruction reaches the loop with state S. The invariant is that there is an S such that each
cell has f(S), except pointers and length. The output so far is the specification's, whose state is S. With any 128
bits as S, these are proved:

    base   defines f
    step   A pass from f(S) leads to f(S') in each cell, where S' is the state of the specification after the blocks of
           a pass. f(S') is computed by another run from the first instruction, with S' as the state. A cell with
           another value counts as never written, and the step is tried again, until nothing changes.
    exit   a pass, and the rest of less than a pass, to the return: output, state, wiping

As in gcm.py, pointers to text and lengths are symbols with bounds.
"""
import re

import spec
from induction import gcm
from induction.engine import instructions
from isa import arm32, arm64, x86
from run import kernels, modes, proof
from run.kernels import KEY, SCRATCH, STATE, Call
from run.modes import blocks_of
from spec import modes as aes
from spec.args import A, CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, XTS_DECRYPT, XTS_ENCRYPT
from values import linear, terms
from values.terms import Unproved, add_modular, cat, const, cut, same

LONGEST = 1 << 60  # bytes of text; 2^30 on 32-bit ARM
END = 0x1000000  # distance from the start to the end of a text in a run: greater than the reach of a loop


class Loop:
    """step: the bytes of a pass. ahead: they are subtracted from the length before the loop starts again, so there a pass
    always follows. Otherwise they are subtracted where it starts, and there may be none. ends: the kernel is
    bit-sliced. Its loop also processes the remaining bytes in its last pass, and does not start again without any. least: shorter
    texts are proved by calls only."""

    def __init__(self, step, ahead=False, ends=False, least=16):
        self.step, self.ahead, self.least = step, step if ahead else 0, step if ahead else least
        self.ends, self.again = ends, 16 if ends else 0  # the least rest after a pass for which another one follows
        self.rests = range(self.again, step + self.again, 16)


LOOPS = {
    (x86, "aesni"): Loop(128, ahead=True),
    (x86, "avx2"): Loop(256, ahead=True),
    (x86, "avx512"): Loop(512, ahead=True),
    (arm64, "ce"): Loop(128),
    (arm64, "neon"): Loop(128, ends=True, least=80),
    (arm32, "ce32"): Loop(128),
    (arm32, "neon"): Loop(128, ends=True),
    (arm32, "armv6"): Loop(32, ends=True),
}


def loop_of(kernel):
    return LOOPS.get((kernel.isa, kernel.name.removeprefix("sealane_aes_")))


class Shape:
    def __init__(self, mode, bits, in_place):
        self.mode, self.bits, self.in_place = mode, bits, in_place
        self.chained = mode not in (ECB_ENCRYPT, ECB_DECRYPT)

    def __str__(self):
        return f"AES-{self.bits}, {modes.NAMES[self.mode]}" + (", in place" if self.in_place else "")


ALL_SHAPES = [Shape(m, bits, in_place) for m in (CTR, CTR_LITTLE, XTS_ENCRYPT, CBC_DECRYPT, ECB_ENCRYPT, ECB_DECRYPT, XTS_DECRYPT)
              for bits in (128, 192, 256) for in_place in (False, True)]


def shapes(kernel):
    """The shapes of a kernel. One that branches on the counter has only calls of CTR."""
    return [s for s in ALL_SHAPES if s.mode != CTR or not kernel.branches_on_counter]


def jumps_back(kernel, *mnemonics):
    """Returns the jumps with these mnemonics to an earlier instruction, each with four instructions from there on."""
    insns = instructions(kernel)
    at = {i.address: n for n, i in enumerate(insns)}
    return [(i, insns[at[to]:at[to] + 4]) for i in insns if i.mnemonic in mnemonics and (to := int(i.op_str.lstrip("#"), 0)) < i.address]


def head(kernel, shape):
    """Returns the start of the loop. The code is used only to find it; the proof shows that a run reaches it."""
    if kernel.head is None:
        order = (XTS_ENCRYPT, XTS_DECRYPT, ECB_ENCRYPT, ECB_DECRYPT, CTR, CTR_LITTLE, CBC_DECRYPT)
        if loop_of(kernel).ends:  # the target of "not equal", which is the comparison of a pass's bytes with the remaining length
            step = f"#{loop_of(kernel).step:#x}"
            place, = {to[0].address for _, to in jumps_back(kernel, "bne", "b.ne") if any(j.op_str.endswith(step) for j in to)}
            kernel.head = dict.fromkeys(order, place)
        elif kernel.isa is x86:  # the target of the longest jump with the condition "not below"
            kernel.head = dict.fromkeys(order, max((i.address - to[0].address, to[0].address) for i, to in jumps_back(kernel, "jae"))[1])
        else:  # the targets of jumps that are always taken, to the count of a pass
            kernel.head = dict(zip(order, sorted(to[0].address for _, to in jumps_back(kernel, "b") if to[0].mnemonic == "subs"), strict=True))
    return kernel.head[shape.mode]


class Part(gcm.Part):
    """A run of a part of a call. at_end: the last block of a text, which is read before the loop."""

    def __init__(self, kernel, shape, ahead, memory_state, at_end=None):
        Call.__init__(self, kernel)
        self.width = kernel.isa.POINTER
        pointer = lambda name, address: linear.Base(name, 1 << 20, 1 << self.width - 2, address=address, width=self.width)
        self.source = pointer("in", kernels.IN + 1)
        self.target = self.source if shape.in_place else pointer("out", kernels.OUT + 3)
        self.length = None
        regions = [("key", KEY, A["AES_KEY_BYTES"], True, False), ("in", self.source.address, ahead, True, shape.in_place)]
        if not shape.in_place:
            regions.append(("out", self.target.address, ahead, False, True))
        if shape.chained:
            regions.append(("state", STATE, 16, True, True))
        if at_end:
            regions.append(("end of in", self.source.address + END - 16, 16, True, False))
        self.regions(*regions)
        self.arguments("MODE", key=KEY, state=STATE if shape.chained else None, operation=shape.mode)
        self.set(**{"in": self.source + 0}, out=self.target + 0)
        self.memory.cells.update(modes.key_cells(kernel, shape.bits, "key")[0])
        if shape.chained:
            self.memory.poke(STATE, memory_state)
        if at_end:
            self.memory.poke(self.source.address + END - 16, at_end)

    def known(self, v, what):
        found = linear.place(v)
        if what == "an address" and found and found[0] is self.length:
            return END + found[1]
        if what == "an address" and found and found[0].sum and self.length in found[0].sum:
            return self.source.address + END + found[1]
        return super().known(v, what)


def alike(a, b):
    """Compares two values bit by bit."""
    return a is b or a.defined and b.defined and all(same(cut(a, i, 8), cut(b, i, 8)) for i in range(0, a.width, 8))


def state_last(kernel, shape):
    """Whether a kernel writes the state after its loop, instead of before it."""
    return shape.mode in (XTS_ENCRYPT, XTS_DECRYPT) or shape.mode == CTR_LITTLE and loop_of(kernel).ends and kernel.isa is arm32


def begin(kernel, shape, state):
    """Runs from the first instruction to the loop. In some modes the state is written by then."""
    last = blocks_of("last", 1)
    call = Part(kernel, shape, 0, state, last)
    call.length = length(kernel, "bytes", loop_of(kernel).least)
    call.set(bytes=call.length + 0)
    kernel.program().run(call.machine, None, 0, head(kernel, shape))
    if shape.mode in (CTR, CTR_LITTLE) and not state_last(kernel, shape):
        first = spec.reverse(cut(state, 96, 32)) if shape.mode == CTR else cut(state, 0, 32)
        if kernel.isa is not arm64:
            count = add_modular(first, cut(linear.shift(call.length + 0, 4, True), 0, 32))
        else:  # a 64-bit sum, of which 32 bits are kept: the same number
            count = cut(terms.add(64, terms.extend(first, 64), terms.shift_right(call.length + 0, 4))[0], 0, 32)
        call.expect("the state", STATE, cat(cut(state, 0, 96), spec.reverse(count)) if shape.mode == CTR else cat(count, cut(state, 32, 96)))
    elif shape.mode == CBC_DECRYPT:
        call.expect("the state", STATE, last)
    return call


def length(kernel, name, least):
    return linear.Base(name, least, LONGEST if kernel.isa.POINTER == 64 else (1 << 30) - 64, width=kernel.isa.POINTER)


class State(dict):
    """Cell -> value, or the name of an address or length. written: addresses in scratch."""


def start(kernel, shape, state, ahead, left):
    """Starts a run at the loop. Also returns its text, and the specification's result and state."""
    call = Part(kernel, shape, ahead, state_in_memory(kernel, shape))
    places = {"in": call.source + 0, "out": call.target + 0, "left": left}
    call.put({cell: places[v] if isinstance(v, str) else v for cell, v in state.items()})
    text, schedule = blocks_of("now", ahead // 16), modes.schedule_of(shape.bits, "key")
    if text:
        call.memory.poke(call.source.address, text)
    call.set(bytes=length(kernel, "total", ahead) + 0)
    return call, *aes.result_of(shape.mode, schedule, text, any_state(shape))


def state_in_memory(kernel, shape):
    """The state in memory. The loop does not keep it, except the part of a counter block beside the counter."""
    state = blocks_of("state in memory", 1)
    if state_last(kernel, shape):
        return state
    if shape.mode == CTR:
        return cat(cut(any_state(shape), 0, 96), cut(state, 96, 32))
    return cat(cut(state, 0, 32), cut(any_state(shape), 32, 96)) if shape.mode == CTR_LITTLE else state


def any_state(shape):
    return blocks_of("any state", 1) if shape.chained else None


def induction(kernel, shape, blocks=None, step=None):
    """Finds the kept cells, by as many steps as necessary. Also returns the number of instructions. blocks and step
    differ from the kernel's for planted faults."""
    n = loop_of(kernel).step
    now = blocks_of("now", blocks or n // 16)
    following = aes.result_of(shape.mode, modes.schedule_of(shape.bits, "key"), now, any_state(shape))[1]
    called, then = begin(kernel, shape, any_state(shape)), begin(kernel, shape, following)
    cells, after_pass = called.cells(), then.cells()
    state, instructions = State(), called.machine.steps
    for cell, v in cells.items():
        found = linear.place(v)
        if found:
            kinds = {(called.source, 0): "in", (called.target, 0): "out", (called.length, -loop_of(kernel).ahead): "left"}
            if found in kinds:
                state[cell] = kinds[found]
        elif v.defined and after_pass[cell].defined:
            state[cell] = v
    state.written = {cell[1] for cell in cells if cell[0] == "memory"}
    left = length(kernel, "left", n + loop_of(kernel).again)
    while True:
        call, result, _ = start(kernel, shape, state, step or n, left + 0)
        kernel.program().run(call.machine, None, head(kernel, shape), head(kernel, shape))
        instructions += call.machine.steps
        after, changed = call.cells(), False
        moved = {"in": (call.source, step or n), "out": (call.target, step or n), "left": (left, -(step or n))}
        for cell, v in list(state.items()):
            if not (linear.place(after[cell]) == moved[v] if isinstance(v, str) else alike(after[cell], after_pass[cell])):
                del state[cell]
                changed = True
        state.written |= {cell[1] for cell in after if cell[0] == "memory"}
        if not changed:
            break
    call.expect("the text", call.target.address, result)
    if shape.chained:
        call.expect("the state, in the loop,", STATE, state_in_memory(kernel, shape))
    if "left" not in state.values():
        raise Unproved("no cell counts the remaining length")
    return state, instructions


def leave(kernel, shape, state, rest):
    """Proves the run to the end, with `rest` bytes, and a pass before them if the loop expects one."""
    call, result, after = start(kernel, shape, state, loop_of(kernel).ahead + rest, const(rest, kernel.isa.POINTER))
    kernel.program().run(call.machine, None, head(kernel, shape), None)
    call.left_behind()
    call.wiped(state.written)
    call.expect("the text", call.target.address, result)
    if shape.chained:  # the state when the loop started, or the present one
        call.expect("the state", STATE, after if state_last(kernel, shape) else state_in_memory(kernel, shape))
    return call.machine.steps


# ---- CBC encryption -----------------------------------------------------------------------------------------------------
#
# A call has one text, or as many texts of one length as front ends pass. The state is the chaining block of each lane.
# On 32-bit ARM, more than six lanes are processed in two groups: the second starts with the results of the first.

CBC_LANES = 8  # TOGETHER of src/aes_api.c; aes/modes.go has the same
FEW = {arm64: (4, 2), arm32: (3, 1)}  # lanes that aes_neon processes by lookups, and how many at a time
AT = 0x1000  # the position in the texts in a run
LANES, LANE, LANE_STEP = 0x100000, 0x10000000, 0x100000


def cbc_loops(kernel):
    """Returns [(start of a loop, cell with the position in the texts)]. After the last store of a pass, 16 is added to the
    position. 32-bit ARM may store it to scratch. If it is less than the length, the loop continues."""
    insns, found = instructions(kernel), []
    for i, insn in enumerate(insns[:-3]):
        if m := re.fullmatch(r"add (?:(rdx), |([rx]\d+|ip), \2, #)0x10", f"{insn.mnemonic} {insn.op_str}"):
            stored, register = insns[i + 1].mnemonic == "str", m[1] or m[2]
            compare, jump = insns[i + 1 + stored:i + 3 + stored]
            if compare.mnemonic == "cmp" and compare.op_str.startswith(f"{register},") and jump.mnemonic in ("jb", "b.lo", "blo"):
                slot = stored and re.fullmatch(rf"{register}, \[r1, #(0x[0-9a-f]+)\]", insns[i + 1].op_str)
                cell = ("memory", SCRATCH + int(slot[1], 0)) if stored else ("general", 2 if register == "rdx" else int(register[1:]))
                found.append((int(jump.op_str.lstrip("#"), 0), cell))
    return found


def cbc_groups(kernel, count):
    """Returns [(lanes, start of their loop, cell with the position in the texts)]. On x86-64, the first loop has
    many lanes and the second has one. On ARM there is a loop for each number, from 8 or 6 down. Bit-sliced kernels
    have one loop or two, of which the first has few lanes, by lookups."""
    loops, groups = cbc_loops(kernel), []
    if kernel.isa is x86:
        return [(range(count), *loops[count == 1])]
    most = 2 if kernel.name.endswith("armv6") else 6 if kernel.name.endswith("ce32") else CBC_LANES
    while (i := groups[-1][0].stop if groups else 0) < count:
        n = min(most, count - i)
        loop = -1 if loop_of(kernel).ends else most - n
        if loop_of(kernel).ends and len(loops) == 2 and count - i <= FEW[kernel.isa][0]:
            n, loop = min(FEW[kernel.isa][1], n), 0
        groups.append((range(i, i + n), *loops[loop]))
    return groups


class CbcPart(Call):
    def __init__(self, kernel, bits, count, in_place, before, at):
        """before: the chaining block of each lane at the start of the call. at: the position of the block of a pass."""
        super().__init__(kernel)
        self.lanes, regions = [], [("lanes", LANES, A["LANE_STRIDE"] * count, True, False)]
        self.schedules = [modes.schedule_of(bits, f"key{i}_") for i in range(count)]
        for i in range(count):
            base = LANE + i * LANE_STEP
            lane = {"key": base, "chain": base + 0x10001, "in": base + 0x20003}
            lane["out"] = lane["in"] if in_place else base + 0x80005
            self.lanes.append(lane)
            regions += [(f"key {i}", base, A["AES_KEY_BYTES"], True, False), (f"state {i}", lane["chain"], 16, True, True)]
            if at is not None:
                regions.append((f"in {i}", lane["in"] + at, 16, True, in_place))
                if not in_place:
                    regions.append((f"out {i}", lane["out"] + at, 16, False, True))
        self.regions(*regions)
        for i, lane in enumerate(self.lanes):
            for slot, v in lane.items():
                self.memory.poke(LANES + i * A["LANE_STRIDE"] + A["MODE_LANE_" + slot.upper()], const(v, 64))
            self.memory.cells.update({a - KEY + lane["key"]: v for a, v in modes.key_cells(kernel, bits, f"key{i}_")[0].items()})
            self.memory.poke(lane["chain"], before[i])
            if at is not None:
                self.memory.poke(lane["in"] + at, blocks_of(f"now{i}_", 1))
        total = self.base("total", 32, modulus=16)
        self.total = total, 0  # the position at which a group of lanes starts
        self.arguments("MODE", count=count, operation=CBC_ENCRYPT)
        self.memory.poke(kernels.ARGS + A["MODE_LANES"], terms.extend(self.callers("lanes", LANES), 64))
        self.memory.poke(kernels.ARGS + A["MODE_BYTES_EACH"], terms.extend(total + 0, 64))

    def get(self, *cells):
        return cat(*(self.machine.general[n] if kind == "general" else self.memory.cells[n] for kind, n in cells))

    def base(self, name, least, times=1, **more):
        width = self.kernel.isa.POINTER
        return linear.Base(name, least, times * min(LONGEST, 1 << width - 4), width=width, **more)

    def texts(self):
        return [lane[slot] for lane in self.lanes for slot in ("in", "out")]

    def known(self, v, what):
        found = linear.any_place(v)
        if what == "an address" and found and found[0].address is not None and \
                any(abs(found[1] - near) < kernels.FAR for near in (0, *self.texts())):
            return found[0].address + found[1]
        return type(self.machine).known(self.machine, v, what)

    def length_cells(self):
        """The cells that have the length of the texts: in scratch, or a register."""
        size = self.kernel.isa.POINTER // 8
        found = [[("memory", a + i) for i in range(0, size, 4)] for a in sorted(self.memory.cells)
                 if SCRATCH <= a < SCRATCH + self.scratch_bytes and linear.place(self.memory.peek(a, size)) == self.total]
        if len(found) != 1:
            found = [[("general", i)] for i, v in enumerate(self.machine.general) if linear.place(v) == self.total]
        if len(found) != 1:
            raise Unproved("the length is not known")
        return found[0]


class Cbc:
    """CBC encryption of some lanes. by: differs from 16 for a planted fault."""

    def __init__(self, kernel, bits, count, in_place=False, by=16):
        self.kernel, self.in_place, self.by, self.steps, self.written = kernel, in_place, by, 0, set()
        self.make = lambda before, at: CbcPart(kernel, bits, count, in_place, before, at)
        self.groups = cbc_groups(kernel, count)
        self.before = [blocks_of(f"any state {i} ", 1) for i in range(count)]
        schedules = [modes.schedule_of(bits, f"key{i}_") for i in range(count)]
        now = [blocks_of(f"now{i}_", 1) for i in range(count)]
        self.after = [aes.result_of(CBC_ENCRYPT, s, t, v)[1] for s, t, v in zip(schedules, now, self.before)]

    def run(self, call, start, stop):
        self.kernel.program().run(call.machine, None, start, stop)
        self.steps += call.machine.steps
        self.written |= {c[1] for c in call.cells() if c[0] == "memory"}
        return call

    def prove(self):
        """Proves base, step and exit of each group of lanes. Returns the number of instructions."""
        begin = lambda chained: self.run(self.make(chained, None), 0, self.groups[0][1])
        for number, (lanes, place, cell) in enumerate(self.groups):
            last = number == len(self.groups) - 1
            enter = self.group(begin, lanes, place, cell)

            def begin(chained, enter=enter, place=place, stop=None if last else self.groups[number + 1][1]):
                call, text = enter(chained, True)
                self.run(call, place, stop)
                call.total = text, 16
                return call
            call = begin(self.before)
            self.expect(call, lanes)
            for i in lanes:
                call.expect(f"the state of lane {i}", call.lanes[i]["chain"], self.after[i])
        call.left_behind()
        call.wiped(self.written)
        return self.steps

    def expect(self, call, lanes):
        for i in lanes:
            call.expect(f"the output of lane {i}", call.lanes[i]["out"] + AT, self.after[i])

    def group(self, begin, lanes, place, cell):
        """Finds the kept cells in the loop of these lanes, by as many steps as necessary. Returns a function that
        starts a run there."""
        called, then = begin(self.before), begin(self.after)
        for call in (called, then):
            if call.get(cell).constant != 0:
                raise Unproved("the first pass is not at the texts' begin")
        cells, following, length_at = called.cells(), then.cells(), called.length_cells()
        state = {c: v for c, v in cells.items() if c not in (cell, *length_at) and v.defined and following[c].defined}

        def enter(chained, ends):
            states = [blocks_of(f"state in memory {i} ", 1) if i in lanes else v for i, v in enumerate(chained)]
            call = self.make(states, AT)
            text = call.base("text", 0, address=AT, modulus=16)
            end, left = call.base("end", 16, 2), call.base("left", 32, modulus=16)
            linear.relate(end, text, left)
            length = text + 16 if ends else end + 0
            call.put({**state, cell: text + 0, **dict(zip(length_at, terms.parts_of(length, length.width // len(length_at))))})
            call.end = end
            return call, text
        gone = True
        while gone:
            call, text = enter(self.before, False)
            found = self.run(call, place, place).cells()
            gone = [c for c in state if not alike(found[c], following[c])]
            for c in gone:
                del state[c]
        places = linear.place(call.get(cell)), linear.place(call.get(*length_at))
        if places != ((text, self.by), (call.end, 0)):
            raise Unproved("the texts do not move by a block")
        self.expect(call, lanes)
        return enter


def cbc(kernel, bits, count, in_place=False, by=16):
    return Cbc(kernel, bits, count, in_place, by).prove()


CBC_CALLS = [(bits, count, in_place) for count in range(1, CBC_LANES + 1) for bits in (128, 192, 256) for in_place in (False, True)]


def anew(kernel):
    proof.mode(by_image=True)
    terms.forget()


def least(kernel):
    loop = loop_of(kernel)
    return loop and loop.least


def tasks(kernel, args):
    """Returns the calls by shape; CBC encryption is one task."""
    return [(str(s), s) for s in shapes(kernel)[::7 if args.quick else 1]] + [("cbc encrypt", CBC_CALLS[7::31] if args.quick else CBC_CALLS)]


def one(kernel, task, args, found):
    anew(kernel)
    if isinstance(task[1], list):
        for bits_, count, in_place in task[1]:
            anew(kernel)
            before = found.cases
            found.end(f"AES-{bits_}, {count} lanes{', in place' if in_place else ''}", cbc, kernel, bits_, count, in_place)
            found.cases += 2 * (found.cases - before)  # base and step, too
        return
    shape, rests = task[1], loop_of(kernel).rests
    state, steps = induction(kernel, shape)
    found.add(2, steps)
    for rest in (rests[0], rests[len(rests) // 2], rests[-1]) if args.quick else rests:
        if len(terms.ATOMS) > terms.MANY:
            anew(kernel)
            state, _ = induction(kernel, shape)
        found.end(f"{rest} bytes left", leave, kernel, shape, state, rest)


# Instructions that planted faults omit, by instruction set, and for bit-sliced AES by name. Each row has the mode, the name of the
# fault, a regular expression for the instruction without v, and a number of lanes. It is the first one after the start of the loop.
LEFT_OUT = {
    x86: [
        (CBC_ENCRYPT, "the texts do not move", "add rdx"), (CBC_ENCRYPT, "a lane is not chained", "pxor xmm10"),
        (CBC_ENCRYPT, "a round is left out", "aesenc xmm9"),
        (ECB_ENCRYPT, "the text does not move", "add .*r8"), (ECB_ENCRYPT, "the output does not move", "add .*r9"),
        (ECB_ENCRYPT, "the remaining length does not change", "sub .*r10"), (CTR, "a counter does not move", "paddd "),
        (CTR, "a round is left out", "aesenc "), (CBC_DECRYPT, "a round of decryption is left out", "aesdec "), (XTS_ENCRYPT, "a tweak is not multiplied", "pclmulqdq ")],
    arm32: [
        (CBC_ENCRYPT, "the texts do not move", "add r2, r2, #0x10"), (CBC_ENCRYPT, "a lane is not chained", "eor q1, q1"),
        (CBC_ENCRYPT, "a round is left out", r"aese\.8 q1"), (CBC_ENCRYPT, "the next lanes are not found", "add r3, r3", 7),
        (ECB_ENCRYPT, "a load, and the text does not move", r"ld1\.8 .*\[r3\]!"),
        (ECB_ENCRYPT, "a store, and the output does not move", r"st1\.8 .*\[r4\]!"),
        (ECB_ENCRYPT, "the remaining length does not change", "subs r5, r5, #0x80"), (CTR, "a counter does not move", "add r2, r2, #1"),
        (CTR, "a round is left out", r"aese\.8 "), (CBC_DECRYPT, "a round of decryption is left out", r"aesd\.8 "),
        (XTS_ENCRYPT, "a tweak is not reduced", "eor r2, r2")],
    arm64: [
        (CBC_ENCRYPT, "the texts do not move", "add x7, x7, #0x10"), (ECB_ENCRYPT, "a load, and the text does not move", r"ldp .*\], #"),
        (ECB_ENCRYPT, "a store, and the output does not move", r"stp .*\], #"), (ECB_ENCRYPT, "the remaining length does not change", "subs .*#0x80"),
        (CTR, "a counter does not move", "add .*#8"), (CTR, "a round is left out", "aese "),
        (CBC_DECRYPT, "a round of decryption is left out", "aesd "), (XTS_ENCRYPT, "a tweak is not shifted", "extr ")],
    (arm64, "neon"): [
        (CBC_ENCRYPT, "the texts do not move", "add x7, x7, #0x10"), (CBC_ENCRYPT, "a lane is not chained", r"stp q0, q1, \[x1"),
        (ECB_ENCRYPT, "the text does not move", "add x3, x3, x27"), (ECB_DECRYPT, "the output does not move", "add x4, x4, x27"),
        (ECB_ENCRYPT, "the remaining length does not change", "subs x5, x5, x27"), (CTR_LITTLE, "a counter does not move", "add w9, w9, #1"),
        (XTS_ENCRYPT, "a tweak is not shifted", "extr "), (CBC_DECRYPT, "what is chained is left out", r"str q24, \[x1")],
    (arm32, "neon"): [
        (CBC_ENCRYPT, "the texts do not move", "add r5, r5, #0x10"),
        (CBC_ENCRYPT, "a lane is not chained", r"st1\.8 \{d16, d17, d18, d19\}, \[r7\]!"),
        (ECB_ENCRYPT, "the text does not move", "add r3, r3, r8"), (ECB_DECRYPT, "a store, and the output does not move", r"st1\.8 .*\[r4\]!"),
        (ECB_ENCRYPT, "the remaining length does not change", "subs r7, r7, r8"), (XTS_ENCRYPT, "a tweak is not reduced", "bic sb, fp, sb"),
        (CBC_DECRYPT, "what is chained is left out", r"st1\.8 \{d8, d9\}, \[r7\]")],
    (arm32, "armv6"): [
        (CBC_ENCRYPT, "the texts do not move", "add ip, ip, #0x10"), (CBC_ENCRYPT, "a lane is not chained", "stm r0, "),
        (CBC_ENCRYPT, "the next lanes are not found", r"str r3, \[r1"), (ECB_ENCRYPT, "the text does not move", "add r3, r3, #0x10"),
        (ECB_DECRYPT, "the output does not move", "add r4, r4, #0x10"), (ECB_ENCRYPT, "the remaining length does not change", "subs r5, r5, r2"),
        (CTR, "a counter does not move", "add fp, fp, #2"), (XTS_ENCRYPT, "a tweak is not reduced", "and r8, r8, #0x87"),
        (CBC_DECRYPT, "what is chained is left out", r"str r0, \[ip")],
}


def planted(kernel, args, attempt):
    n, ends = loop_of(kernel).step, loop_of(kernel).ends

    def wrong(mode, what, text=None, count=5 if ends else 3, **change):  # 5: more than lookups process
        def show():
            anew(kernel)
            if mode == CBC_ENCRYPT:
                cbc(kernel, 128, count, **change)
                return
            shape = Shape(mode, 256, False)
            state, _ = induction(kernel, shape, **change)
            for rest in loop_of(kernel).rests[::n // 16 - 1]:
                leave(kernel, shape, state, rest)
        attempt(f"{modes.NAMES[mode]}: {what}", show, text and omitted(kernel, mode, text, count))

    if any(s.mode == CTR for s in shapes(kernel)):
        wrong(CTR, "the counter is one more after a pass", blocks=n // 16 + 1)
    wrong(XTS_ENCRYPT, "the tweak is of one block less", blocks=n // 16 - 1)
    wrong(ECB_ENCRYPT, "a pass has a block more", step=n + 16)
    wrong(CBC_ENCRYPT, "a pass has two blocks", by=32)
    for fault in LEFT_OUT[(kernel.isa, kernel.name.removeprefix("sealane_aes_")) if ends else kernel.isa]:
        wrong(*fault)


def omitted(kernel, mode, text, count):
    place = cbc_groups(kernel, count)[0][1] if mode == CBC_ENCRYPT else head(kernel, Shape(mode, 128, False))
    return next(i for i in instructions(kernel, place) if re.match(text, f"{i.mnemonic} {i.op_str}".removeprefix("v")))
