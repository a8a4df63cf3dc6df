"""Memory of a call: regions with the bytes that may be read and written, and values in cells of 4 bytes."""
import bisect

from terms import Unproved, cat, const, cut, undefined


class Region:
    def __init__(self, name, start, size, read, write):
        self.name, self.start, self.end, self.read, self.write = name, start, start + size, read, write


class Memory:
    def __init__(self):
        self.cells, self.regions, self.starts = {}, [], []
        self.unset = undefined(32)

    def region(self, name, start, size, read=True, write=False):
        """Regions are given in the order of their addresses."""
        assert not self.regions or self.regions[-1].end <= start
        self.regions.append(Region(name, start, size, read, write))
        self.starts.append(start)

    def allowed(self, address, size, write):
        i = bisect.bisect_right(self.starts, address) - 1
        r = self.regions[i] if i >= 0 else None
        if r is None or address + size > r.end or not (r.write if write else r.read):
            near = "nothing" if r is None else f"{r.name}, {address - r.start} of {r.end - r.start} bytes"
            raise Unproved(f"{'write' if write else 'read'} of {size} bytes at {address:#x} ({near})")

    def load(self, address, size):
        """size bytes as one value."""
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
        """n words of 32 bits."""
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

    def put(self, address, data):
        """Constant bytes, whatever the permissions say."""
        self.poke(address, const(int.from_bytes(data, "little"), 8 * len(data)))
