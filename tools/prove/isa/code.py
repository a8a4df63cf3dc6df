"""Shared code of the instruction sets: conditions, values as words, and code that is decoded once."""
from values.terms import Unproved, both, cat, const, cut, equal, invert, xor

# Exceptions that decoding bytes that are no instruction may raise, besides Unproved.
STOPS = (RecursionError, AssertionError, ValueError, IndexError, KeyError, TypeError, AttributeError)


def pairs(words):
    return [cat(words[i], words[i + 1]) for i in range(0, len(words), 2)]


def split(values):
    """Concatenates values of any width, and splits the result into words."""
    v = cat(*values)
    return [cut(v, i, 32) for i in range(0, v.width, 32)]


def elements(words, width):
    """Returns words as elements of another width."""
    if width == 32:
        return words
    if width == 64:
        return pairs(words)
    v = cat(*words)
    return [cut(v, i, width) for i in range(0, v.width, width)]


def known(v, what):
    """Returns the integer that v is for all data. Addresses, counts and branches must be such values."""
    c = v.constant
    if c is None:
        e = Unproved(f"{what} depends on {'data' if v.defined else 'what nothing has written'}")
        e.value = v
        raise e
    return c


class ArmFlags:
    """N and Z follow from the last result; C and V are bits. On ARM, C is set if a subtraction did not borrow."""

    def __init__(self):
        self.carry = self.overflow = self.result = None

    def known(self, v, what):
        """As the function known, for addresses. induction/aes_modes.py replaces it where pointers are not constants."""
        return known(v, what)

    def zero(self):
        if self.result is None:
            raise Unproved("a flag that nothing has set")
        return equal(self.result, const(0, self.result.width))

    def negative(self):
        if self.result is None:
            raise Unproved("a flag that nothing has set")
        return cut(self.result, self.result.width - 1, 1)

    def bit(self, v):
        if v is None:
            raise Unproved("a flag that nothing has set")
        return v

    def condition(self, code):
        """The condition as one bit."""
        base = {"ne": "eq", "cc": "cs", "lo": "cs", "hs": "cs", "pl": "mi", "vc": "vs", "ls": "hi", "lt": "ge", "le": "gt"}.get(code, code)
        if base == "eq":
            v = self.zero()
        elif base == "cs":
            v = self.bit(self.carry)
        elif base == "mi":
            v = self.negative()
        elif base == "vs":
            v = self.bit(self.overflow)
        elif base == "hi":
            v = both(self.bit(self.carry), invert(self.zero()))
        elif base in ("ge", "gt"):
            v = invert(xor(self.negative(), self.bit(self.overflow)))
            if base == "gt":
                v = both(v, invert(self.zero()))
        else:
            raise Unproved(f"condition {code} is not known")
        return v if base == code or code == "hs" else invert(v)


def top(v):
    return cut(v, v.width - 1, 1)


def overflow_of(a, b, r):
    """The overflow of a + b (+ carry) = r, if both are constants or have different signs. Otherwise None, which must
    not be used."""
    if a.constant is None or b.constant is None:
        signs = top(a).constant, top(b).constant
        return const(0, 1) if signs in ((0, 1), (1, 0)) else None
    return both(invert(xor(top(a), top(b))), xor(top(a), top(r)))


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
