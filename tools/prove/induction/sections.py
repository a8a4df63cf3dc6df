"""Kernels in which bits.py takes seconds for a block of AES. Sections of their code are proved once, separately, for
all data, with anything in registers and scratch that a section does not read. In calls, a section is one instruction,
whose meaning is the proved result. Other cells that it changes are unknown after it. Round keys and tables are then
unknown functions of the key, which only sections can use. Encrypted blocks are unknown, too, but equal blocks have
equal results.

A section's state is a dictionary, with which it is proved, and which it requires in calls. Its keys are numbers of
registers, names of numbers in scratch as in the source, and cells as in Call.cells(). Its values are numbers and
pointers.
"""
import functools
import operator
import os
import re
from typing import NamedTuple

import spec
from induction.engine import anew, find
from run import lists, modes, packets, proof, prove
from run.kernels import ARGS, CONSTS, KEY, SCRATCH, Call, Kernel
from run.memory import Memory, Near
from run.packets import Setup
from spec import modes as spec_modes
from spec.args import ROOT, A
from values import linear, terms
from values.terms import (ATOMS, X127, Unproved, atom, cat, const, cut, field_power, field_product, parts_of, same,
    symbol, tainted)

SET_UP, CALLS = "set-up", "calls"  # places of planted faults
OF = "calls of blocks that were shown once"
BITS = (128, 192, 256)
INVERSE_X127 = field_power(X127, (1 << 128) - 2)
# The first two are those of AES-GCM, too.
ROUNDS, SCHEDULE, TABLE = A["AES_KEY_ROUNDS"], A["AES_KEY_SCHEDULE"], A["GCM_KEY_TABLE"]
SOURCES = os.path.join(ROOT, "asm")
# Functions that are replaced in calls.
REPLACED = [(module, name, getattr(module, name)) for module, names in (
    (spec, ("key_schedule", "aes")), (spec_modes, ("inverse_schedule", "decrypt")), (modes, ("key_cells",)),
    (packets, ("gcm_key", "given_key")), (proof, ("prove_one",))) for name in names]


def offsets(*paths, **found):
    """The numbers that source files define. found: those that are known."""
    for path in paths:
        with open(os.path.join(SOURCES, path)) as f:
            text = f.read()
        for name, value in re.findall(r"^#define (\w+) +([\w ()+*-]+?) *(?:/\*|$)", text, re.M):
            value = re.sub(r"[A-Z]\w*", lambda m: str(found.get(m[0], m[0])), value)
            if re.fullmatch(r"[\d ()+*-]+", value):
                found[name] = eval(value)
    return found


def restore():
    for module, name, value in REPLACED:
        setattr(module, name, value)


def words(name, n=4):
    return cat(*(symbol(f"{name}{i}", 32) for i in range(n)))


def words_of(name, count):
    """Blocks of any data."""
    return [words(f"{name} {i} ") for i in range(count)]


def counter_blocks(nonce, counter, n=8):
    """n blocks of counter mode, from a counter on."""
    return [cat(nonce, spec.reverse(terms.add_modular(counter, const(i, 32)))) for i in range(n)]


def rounds_of(bits_):
    return bits_ // 32 + 6


def size_of(bits_):
    """The size of the round keys in bytes."""
    return 16 * (rounds_of(bits_) + 1)


def cipher(kind, key, block):
    """An unknown function of a block. Exclusive ors are decomposed, so that equal blocks are one value."""
    if not block.defined:
        return tainted(128)
    block = cat(*(terms.byte_of_xor(cut(block, i, 8)) for i in range(0, 128, 8)))
    return atom(kind, (key, block), None, 128, (1 << 128) - 1)


def in_direction(inverse, keys, blocks):
    """What the specification says about blocks under round keys."""
    if inverse:
        return [spec_modes.decrypt(spec_modes.inverse_schedule(key), v) for key, v in zip(keys, blocks)]
    return [spec.aes(key, v) for key, v in zip(keys, blocks)]


def in_calls(inverse, keys, blocks):
    """The same under keys. An absent lane has no key."""
    kind = "inverse aes" if inverse else "aes"
    return [cipher(kind, key, v) if key.width > 1 else tainted(128) for key, v in zip(keys, blocks)]


