"""Cycles of MIPS code, as armcost.py's scoreboard computes them for ARM.

The latencies are those of GCC 13 (gcc/config/mips/24k.md, 74k.md, octeon.md). GCC's authors, MIPS Technologies and
Cavium among them, took them from the manuals: MIPS32 24K Processor Core Family Software User's Manual, Rev 3.04;
MIPS32 74K Microarchitecture Specification, Rev 01.02. GCC has one model for 24K, 34K and 1004K. Caches always hit and
branches are predicted. The second half of an unaligned load waits for the first as for any operand.
"""

import collections
from dataclasses import dataclass
from enum import StrEnum, auto
from functools import cache

HILO = 32  # a register of its own


class Kind(StrEnum):
    LOGICAL = auto()
    ARITHMETIC = auto()  # additions and shifts, which take 74K longer
    LOAD = auto()
    STORE = auto()
    BRANCH = auto()
    MULTIPLY = auto()  # to HI and LO
    TO_HILO = auto()
    FROM_HILO = auto()
    MULTIPLY_TO_REGISTER = auto()
    DIVIDE = auto()


@dataclass(frozen=True)
class Operation:
    kind: Kind
    reads: tuple[int, ...]
    writes: int  # 0: nothing
    base: int = 0  # register of an address


@cache
def decode(word: int) -> Operation:
    """Fields and opcodes: MIPS Architecture For Programmers, volume II-A, release 5."""
    opcode, function = word >> 26, word & 63
    rs, rt, rd = word >> 21 & 31, word >> 16 & 31, word >> 11 & 31
    if opcode == 0:
        if function in (0x08, 0x09):  # jr, jalr
            return Operation(Kind.BRANCH, (rs,), rd if function == 0x09 else 0)
        if function in (0x10, 0x12):  # mfhi, mflo
            return Operation(Kind.FROM_HILO, (HILO,), rd)
        if function in (0x11, 0x13):
            return Operation(Kind.TO_HILO, (rs, HILO), HILO)
        if function in (0x18, 0x19, 0x1C, 0x1D):  # mult, multu, dmult, dmultu
            return Operation(Kind.MULTIPLY, (rs, rt), HILO)
        if function in (0x1A, 0x1B, 0x1E, 0x1F):
            return Operation(Kind.DIVIDE, (rs, rt), HILO)
        if function in (0x0A, 0x0B):  # movz, movn
            return Operation(Kind.ARITHMETIC, (rs, rt, rd), rd)
        if function in (0x0F, *range(0x30, 0x37)):  # sync, traps
            return Operation(Kind.LOGICAL, (rs, rt), 0)
        if 0x24 <= function <= 0x2B:
            return Operation(Kind.LOGICAL, (rs, rt), rd)
        if function < 0x08 or function in (0x14, 0x16, 0x17) or 0x20 <= function <= 0x3F:
            moves = function in (0x21, 0x2D) and 0 in (rs, rt)
            return Operation(Kind.LOGICAL if moves else Kind.ARITHMETIC, (rs, rt), rd)
    elif opcode in (0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x14, 0x15, 0x16, 0x17):
        links = opcode == 0x03 or opcode == 0x01 and rt & 0x10
        reads = () if opcode in (0x02, 0x03) else (rs,) if opcode in (0x01, 0x06, 0x07) else (rs, rt)
        return Operation(Kind.BRANCH, reads, 31 if links else 0)
    elif 0x08 <= opcode <= 0x0F or opcode in (0x18, 0x19):
        kind = Kind.LOGICAL if 0x0A <= opcode <= 0x0E else Kind.ARITHMETIC
        return Operation(kind, (rs,), rt)
    elif opcode == 0x1C:  # SPECIAL2
        if function in (0x00, 0x01, 0x04, 0x05):  # madd, maddu, msub, msubu
            return Operation(Kind.MULTIPLY, (rs, rt, HILO), HILO)
        if function == 0x02:
            return Operation(Kind.MULTIPLY_TO_REGISTER, (rs, rt), rd)
        if function in (0x20, 0x21, 0x24, 0x25):  # clz, clo
            return Operation(Kind.ARITHMETIC, (rs,), rd)
    elif opcode == 0x1F:  # SPECIAL3
        if function in (0x00, 0x01, 0x02, 0x03):  # ext, dext
            return Operation(Kind.ARITHMETIC, (rs,), rt)
        if function in (0x04, 0x05, 0x06, 0x07):  # ins, dins
            return Operation(Kind.ARITHMETIC, (rs, rt), rt)
        if function in (0x20, 0x24):  # wsbh, seb, dsbh, dshd
            return Operation(Kind.LOGICAL, (rt,), rd)
        if function == 0x3B:  # rdhwr
            return Operation(Kind.LOAD, (), rt)
    elif 0x20 <= opcode <= 0x27 or opcode in (0x1A, 0x1B, 0x30, 0x34, 0x37):
        halves = opcode in (0x1A, 0x1B, 0x22, 0x26)  # ldl, ldr, lwl, lwr: the other bytes stay
        return Operation(Kind.LOAD, (rt,) if halves else (), rt, rs)
    elif 0x28 <= opcode <= 0x2E or opcode in (0x38, 0x3C, 0x3F):
        return Operation(Kind.STORE, (rt,), rt if opcode in (0x38, 0x3C) else 0, rs)
    elif opcode in (0x2F, 0x33):  # cache, pref
        return Operation(Kind.LOAD, (), 0, rs)
    raise ValueError(f"no model of the instruction {word:#010x}")


