"""Kernels in which bits.py takes seconds for a block of AES. Sections of their code are proved once, separately, for
all data. In calls, a section is one instruction, whose meaning is the proved result. Round keys are then unknown
functions of the key, which only sections can use. Encrypted blocks are unknown, too, but equal blocks have equal
results.
"""
import functools

import spec
from induction.engine import anew, find
from run import lists, modes, packets, proof, prove
from run.kernels import ARGS, CONSTS, KEY, SCRATCH, Call, Kernel
from run.memory import Memory
from run.packets import Setup
from spec import modes as spec_modes
from spec.args import A
from values import terms
from values.terms import ATOMS, X127, Unproved, atom, cat, const, cut, field_power, field_product, same, symbol, tainted

SET_UP, CALLS = "set-up", "calls"  # places of planted faults
OF = "calls of blocks that were shown once"
BITS = (128, 192, 256)
INVERSE_X127 = field_power(X127, (1 << 128) - 2)
ROUNDS, SCHEDULE, TABLE = A["AES_KEY_ROUNDS"], A["AES_KEY_SCHEDULE"], A["GCM_KEY_TABLE"]  # the first two are those of AES-GCM, too
# Functions that are replaced in calls.
REPLACED = [(module, name, getattr(module, name)) for module, names in (
    (spec, ("key_schedule", "aes")), (spec_modes, ("inverse_schedule", "decrypt")), (modes, ("key_cells",)),
    (packets, ("gcm_key", "given_key")), (proof, ("prove_one",))) for name in names]


def restore():
    for module, name, value in REPLACED:
        setattr(module, name, value)


def words(name, n=4):
    return cat(*(symbol(f"{name}{i}", 32) for i in range(n)))


def rounds_of(bits_):
    return bits_ // 32 + 6


def size_of(bits_):
    """The size of the round keys in bytes."""
    return 16 * (rounds_of(bits_) + 1)


def cipher(kind, key, block):
    """An unknown function of a block. Exclusive ors are decomposed, so that equal blocks are one value."""
    if not block.defined:
        return tainted(128)
    return atom(kind, (key, cat(*(terms.byte_of_xor(cut(block, i, 8)) for i in range(0, 128, 8)))), None, 128, (1 << 128) - 1)


def in_direction(inverse, keys, blocks):
    """What the specification says about blocks under round keys."""
    return [spec_modes.decrypt(spec_modes.inverse_schedule(key), v) if inverse else spec.aes(key, v) for key, v in zip(keys, blocks)]