def expect_blocks(found, results):
    for i, (v, result) in enumerate(zip(found, results)):
        if not same(v, result):
            raise Unproved(f"block {i} is not what the specification says")


def prove_one(kernel, shape, folder):
    """Replaces proof.prove_one."""
    proof.mode(False, kernel.ascending, not kernel.gcm)
    return proof.call(kernel, shape, folder)


def replace(kernel):
    """Replaces AES, and the other functions that the kernel's sections compute."""
    spec.key_schedule = spec_modes.inverse_schedule = lambda key: [key] if isinstance(key, terms.Value) else key
    spec.aes = lambda schedule, block: cipher("aes", schedule[0], block)
    spec_modes.decrypt = lambda schedule, block: cipher("inverse aes", schedule[0], block)
    kernel.replace()
    proof.prove_one = prove_one


def call(kernel, shape):
    replace(kernel)
    return proof.prove(kernel, shape, None)


class Sectioned(Kernel):
    """A kernel with sections, which have a start, an end, and the changes that they were proved to make. A section's
    __call__ is its effect in calls.

    file             the source of the kernel. at: the numbers that it defines, and some headers
    show(lengths)    proves the sections for keys of some lengths. Returns the numbers of cases and instructions
    set_up(shape)    whether this is a call that show() proves, too
    replace()        defines further replacements in calls, in the specification and in keys
    made_keys        offset -> the kind of the round keys there
    faults           place -> instructions that planted() omits, as (name of the fault, the instruction's text, and
                     which one after begin_of(place)). A fault of the place CALLS is refused in a call of the shape
                     `called`, others by attempt(place)
    """

    file, made_keys = None, {SCHEDULE: "round key"}

    def __init__(self, path, *headers):
        super().__init__(path)
        self.at = offsets(*headers, self.file, WORD=self.isa.POINTER // 8)
        with open(os.path.join(SOURCES, self.file)) as f:
            self.source = [""] + [line.partition("/*")[0].strip() for line in f]
        self.starts = {}
        for pc, line in sorted(self.lines.items()):
            file, _, number = (line or "").partition(":")
            if file == os.path.basename(self.file):
                self.starts.setdefault(int(number), pc)

    def place(self, text, behind=None):
        """The first instruction of the first such line of the source, whose operands may be left out, or after such a
        label. `behind`: an earlier line."""
        first = self.source.index(behind) if behind else 0
        first = next(n for n, line in enumerate(self.source) if n >= first and f"{line} ".startswith(f"{text} "))
        return self.starts[min(n for n in self.starts if n >= first)]

    def insn(self, text, *names, behind=0):
        """An instruction of ARM, whose text has {} for numbers that the source defines."""
        return find(self, text.format(*(f"#{self.at[n]:#x}" for n in names)), 0, behind).address

    def set_up(self, shape):
        return isinstance(shape, Setup) or getattr(shape, "mode", None) == modes.SETUP

    def key_of_calls(self, kernel, bits_, name="key", trace=None, encrypts=False):
        """Replaces modes.key_cells."""
        memory, key = Memory(getattr(self.isa, "big", False)), words(name, bits_ // 32)
        memory.put_number(KEY + ROUNDS, const(rounds_of(bits_), 64))
        for at, kind in self.made_keys.items():
            if not (encrypts and at > SCHEDULE):
                memory.cells.update(made_at(KEY + at, kind, (key,), size_of(bits_)))
        return memory.cells, 0

    def in_sections(self):
        """Makes the sections single instructions, as calls need it. Returns the kernel."""
        for s in self.sections:
            self.program().steps[s.begin] = s, s.end, None, type(s).__name__
        return self

    @classmethod
    def prepare(cls, kernel, args):
        kernel = cls(kernel.path)
        return *kernel.show(BITS[:1] if args.quick else BITS), kernel.in_sections()

    @classmethod
    def tasks(cls, kernel, args):
        """Groups similar calls."""
        shapes = [s for s in lists.shapes(kernel, args.quick) if not cls.set_up(kernel, s)]
        return [(str(group[0]), group) for group in prove.together(kernel, shapes)]

    @classmethod
    def one(cls, kernel, task, args, found):
        if len(ATOMS) > terms.MANY:
            terms.forget()
        for shape in task[1]:
            found.end(str(shape), call, found.common, shape)

    def attempt(self, place):
        self.show(BITS[:1])

    def begin_of(self, place):
        return 0

    @classmethod
    def planted(cls, kernel, args, attempt):
        kernel = attempt.kernel = cls(kernel.path)
        for place, faults in kernel.faults.items():
            if place == CALLS:
                kernel.show(BITS[:1])
                kernel.in_sections()
            for what, text, *number in faults:
                show = (lambda: call(kernel, kernel.called)) if place == CALLS else lambda: kernel.attempt(place)
                text = text if isinstance(text, str) else text[kernel.isa.POINTER == 64]
                attempt(what, show, find(kernel, text, *number or (0,), kernel.begin_of(place)))


def functions(kernels):
    """The functions of an induction that engine.py calls, for these kernels. The first returns a kernel's class."""
    of = lambda kernel: kernels.get((kernel.isa.MACHINE, kernel.name))
    in_class = lambda name: lambda kernel, *more: getattr(of(kernel), name)(kernel, *more)
    return of, lambda kernel: of(kernel) and 0, *map(in_class, ("prepare", "tasks", "one", "planted"))


# ---- Values in calls -----------------------------------------------------------------------------------------------

_made = terms.memo()


def made(kind, of, size):
    """An unknown function of some values, as cells."""
    if (kind, of, size) not in _made:
        _made[kind, of, size] = [atom(kind, of, at, 32, (1 << 32) - 1) for at in range(0, size, 4)]
    return _made[kind, of, size]


def made_at(address, *function):
    """The same at an address."""
    return {address + 4 * i: v for i, v in enumerate(made(*function))}


def words_in(memory, addresses):
    return [memory.cells.get(a, memory.unset) for a in addresses]


def expect_made(values, kind, size=None):
    """Returns the operands of such a function, whose result the words are. size: computes its number of bytes from the
    operands."""
    first = values[0].pieces[0][0]
    if first < 0 or ATOMS[first].kind != kind:
        raise Unproved(f"no {kind} that set-up or a section has made")
    of = ATOMS[first].operands
    values = values[:size(*of) // 4] if size else values
    if values != made(kind, of, 4 * len(values)):
        raise Unproved(f"another {kind} than that which set-up or a section has made")
    return of


def element(number):
    """A number as an element of the field. Bit i is x^(127-i), or x^i for kernels that reverse the bits of bytes."""
    return number.image if terms.ascending else field_product(X127, number.image)


def number(image):
    """The image of the number that is an element of the field."""
    return image if terms.ascending else field_product(image, INVERSE_X127)


def factor(h, polyval):
    """The element by which blocks are multiplied, from a hash key. polyval: a bit."""
    return (spec.field_element, spec.polyval_key)[polyval.constant](h)


def product(of, *pairs):
    """The number that is the sum of numbers, each times a power of h. of: the operands of the table of h."""
    if not all(v.defined for v, _ in pairs):
        raise Unproved("a product of what nothing has written")
    y = atom("product", (*of, *(v for pair in pairs for v in (pair[0], const(pair[1], 8)))), None, 128, (1 << 128) - 1)
    found = ATOMS[y.pieces[0][0]]
    if found.images is None:
        found.images = {0: number(total(factor(*of), pairs))}
    return y


def total(h, pairs):
    """The element that is the sum of numbers, each times a power of h."""
    return functools.reduce(operator.xor, (field_product(element(v), field_power(h, power)) for v, power in pairs))


def key_of(m, at, behind=0, kind="round key"):
    """The key whose round keys are at an address. behind: how many more bytes must be readable."""
    key, = expect_made(words_in(m.memory, range(at, at + 240, 4)), kind, lambda key: size_of(key.width))
    m.memory.allowed(Near(int(at)), size_of(key.width) + behind, False)
    return key


def expect_rounds(m, key, bits_):
    memory = m.memory
    memory.allowed(Near(int(key)), 8, False)
    if memory.number(key, 8).constant != rounds_of(bits_):
        raise Unproved("another number of rounds")


class Pointer(NamedTuple):
    """A pointer of the caller, and how many bytes are added to it."""

    name: str
    address: int
    more: int = 0


def cell_of(place):
    return ("general", place) if isinstance(place, int) else place


def cell(m, kind, n, *word):
    """The value of a machine's cell, as in Call.cells()."""
    if kind == "memory":
        return m.memory.cells.get(n, m.memory.unset)
    v = getattr(m, kind)[n]
    return v[word[0]] if word else v


def words_of_vectors(*vectors):
    """The cells of the first four words of each vector."""
    return [[("vector", r, i) for i in range(4)] for r in vectors]


def put_cell(m, v, kind, n, *word):
    if kind == "memory":
        m.memory.cells[n] = v
        return
    of = getattr(m, kind)
    of[n] = type(of[n])(v if i == word[0] else w for i, w in enumerate(of[n])) if word else v


class Section:
    """A section of the code.

    pointers     the registers that still have the call's arguments, scratch or constants
    changes      the cells that the section changes, as in Call.cells()
    effect(m)    requires the state for which the section was proved, yields, and then puts the results
    left(m)      the state that the section leaves besides, such as counters. This, and inputs(m), are computed where
                 the section begins, in its proof and in calls
    """

    pointers, pointer = (), staticmethod(Pointer)

    def __init__(self, kernel, begin, end):
        self.kernel, self.begin, self.end, self.changes, self.steps = kernel, begin, end, set(), 0

    def left(self, m):
        return {}

    def inputs(self, m):
        return None

    def put(self, m, state, call=None):
        """Changes the state. call: for pointers."""
        width = self.kernel.isa.POINTER
        for place, v in state.items():
            if isinstance(v, Pointer):
                v = terms.add(width, call.callers(v.name, v.address), const(v.more, width))[0]
            elif isinstance(v, int):
                v = const(v, width if isinstance(place, int) else 32)
            if isinstance(place, str):
                m.memory.put_number(SCRATCH + self.kernel.at[place], v)
            else:
                put_cell(m, v, *cell_of(place))

    def expect(self, m, state):
        """Requires a state."""
        for place, v in state.items():
            size, of, what = 4, v, "a number"
            if isinstance(v, Pointer):
                size, of, what = self.kernel.isa.POINTER // 8, v.address + v.more, "an address"
            if m.known(self.found(m, place, size), what) != of:
                raise Unproved(f"a section needs {v} in {place}")

    def found(self, m, place, size=4):
        """What is there. size: that of a number in scratch."""
        if isinstance(place, str):
            return m.memory.number(SCRATCH + self.kernel.at[place], size)
        return cell(m, *cell_of(place))

    def words_at(self, name, count=1):
        """The cells of the words of blocks in scratch."""
        at = SCRATCH + self.kernel.at[name]
        return [[("memory", a) for a in range(at + 16 * i, at + 16 * i + 16, 4)] for i in range(count)]

    def alone(self, state, values, *regions, vectors={}):
        """Runs the section separately, with a state, values in memory by their address, and vectors. Returns the call.
        regions: the name, address and size of those that may be read."""
        call = Call(self.kernel)
        call.regions(*((*r, True, False)[:5] for r in regions))
        call.arguments(key=KEY)
        m, memory = call.machine, call.memory
        for at, v in values.items():
            memory.poke(at, v)
        m.general = [v if i in self.pointers else symbol(f"anything in {i}", v.width) for i, v in enumerate(m.general)]
        m.fill_vectors(lambda name, width: symbol(f"anything in {name}", width))
        self.put(m, state, call)
        for r, v in vectors.items():
            self.put(m, self.in_cells(words_of_vectors(r), [v]) if v.width == 128 else {("vector", r): v})
        before, elsewhere, left, call.inputs = call.cells(), dict(memory.cells), self.left(m), self.inputs(m)
        if self.kernel.program().run(m, None, self.begin, self.end) is not True:
            raise Unproved(f"{self.end:#x} is not reached")
        self.steps += m.steps
        after = call.cells()
        self.changes.update(c for c, v in after.items() if v is not before.get(c))
        if any(v is not elsewhere.get(a) and ("memory", a) not in after for a, v in memory.cells.items()):
            raise Unproved("something is written that is not scratch")
        for place, v in left.items():
            if self.found(m, place, v.width // 8) is not v:
                raise Unproved(f"{place} is not what the section leaves in calls")
        return call

    def __call__(self, m):
        """The section in a call."""
        for r, address in zip(self.kernel.isa.ARGUMENTS, (ARGS, SCRATCH, CONSTS)):
            if r in self.pointers and m.known(m.general[r], "an address") != address:
                raise Unproved("no pointer to arguments, scratch or constants")
        effect, left = self.effect(m), self.left(m)
        next(effect)
        for changed in self.changes:
            put_cell(m, tainted(cell(m, *changed).width), *changed)
        self.lose(m)
        next(effect, None)
        self.put(m, left)

    def lose(self, m):
        """Makes flags unknown."""
        m.carry = m.overflow = m.result = None

    @staticmethod
    def blocks(m, places):
        """Blocks, from the cells of each one's words."""
        return [cat(*(cell(m, *c) for c in of)) for of in places]

    @staticmethod
    def in_cells(places, blocks):
        """A state with these blocks."""
        return {c: w for of, block in zip(places, blocks) for c, w in zip(of, parts_of(block, 32))}

    def key(self, m, arguments, slot="ARG_KEY"):
        """Returns the address of the key, from a pointer to the arguments."""
        if m.known(arguments, "an address") != ARGS:
            raise Unproved("no pointer to arguments")
        return m.known(m.memory.number(ARGS + A[slot], self.kernel.isa.POINTER // 8), "an address")


class BlocksSection(Section):
    """Encrypts or decrypts blocks. source, target: the cells of each block's words. keys(m) requires the state for
    which the section was proved, and returns the keys of the blocks."""

    inverse = 0

    def show_blocks(self, keys, state, values, *regions):
        blocks = words_of("block", len(self.source))
        results = in_direction(self.inverse, keys, blocks)
        m = self.alone({**state, **self.in_cells(self.source, blocks)}, values, *regions).machine
        expect_blocks(self.blocks(m, self.target), results)

    def effect(self, m):
        results = in_calls(self.inverse, self.keys(m), self.blocks(m, self.source))
        yield
        self.put(m, self.in_cells(self.target, results))


class Products(Section):
    """Sums of products, by a table of h.

    inputs(m)      the numbers in each sum, with the power of h by which each is multiplied
    target         the cells of words in which the sums are. decoded(blocks): the sums in these, and encoded(sums)
    table_in(m)    requires the state for which the section was proved, and returns the operands of the table
    """

    target = property(lambda self: self.words_at("Y"))

    def decoded(self, blocks):
        return blocks

    def encoded(self, sums):
        return self.decoded(sums)

    def show_sums(self, h, state, values, *regions):
        call = self.alone(state, values, *regions)
        sums = self.decoded(self.blocks(call.machine, self.target))
        for y, pairs in zip(sums, call.inputs, strict=True):
            if element(y) != total(h, pairs):
                raise Unproved("a sum of products is not that of the specification")

    def effect(self, m):
        of = self.table_in(m)
        sums = [product(of, *pairs) for pairs in self.inputs(m)]
        yield
        self.put(m, self.in_cells(self.target, self.encoded(sums)))


class Making(Section):
    """Leaves the results of an unknown function, named `kind`, in cells of memory. operands(m) requires the state for
    which the section was proved, and returns the operands. size: computes the number of bytes from the operands, if it
    is not that of all cells. places: names in scratch and numbers of bytes."""

    @property
    def cells(self):
        at = self.kernel.at
        return [SCRATCH + at[name] + i for name, size in self.places for i in range(0, size, 4)]

    def size(self, *operands):
        return 4 * len(self.cells)

    def left_by(self, call):
        return {a: call.memory.peek(a, 4) for a in self.cells}

    def made_in(self, memory):
        """The operands whose results are in memory."""
        return expect_made(words_in(memory, self.cells), self.kind, self.size)

    def put_made(self, m, operands):
        found = made(self.kind, operands, self.size(*operands))
        yield
        m.memory.cells.update(zip(self.cells, found))

    def effect(self, m):
        return self.put_made(m, self.operands(m))


class Modes(Sectioned):
    """A kernel of modes without authentication, whose set-up of keys is proved as it stands. encryption(bits_, cells,
    schedule, one_way) proves the sections under a key from set-up. one_way: one that is without an inverse."""

    gcm = False

    def replace(self):
        modes.key_cells = self.key_of_calls

    def show(self, lengths=BITS):
        cases = steps = 0
        for bits_ in lengths:
            restore()
            anew()
            proof.mode(True)
            schedule = spec.key_schedule(words("key", bits_ // 32))
            cells, more = modes.key_cells(self, bits_, "key", None, False)
            one_way, fewer = modes.key_cells(self, bits_, "key", None, True)
            self.encryption(bits_, cells, schedule, one_way)
            cases, steps = cases + 2 + len(self.sections), steps + more + fewer
        anew()
        return cases, steps + sum(s.steps for s in self.sections)


class Gcm(Sectioned):
    """A kernel of AES-GCM, whose set-up of keys is proved as it stands.

    table_bytes    those of a hash key's table. orders: for GHASH, and for POLYVAL
    at_once        how many blocks set-up encrypts at once
    expect_table(cells, h)              requires the table of a factor h
    encryption(bits, cells, schedule)   proves the encryption under a key from set-up
    products()                          proves the products, if expect_table does not
    """

    gcm, orders, at_once = True, (0, 1), 1

    def replace(self):
        packets.gcm_key, packets.given_key = self.gcm_key_of_calls, self.given_of_calls

    def gcm_key_of_calls(self, kernel, bits_, trace=None, name="key"):
        """Replaces packets.gcm_key."""
        h = cipher("aes", words(name, bits_ // 32), const(0, 128))
        return self.given_of_calls(kernel, self.key_of_calls(kernel, bits_, name)[0], 0, h=h)

    def given_of_calls(self, kernel, before, flags, trace=None, longest=0, h=None):
        """Replaces packets.given_key."""
        of = h or packets.hash_key(), const(flags == A["FLAG_POLYVAL"], 1)
        return {**before, **made_at(KEY + TABLE, "hash table", of, self.table_bytes)}, 0

    def table_of(self, memory, at):
        """The operands of the table at an address."""
        return expect_made(list(memory.load_words(Near(int(at)), self.table_bytes // 4)), "hash table")

    def set_up_alone(self, bits_, polyval=0):
        """Proves the set-up of a key, or without bits_, of a given hash key. Returns the key's memory, its schedule,
        and the number of instructions."""
        restore()
        anew()
        proof.mode(True, self.ascending)
        if bits_:
            schedule = spec.key_schedule(words("key", bits_ // 32))
            h = [spec.aes(schedule, const(i << 120, 128)) for i in range(self.at_once)][0]
            cells, steps = packets.gcm_key(self, bits_)
        else:
            schedule, h = None, packets.hash_key()
            width = self.isa.POINTER
            longest = linear.Base("longest", 0, 1 << width - 4, width=width) + 0 if polyval else const(0, width)
            cells, steps = packets.given_key(self, {}, polyval * A["FLAG_POLYVAL"], None, terms.extend(longest, 64))
        self.expect_table(cells, factor(h, const(polyval, 1)))
        return cells, schedule, steps

    @property
    def table(self):
        """The region of a table."""
        return "table", KEY + TABLE, self.table_bytes

    def expect_table(self, cells, h):
        self.product.show(cells, h)

    def products(self):
        return 0

    def show(self, lengths=BITS):
        """Proves the sections and set-up."""
        cases = steps = 0
        for polyval in self.orders:
            steps += self.set_up_alone(None, polyval)[2]
            cases += 1
        cases += self.products()
        for bits_ in lengths:
            cells, schedule, more = self.set_up_alone(bits_)
            self.encryption(bits_, cells, schedule)
            cases, steps = cases + 3, steps + more
        anew()
        return cases, steps + sum(s.steps for s in self.sections)

    def attempt(self, place):
        if place in ("powers", "sum"):
            self.products()
            return
        for polyval in self.orders[:{"product": 1, SET_UP: 2}.get(place, 0)]:
            self.set_up_alone(None, polyval)
        if place != "product":
            self.encryption(128, *self.set_up_alone(128)[:2])

    def begin_of(self, place):
        if place == SET_UP:
            return max(s.end for s in self.sections)
        return 0 if place == CALLS else vars(self)[place].begin
