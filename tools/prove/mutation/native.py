"""Runs code in a kernel's place, on this CPU or in qemu (machine.py), in calls with random data.

Data have many zeros and ones, which make carries. On MIPS and RISC-V every second call has aligned texts.
"""
import contextlib
import random
from unittest import mock

from run import kernels, packets, proof
from values.terms import const


class Stopped(Exception):
    pass


class Native:
    """Lets a server (machine.py) execute the calls of run/kernels.py, with random constants for symbols. The code also sets up its own
    keys, whose contents are not compared. Without a server, the prover executes them."""

    def __init__(self, kernel, server=None):
        self.kernel, self.server = kernel, server

    def symbol(self, name, width, most=None):
        if name not in self.known:
            some = self.rng.getrandbits(width)
            self.known[name] = self.rng.choice((some, some, some, 0, (1 << width) - 1)) if most is None else min(most, some)
        return const(self.known[name], width)

    def part(self, call, region):
        """A region of memory for the server."""
        v = call.memory.peek(region.start, region.end - region.start)
        if any(w % 8 for _, _, w in v.pieces):
            raise SystemExit("a value of bits")
        # Unwritten bytes differ each time.
        content = b"".join((low if n == -1 else self.rng.getrandbits(w)).to_bytes(w // 8, "little") for n, low, w in v.pieces)
        return region.start, content, region.write, not region.name.startswith(("scratch", "key", "table"))

    def run(self, call):
        regions = [r for r in call.memory.regions if r.name != "stack"]
        got = self.server.call(call.kernel.code, (kernels.ARGS, kernels.SCRATCH, call.consts), [self.part(call, r) for r in regions])
        if got is None:
            raise Stopped
        self.left, content = got
        for r in regions:
            if r.write:
                n = r.end - r.start
                call.memory.put(r.start, content[:n])
                content = content[n:]
        return 0

    def go(self, shape, number, code, trace=None):
        """Executes a call with this code, on the same data each time. Returns the number of instructions, or with a server 0."""
        self.rng, self.known = random.Random(number), {}
        changes = [(module, "symbol", self.symbol) for module in (kernels, packets)]
        changes += [(kernels, "_keys", {}), (kernels.Call, "symbolic", False), (self.kernel, "code", code)]
        if self.server:
            changes.append((kernels.Call, "run", lambda call, trace=None: self.run(call)))
        if self.kernel.isa.MACHINE in ("EM_MIPS", "EM_RISCV") and number % 2:
            changes += [(packets, "IN", packets.IN + 7), (packets, "OUT", packets.OUT + 5), (packets, "AD", packets.AD + 7)]
        with contextlib.ExitStack() as stack:
            for change in changes:
                stack.enter_context(mock.patch.object(*change))
            return proof.run(self.kernel, shape, trace)

    def results(self, shape, number, code):
        """A number that stands for the results of a call, or None."""
        try:
            self.go(shape, number, code)
        except Stopped:
            return None
        return self.left
