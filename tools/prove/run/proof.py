"""Proves one call: with separate and with shared input and output, and with or without a comparison with the
specification.
"""
import copy

from isa import x86
from run import modes, packets
from run.kernels import Call
from run.lists import ENDS
from run.memory import ReadAgain
from run.packets import PolyvalShape, Setup
from spec.args import FIRST, LAST
from values import bits, terms
from values.linear import Undecided
from values.terms import Unproved


def mode(opaque, bitwise, ascending=False, by_image=False):
    """Sets how bit operations are computed, and the meaning of bits. Values of another mode are dropped."""
    if (terms.opaque, terms.bitwise, terms.ascending, terms.by_image) != (opaque, bitwise, ascending, by_image):
        terms.forget()
        terms.opaque, terms.bitwise, terms.by_image = opaque, bitwise, by_image
        terms.set_order(ascending)


def full(kernel, shape):
    """Whether every lane of a bit-sliced kernel has a block."""
    if not kernel.of_modes:
        return True  # at least a counter block
    lanes = 1 if kernel.isa is x86 else 2 if kernel.name.endswith("armv6") else 8
    return shape.mode != modes.SETUP and (shape.lanes or shape.blocks) % lanes == 0


_about = None


def alike(kernel, shape):
    """Calls for which this is equal share values. For bit-sliced AES, others do not: keys of all lengths have the same
    words, and each fact about an S-box's input slows the search."""
    return kernel.name, kernel.isa.POINTER, getattr(shape, "bits", None), getattr(shape, "mode", None), getattr(shape, "j0", None)


def dear(kernel, shape):
    """Whether a call of bit-sliced AES is too expensive to compare. In these, each key takes seconds, or each
    authenticated block is unlike those of other calls. Parts also count, except with some ends."""
    if getattr(shape, "lanes", 0) > 25:
        return True
    if isinstance(shape, PolyvalShape) and kernel.name.endswith("aesgcm_armv6"):
        return shape.size + shape.ad > 100
    if kernel.of_modes or isinstance(shape, Setup):
        return False
    return shape.flags != FIRST | LAST and not (shape.size <= 200 and shape.size % 16 in ENDS) or \
        kernel.name.endswith(("aesgcm_armv6", "r2")) and (shape.size > 200 or shape.ad > 0)


def prove(kernel, shape, folder):
    """Proves a call with separate input and output, and in place, unless the call is in place already. If the result
    depends on the alignment of a pointer, it proves each case. Returns the number of instructions."""
    try:
        return prove_one(kernel, shape, folder)
    except Undecided as e:
        before, steps = Call.cases, 0
        try:
            for case in e.cases:
                Call.cases = {**before, e.pointer: case}
                steps += prove(kernel, shape, folder)
        finally:
            Call.cases = before
        return steps
    except ReadAgain:
        steps = 0
        for in_place in (False, True):
            twin = copy.copy(shape)
            twin.both, twin.in_place = False, in_place
            try:
                steps += prove_one(kernel, twin, folder)
            except Unproved as e:
                e.args = f"{'in place' if in_place else 'apart'}: {e}",
                raise
        return steps


def prove_one(kernel, shape, folder):
    """Proves one call. For bit-sliced AES, the result is compared only on request."""
    global _about
    if kernel.bitwise and not (kernel.asked or getattr(shape, "function", False)):
        return run(kernel, shape, None)
    mode(False, kernel.bitwise, kernel.ascending, kernel.of_modes and not kernel.bitwise)
    bits.strict = kernel.bitwise and full(kernel, shape)
    if kernel.bitwise and _about != (_about := alike(kernel, shape)):
        terms.forget()
    if kernel.of_modes:
            return modes.prove(kernel, shape)
    if "_batch_" in kernel.name:
        return packets.batch(kernel, shape, folder)
    return packets.aesgcm(kernel, shape) if "aesgcm" in kernel.name else packets.chacha20poly1305(kernel, shape, folder)


def writer(kernel, shape, error):
    """Returns the last instruction that wrote a wrong byte, for a report. It runs the call again."""
    if error.address is None:
        return ""
    Call.watched, Call.written_at = error.address, None
    try:
        prove(kernel, shape, None)
    except Unproved:
        pass
    finally:
        Call.watched = None
    pc = Call.written_at
    step = kernel.program().steps.get(pc)
    return f"; written at {pc:#x} {step[3]} ({kernel.lines.get(pc, 'no line')})" if step else "; nothing wrote it"


def run(kernel, shape, trace):
    """Runs a call without checking the result, to record the instructions that it reaches."""
    mode(True, False)
    return _run(kernel, shape, trace)


def _run(kernel, shape, trace):
    if kernel.of_modes:
            return modes.prove(kernel, shape, trace, False)
    if "_batch_" in kernel.name:
        return packets.batch(kernel, shape, None, trace, False)
    if "aesgcm" in kernel.name:
        return packets.aesgcm(kernel, shape, trace, False)
    return packets.chacha20poly1305(kernel, shape, None, trace, False)