def in_calls(inverse, keys, blocks):
    """The same under keys. An absent lane has no key."""
    return [cipher("inverse aes" if inverse else "aes", key, v) if key.width > 1 else tainted(128) for key, v in zip(keys, blocks)]


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
    __call__ is its effect in calls. show(lengths) proves the sections for keys of some lengths, and returns the numbers of
    cases and instructions. set_up(shape): whether show() has proved this call, too. replace() defines further replacements in
    calls, in the specification and in keys. made_keys: offset -> the kind of the round keys there. faults: place -> instructions
    that planted() omits, as (name of the fault, the instruction's text, and which one behind begin_of(place)). A fault of the place
    CALLS is refused in a call of the shape `called`. Others are refused by attempt(place)."""

    made_keys = {SCHEDULE: "round key"}

    def changes(self):
        return tuple(frozenset(s.changes) for s in self.sections)

    def key_of_calls(self, kernel, bits_, name="key", trace=None, encrypts=False):
        """Replaces modes.key_cells."""
        memory, key = Memory(getattr(self.isa, "big", False)), words(name, bits_ // 32)
        memory.put_number(KEY + ROUNDS, const(rounds_of(bits_), 64))
        for at, kind in self.made_keys.items():
            if not (encrypts and at > SCHEDULE):
                memory.cells.update(zip(range(KEY + at, KEY + at + size_of(bits_), 4), made(kind, (key,), size_of(bits_))))
        return memory.cells, 0

    def in_sections(self):
        """Makes the sections single instructions, as calls need it. Returns the kernel."""
        for s in self.sections:
            self.program().steps[s.begin] = s, s.end, None, type(s).__name__
        return self

    @classmethod
    @functools.cache
    def in_calls(cls, path, changes):
        kernel = cls(path)
        for s, found in zip(kernel.sections, changes):
            s.changes = found
        return kernel.in_sections()

    @classmethod
    def prepare(cls, kernel, args):
        kernel = cls(kernel.path)
        return *kernel.show(BITS[:1] if args.quick else BITS), kernel.changes()

    @classmethod
    def tasks(cls, kernel, args):
        """Groups similar calls."""
        kernel = cls(kernel.path)
        return [(str(group[0]), group) for group in prove.together(kernel, [s for s in lists.shapes(kernel, args.quick) if not kernel.set_up(s)])]

    @classmethod
    def one(cls, kernel, task, args, found):
        kernel = cls.in_calls(kernel.path, found.common)
        if len(ATOMS) > terms.MANY:
            terms.forget()
        for shape in task[1]:
            found.end(str(shape), call, kernel, shape)

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
    """Returns the functions of an induction that engine.py calls, for these kernels. Before them comes the class of a kernel."""
    of = lambda kernel: kernels.get((kernel.isa.MACHINE, kernel.name))
    return of, lambda kernel: of(kernel) and 0, *((lambda kernel, *more, name=name: getattr(of(kernel), name)(kernel, *more))
                                                  for name in ("prepare", "tasks", "one", "planted"))


# ---- AES-GCM ----------------------------------------------------------------------------------------------------------------

_made = terms.memo()


def made(kind, of, size):
    """An unknown function of some values, as cells."""
    if (kind, of, size) not in _made:
        _made[kind, of, size] = [atom(kind, of, at, 32, (1 << 32) - 1) for at in range(0, size, 4)]
    return _made[kind, of, size]


def expect_made(memory, kind, addresses, size=None):
    """Returns the operands of such a function, whose result must be in memory. size: computes its number of bytes from
    the operands."""
    return expect_values([memory.cells.get(a, memory.unset) for a in addresses], kind, size)


def expect_values(values, kind, size=None):
    """The same for words."""
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
    y = atom("product", (*of, *(v for pair in pairs for v in (pair[0], const(pair[1], 8)))), None, 128, (1 << 128) - 1)
    found = ATOMS[y.pieces[0][0]]
    if found.images is None:
        found.images = {0: number(total(factor(*of), ((element(v), power) for v, power in pairs)))}
    return y


def total(h, pairs):
    """The sum of elements, each times a power of h."""
    result = 0
    for v, power in pairs:
        for _ in range(power):
            v = field_product(v, h)
        result ^= v
    return result


def key_of(m, at, behind=0, kind="round key"):
    """The key whose round keys are at an address. behind: how many more bytes must be readable."""
    key, = expect_made(m.memory, kind, range(at, at + 240, 4), lambda key: size_of(key.width))
    m.memory.allowed(at, size_of(key.width) + behind, False)
    return key


def expect_rounds(m, key, bits_):
    memory = m.memory
    memory.allowed(key, 8, False)
    if memory.number(key, 8).constant != rounds_of(bits_):
        raise Unproved("another number of rounds")


class Section:
    """A section of the code. pointers: the registers that still have the call's arguments, scratch or constants.
    changes: the cells that the section changes, as in Call.cells(). effect(m) requires the state for which the section was
    proved, yields, and then puts the results."""

    pointers = ()

    def __init__(self, kernel, begin, end):
        self.kernel, self.begin, self.end, self.changes, self.steps = kernel, begin, end, set(), 0

    def alone(self, registers, cells, *regions, vectors={}):
        """Runs the section separately, with these registers, which may be given as functions, and vectors. Returns the
        call."""
        call = Call(self.kernel)
        call.regions(*regions)
        call.arguments(key=KEY)
        m, memory = call.machine, call.memory
        memory.cells.update(cells)
        m.general = [v if i in self.pointers else symbol(f"anything in {i}", v.width) for i, v in enumerate(m.general)]
        m.fill_vectors(lambda name, width: symbol(f"anything in {name}", width))
        for r, v in registers.items():
            m.general[r] = v(call) if callable(v) else v
        for r, v in vectors.items():
            call.change({("vector", r): v} if v.width == 32 else {("vector", r, i): w for i, w in enumerate(terms.parts_of(v, 32))})
        before, elsewhere = call.cells(), dict(memory.cells)
        if self.kernel.program().run(m, None, self.begin, self.end) is not True:
            raise Unproved(f"{self.end:#x} is not reached")
        self.steps += m.steps
        after = call.cells()
        self.changes.update(cell for cell, v in after.items() if v is not before.get(cell))
        if any(v is not elsewhere.get(a) and ("memory", a) not in after for a, v in memory.cells.items()):
            raise Unproved("something is written that is not scratch")
        return call

    def pointer(self, name, address, more=0):
        bits_ = self.kernel.isa.POINTER
        return lambda call: terms.add(bits_, call.callers(name, address), const(more, bits_))[0]

    def __call__(self, m):
        """The section in a call."""
        for r, address, name in zip(self.kernel.isa.ARGUMENTS, (ARGS, SCRATCH, CONSTS), ("arguments", "scratch", "constants")):
            if r in self.pointers and m.known(m.general[r], "an address") != address:
                raise Unproved(f"no pointer to {name}")
        effect = self.effect(m)
        next(effect)
        for kind, n, *word in self.changes:
            if kind == "memory":
                m.memory.cells[n] = tainted(32)
                continue
            of = getattr(m, kind)
            of[n] = type(of[n])(tainted(32) if [i] == word else w for i, w in enumerate(of[n])) if word else tainted(of[n].width)
        self.lose(m)
        next(effect, None)

    def lose(self, m):
        """Makes flags unknown."""
        m.carry = m.overflow = m.result = None

    def key(self, m, arguments, slot="ARG_KEY"):
        """Returns the address of the key, from a pointer to the arguments."""
        if m.known(arguments, "an address") != ARGS:
            raise Unproved("no pointer to arguments")
        return m.known(m.memory.number(ARGS + A[slot], self.kernel.isa.POINTER // 8), "an address")


class Modes(Sectioned):
    """A kernel of modes without authentication, whose set-up of keys is proved as it stands. encryption(bits_, cells, schedule,
    one_way) proves the sections under a key from set-up. one_way: one that is without an inverse."""

    gcm = False

    def set_up(self, shape):
        return shape.mode == modes.SETUP

    def replace(self):
        modes.key_cells = self.key_of_calls

    def show(self, lengths=BITS):
        cases = steps = 0
        for bits_ in lengths:
            restore()
            anew()
            proof.mode(True)
            schedule = spec.key_schedule(words("key", bits_ // 32))
            (cells, more), (one_way, fewer) = (modes.key_cells(self, bits_, "key", None, encrypts) for encrypts in (False, True))
            self.encryption(bits_, cells, schedule, one_way)
            cases, steps = cases + 2 + len(self.sections), steps + more + fewer
        anew()
        return cases, steps + sum(s.steps for s in self.sections)


class Gcm(Sectioned):
    """A kernel of AES-GCM, whose set-up of keys is proved as it stands. table_bytes: those of a hash key's table. orders: for GHASH,
    and for POLYVAL. at_once: how many blocks set-up encrypts at once. expect_table(call, h) requires the table of a factor h.
    encryption(bits, cells, schedule) proves the encryption under a key from set-up; products(), if not expect_table, the
    products."""

    gcm, orders, at_once = True, (0, 1), 1

    def set_up(self, shape):
        return isinstance(shape, Setup)

    def replace(self):
        packets.gcm_key, packets.given_key = self.gcm_key_of_calls, self.given_of_calls

    def gcm_key_of_calls(self, kernel, bits_, trace=None, name="key"):
        """Replaces packets.gcm_key."""
        return self.table_of_calls(self.key_of_calls(kernel, bits_, name)[0], cipher("aes", words(name, bits_ // 32), const(0, 128)), 0), 0

    def table_of_calls(self, cells, h, polyval):
        return {**cells, **dict(zip(range(KEY + TABLE, KEY + TABLE + self.table_bytes, 4), made("hash table", (h, const(polyval, 1)), self.table_bytes)))}

    def given_of_calls(self, kernel, before, flags, trace=None, longest=0):
        """Replaces packets.given_key."""
        return self.table_of_calls(before, packets.hash_key(), flags == A["FLAG_POLYVAL"]), 0

    def table_of(self, memory, at):
        """The operands of the table at an address."""
        memory.allowed(at, self.table_bytes, False)
        return expect_made(memory, "hash table", range(at, at + self.table_bytes, 4))

    def set_up_alone(self, bits_, polyval=0):
        """Proves the set-up of a key, or without bits_, of a given hash key. Returns the key's memory, its schedule, and
        the number of instructions."""
        restore()
        anew()
        proof.mode(True, self.ascending)
        schedule = None
        if bits_:
            schedule = spec.key_schedule(words("key", bits_ // 32))
            h = [spec.aes(schedule, const(i << 120, 128)) for i in range(self.at_once)][0]
        else:
            h = packets.hash_key()
        cells, steps = packets.gcm_key(self, bits_) if bits_ else packets.given_key(self, {}, polyval * A["FLAG_POLYVAL"])
        self.expect_table(cells, factor(h, const(polyval, 1)))
        return cells, schedule, steps

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
        return max(s.end for s in self.sections) if place == SET_UP else 0 if place == CALLS else vars(self)[place].begin
