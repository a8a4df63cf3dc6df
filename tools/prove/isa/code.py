"""Shared code of the instruction sets: conditions, and code that is decoded once."""
from values.terms import Unproved, add, both, const, cut, equal, invert, subtract, xor

# Exceptions that decoding bytes that are no instruction may raise, besides Unproved.
STOPS = (RecursionError, AssertionError, ValueError, IndexError, KeyError, TypeError, AttributeError)


def known(v, what):
    """Returns the integer that v is for all data. Addresses, counts and branches must be such values."""
    c = v.constant
    if c is None:
        e = Unproved(f"{what} depends on {'data' if v.defined else 'what nothing has written'}")
        e.value = v
        raise e
    return c


class Flags:
    """The zero and sign flags follow from the last result. Carry and overflow are bits. None stands for a flag that
    nothing has set, or that the manual leaves undefined."""

    TESTS = {}  # condition -> (function of the machine, whether its result is inverted)

    def __init__(self, memory):
        self.memory, self.steps = memory, 0
        self.carry = self.overflow = self.result = None

    def known(self, v, what):
        """As the function known. Calls (run/kernels.py) replace it, because an address may be a pointer of any value."""
        return known(v, what)

    def zero(self):
        return equal(self.bit(self.result), const(0, self.result.width))

    def sign(self):
        return top(self.bit(self.result))

    def bit(self, v):
        if v is None:
            raise Unproved("an undefined flag")
        return v

    def condition(self, code):
        """The condition as one bit."""
        if code not in self.TESTS:
            raise Unproved(f"condition {code} is not known")
        test, inverted = self.TESTS[code]
        return invert(test(self)) if inverted else test(self)


def tests(text, *functions):
    """Returns Flags.TESTS. text: pairs of conditions with their opposites, in the order of their functions."""
    found = {}
    for pair, f in zip(text.split(","), functions):
        name, opposite = pair.split()
        found |= {name: (f, False), opposite: (f, True)}
    return found


def carry_set(m):
    return m.bit(m.carry)


def less(m):
    return xor(m.sign(), m.bit(m.overflow))


class ArmFlags(Flags):
    """The carry is set if a subtraction did not borrow."""

    def sum(self, x, y, adds, sets, with_carry=False, closely=False):
        """Returns x + y (+ carry) or x - y (- borrow). sets: whether it sets the flags."""
        c = self.bit(self.carry) if with_carry else None
        r, out = add(x.width, x, y, carry=c, closely=closely) if adds else subtract(x.width, x, y, None if c is None else invert(c))
        if sets:
            self.carry, self.overflow, self.result = out if adds else invert(out), overflow_of(x, y, r, not adds), r
        return r

    TESTS = tests("eq ne,cs cc,hs lo,mi pl,vs vc,hi ls,ge lt,gt le", Flags.zero, carry_set, carry_set, Flags.sign, lambda m: m.bit(m.overflow),
                  lambda m: both(m.bit(m.carry), invert(m.zero())), lambda m: invert(less(m)), lambda m: both(invert(less(m)), invert(m.zero())))


def top(v):
    return cut(v, v.width - 1, 1)


def overflow_of(a, b, r, subtracts=False):
    """The overflow of a + b (+ carry) = r, or of a - b, if all are constants, or if the signs exclude it. Otherwise None."""
    x, y, z = a.constant, b.constant, r.constant
    if x is None or y is None or z is None:
        x, y = top(a).constant, top(b).constant
        return const(0, 1) if x is not None and y is not None and (x == y) == subtracts else None
    return const(((x ^ z) & (y ^ z ^ -subtracts)) >> a.width - 1, 1)


class Code:
    """The machine code of a function, decoded once. meaning(code, pc) returns (function, next, branch, text). branch
    is (function that returns a bit, target). next is None at the end."""

    LIMIT = 5_000_000

    def __init__(self, code, meaning, lines=None):
        self.code, self.meaning, self.steps, self.lines = code, meaning, {}, lines or {}

    def run(self, machine, trace=None, start=0, stop=None):
        """Runs to the end, or from `start` until `stop` is reached again. Returns whether `stop` was reached."""
        pc, steps, meaning, begun = start, self.steps, self.meaning, False
        try:
            while True:
                if pc == stop and begun:
                    return True
                begun = True
                step = steps.get(pc)
                if step is None:
                    if not 0 <= pc < len(self.code):
                        raise Unproved("a jump out of the function")
                    step = steps[pc] = meaning(self.code, pc)
                f, after, branch, _ = step
                machine.steps += 1
                if machine.steps > self.LIMIT:
                    raise Unproved(f"not at its end after {self.LIMIT} instructions")
                if trace is not None:
                    trace.add(pc)
                if f is not None:
                    f(machine)
                elif branch is not None:
                    if known(branch[0](machine), "a branch"):
                        after = branch[1]
                elif after is None:
                    return False
                pc = after
        except Unproved as e:
            text = steps[pc][3] if pc in steps else ""
            line = f" ({self.lines[pc]})" if pc in self.lines else ""
            e.args = f"at {pc:#x} {text}{line}: {e}",
            raise
