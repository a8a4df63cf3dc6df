"""Vectors: their elements, and the operations by elements that instruction sets share. A register is a sequence of
32-bit words.
"""
from values import bits, terms
from values.terms import atom, cat, const, cut


def elements(words, width):
    """Returns words as elements of another width."""
    if width == 32:
        return words
    if width < 32:
        return [e for w in words for e in terms.parts_of(w, width)]
    n = width // 32
    return [cat(*words[i:i + n]) for i in range(0, len(words), n)]


def split(values):
    """Returns values of one width as words."""
    width = values[0].width if values else 32
    if width == 32:
        return values
    if width > 32:
        return [cut(v, i, 32) for v in values for i in range(0, width, 32)]
    n = 32 // width
    return [cat(*values[i:i + n]) for i in range(0, len(values), n)]


def by_elements(width, f):
    """Returns the function of registers, which are tuples of words, and of further numbers, that applies f to lists of
    the registers' elements. It keeps its results."""
    results = terms.memo()

    def run(registers, *numbers):
        key = *registers, *numbers
        r = results.get(key)
        if r is None:
            r = results[key] = tuple(split(f(*[elements(words, width) for words in registers], *numbers)))
        return r
    return run


def each(f):
    """Returns the function of lists that applies f to each of their elements."""
    return lambda *lists: list(map(f, *lists))


def interleave(which, second):
    """Returns trn, zip or uzp, as Arm's manual calls them, as a function of two lists. second: of the two results."""
    def run(x, y):
        if which == "uzp":
            return [*x, *y][second::2]
        n = len(x)
        chosen = range(second, n, 2) if which == "trn" else range(n // 2 * second, n // 2 * (second + 1))
        return [e for i in chosen for e in (x[i], y[i])]
    return run


def look_up(table, indices, beyond=None):
    """Looks up bytes of a table. An index beyond it gives zero, or the old byte. The index may be data, because the
    whole table is read."""
    out = []
    for i, c in enumerate(indices):
        before = beyond[i] if beyond else const(0, 8)
        if (n := c.constant) is not None:
            out.append(table[n] if n < len(table) else before)
        elif not all(v.defined for v in (c, before, *table)):
            out.append(terms.tainted(8))
        elif terms.bitwise:
            out.append(bits.look_up(table, c, before))
        else:
            out.append(atom("look", (c, before, *table), None, 8, 255))
    return out
