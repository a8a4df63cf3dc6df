"""Memory of a call: regions of bytes that may be read and written, and values in cells of 4 bytes."""
import bisect

from spec import reverse
from values.terms import Unproved, cat, const, cut, tainted, undefined

FAR = 1 << 15  # no region is so near behind the begin of another, or so long
WINDOW = 0x900000  # longer than any text of a run


class ReadAgain(Unproved):
    """A call with separate input and output does not prove the call in place."""


class Near(int):
    """An address in a run: that of a pointer, `of`, and constants. They stay with it in sums."""

    def __new__(cls, of, offset=0):
        made = super().__new__(cls, of + offset)
        made.of = of
        return made

    def near(self, v):
        return Near(self.of, v - self.of)

    def __add__(self, n):
        of = getattr(n, "of", 0)  # of a length that has a value in the run
        return Near(self.of + of, int(self) - self.of + int(n) - of)

    __radd__ = __add__

    def __sub__(self, n):
        return self.near(int(self) - n)

    def __and__(self, mask):
        return self.near(int(self) & mask)

    def __mul__(self, n):
        return self if n == 1 else int(self) * n

    __rmul__ = __mul__

    def __lshift__(self, n):
        return self * (1 << n)


class Region:
    """align: the guaranteed alignment of the region's pointer. stored: for an input and its output, the offsets of the
    output's written bytes. low: all bytes before this offset have been written."""

    def __init__(self, name, start, size, read, write, align):
        self.name, self.start, self.end, self.read, self.write, self.align = name, start, start + size, read, write, align
        self.stored = None
        self.kind, _, self.lane = name.partition(" ")


class Memory:
    """Memory of a call. big: numbers are big-endian."""

    def __init__(self, big=False):
        self.cells, self.regions, self.starts, self.big = {}, [], [], big
        self.unset, self.tagged = undefined(32), set()  # tagged: the lanes whose tag has been written
        self.seals = False  # then a tag may lie in the input
        self.by_pointers = False  # whether each address must be near a pointer, which may have any value

    def region(self, name, start, size, read=True, write=False, align=1):
        at = bisect.bisect(self.starts, start)
        assert at == 0 or self.regions[at - 1].end <= start
        assert at == len(self.starts) or start + size <= self.starts[at]
        self.regions.insert(at, Region(name, start, size, read, write, align))
        self.starts.insert(at, start)
        if read and write and name != "scratch":  # what a call finds there may be secrets of another one
            for a in range(start & ~3, start + size, 4):
                self.cells.setdefault(a, tainted(32))

    def at(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.regions[i] if i >= 0 else None

    def allowed(self, address, size, write):
        if self.by_pointers and not (hasattr(address, "of") and abs(int(address) - address.of) < FAR):
            raise Unproved(f"an access at {address:#x}, which is not near a pointer of the call")
        r = self.at(address)
        if r is None or address + size > r.end or not (r.write if write else r.read):
            near = "nothing" if r is None else f"{r.name}, {address - r.start} of {r.end - r.start} bytes"
            raise Unproved(f"{'write' if write else 'read'} of {size} bytes at {address:#x} ({near})")
        if self.seals and write and r.kind == "tag":
            self.tagged.add(r.lane)
        elif r.kind == "in" and not r.write and r.lane in self.tagged:
            raise Unproved(f"{r.name} is read after the tag was written, which may lie in it")
        if r.stored is not None:
            first = address - r.from_
            if write:
                r.stored.update(range(first, first + size))
            elif not r.is_input and r.write and not (first >= 0 and r.stored.issuperset(range(first, first + size))) and not first + size <= r.low:
                raise Unproved(f"{r.name} is read, {address - r.start} of {r.end - r.start} bytes, before it is written")
            elif r.is_input and (first < r.low or not r.stored.isdisjoint(range(first, first + size))):
                raise ReadAgain(f"{r.name} is read, {address - r.start} of {r.end - r.start} bytes, where output has been written: "
                               "in place this is no input any more")

    def apart(self, source, target, window=1):
        """Declares that output goes to target, and its input is at source, separate from it. The call in place then
        behaves in the same way, if no byte of input is read after output was written to its position. This is
        checked. Output before the writable range counts as written."""
        stored, found = set(), []
        for r in self.regions:
            for from_, names in ((source, ("in", "message", "text", "end")), (target, ("out",))):
                if r.name.split()[0] in names and abs(r.start - from_) < window:
                    r.stored, r.from_, r.is_input = stored, from_, from_ == source
                    found.append(r)
        low = min((r.start - target for r in found if not r.is_input and r.write), default=-WINDOW)
        for r in found:
            r.low = low

    def aligned(self, address, n):
        """Refuses an access at an address that may not be a multiple of n."""
        r = self.at(address)
        if r is not None and (r.align % n or (address - r.start) % n):
            raise Unproved(f"an access to {r.name} + {address - r.start} that is to be at a multiple of {n}, and may not be")

    def load(self, address, size):
        """Returns size bytes as one value."""
        self.allowed(address, size, False)
        return self.peek(address, size)

    def peek(self, address, size):
        first = address & ~3
        got = self.cells.get
        if first == address and size == 4:
            return got(address, self.unset)
        v = cat(*(got(a, self.unset) for a in range(first, address + size, 4)))
        return cut(v, 8 * (address - first), 8 * size)

    def load_words(self, address, n):
        """Returns n 32-bit words."""
        self.allowed(address, 4 * n, False)
        got = self.cells.get
        o = 8 * (address & 3)
        if o == 0:
            return tuple([got(a, self.unset) for a in range(address, address + 4 * n, 4)])
        first = address & ~3
        c = [got(a, self.unset) for a in range(first, first + 4 * n + 4, 4)]
        return tuple([cat(cut(c[i], o, 32 - o), cut(c[i + 1], 0, o)) for i in range(n)])

    def store(self, address, value):
        self.allowed(address, value.width // 8, True)
        self.poke(address, value)

    def poke(self, address, value):
        size, at = value.width // 8, 0
        while at < size:
            cell, o = (address + at) & ~3, (address + at) & 3
            n = min(4 - o, size - at)
            part = cut(value, 8 * at, 8 * n)
            if n < 4:
                old = self.cells.get(cell, self.unset)
                part = cat(*([cut(old, 0, 8 * o)] if o else []), part,
                           *([cut(old, 8 * (o + n), 32 - 8 * (o + n))] if o + n < 4 else []))
            self.cells[cell] = part
            at += n

    def store_words(self, address, words):
        self.allowed(address, 4 * len(words), True)
        if address & 3:
            self.poke(address, cat(*words))
            return
        for w in words:
            self.cells[address] = w
            address += 4

    def number(self, address, size):
        v = self.peek(address, size)
        return reverse(v) if self.big else v

    def put_number(self, address, v):
        self.poke(address, reverse(v) if self.big else v)

    def put_pointer(self, address, v):
        """Writes a slot of 8 bytes that starts with a pointer, as in Go."""
        self.put_number(address, v)
        if v.width < 64:
            self.poke(address + v.width // 8, const(0, 64 - v.width))

    def put(self, address, data):
        """Writes constant bytes, regardless of permissions."""
        self.poke(address, const(int.from_bytes(data, "little"), 8 * len(data)))