@dataclass(frozen=True)
class Core:
    latency: dict[Kind, int]  # from issue to the result; 1 where absent
    multiplier: dict[Kind, int]  # how long it is busy; 1 where absent
    address: int  # cycles earlier an address is needed than other operands
    width: int = 1
    queue: int = 0  # of an out-of-order core: instructions that wait for each of two pipes
    to_product: int = 1  # from mthi, mtlo to a sum of products
    from_product: int = 1  # from a product to mfhi, mflo


LONG = {Kind.FROM_HILO, Kind.MULTIPLY_TO_REGISTER}
CORES = {
    "mips-24k": Core({Kind.LOAD: 2, Kind.DIVIDE: 36} | dict.fromkeys(LONG, 5), {Kind.DIVIDE: 36}, 1, to_product=2),
    # 74K, out of order: one pipe for arithmetic, one for memory and branches. The length of the queues is a guess.
    "mips-74k": Core(
        {Kind.LOAD: 3, Kind.ARITHMETIC: 2, Kind.TO_HILO: 7, Kind.DIVIDE: 50} | dict.fromkeys(LONG, 7),
        {Kind.DIVIDE: 50}, 1, width=2, queue=8, to_product=7, from_product=4,
    ),
    # The first Octeon, in order: two instructions, one of them to memory or a branch.
    "octeon": Core(
        {Kind.LOAD: 2, Kind.MULTIPLY: 2, Kind.TO_HILO: 2, Kind.DIVIDE: 72} | dict.fromkeys(LONG, 5),
        {Kind.MULTIPLY: 2, Kind.TO_HILO: 2, Kind.DIVIDE: 72}, 0, width=2, to_product=2, from_product=2,
    ),
}
MULTIPLIER = {Kind.MULTIPLY, Kind.TO_HILO, Kind.DIVIDE} | LONG
MEMORY = {Kind.LOAD, Kind.STORE, Kind.BRANCH}


def cycles(words: list[int], core: Core) -> int:
    """When the last result of a straight-line trace is there."""
    ready = [-1] * 33
    hilo_kind = None  # the instruction that wrote it
    used = collections.Counter()  # instructions by cycle, or by pipe and cycle
    multiplier = now = last = 0
    dispatched = collections.Counter()
    waiting = {True: collections.deque(maxlen=core.queue or 1), False: collections.deque(maxlen=core.queue or 1)}
    entry = 0  # when the next instruction enters the queues
    for word in words:
        operation = decode(word)
        kind, memory = operation.kind, operation.kind in MEMORY
        at = now
        for register in operation.reads:
            wait = ready[register]
            if register == HILO and kind is Kind.FROM_HILO:
                wait += (core.from_product if hilo_kind is Kind.MULTIPLY else core.latency.get(hilo_kind, 1)) - 1
            elif register == HILO and hilo_kind is Kind.TO_HILO:
                wait += core.to_product - 1
            at = max(at, wait) if register else at
        if operation.base:
            at = max(at, ready[operation.base] + core.address)
        if kind in MULTIPLIER:
            at = max(at, multiplier)
        if core.queue:
            while dispatched[entry] == core.width:
                entry += 1
            if len(waiting[memory]) == core.queue:  # the oldest of the last ones has left
                entry = max(entry, waiting[memory][0])
            dispatched[entry] += 1
            at = max(at, entry + 1)
            while used[memory, at]:
                at += 1
            used[memory, at] += 1
            waiting[memory].append(at)
        else:
            while used[at] == core.width or memory and used[memory, at]:
                at += 1
            used[at] += 1
            used[memory, at] += memory
            now = at
        if kind in MULTIPLIER:
            multiplier = at + core.multiplier.get(kind, 1)
        if operation.writes == HILO:
            hilo_kind = kind
            ready[HILO] = at + (core.latency[kind] if kind is Kind.DIVIDE else 1)
        elif operation.writes:
            ready[operation.writes] = at + core.latency.get(kind, 1)
        last = max(last, at + 1)
    return last
