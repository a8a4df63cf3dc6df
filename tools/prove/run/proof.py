"""One call: apart and in place, with the function or without."""
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
    """How bit operations are taken, and the meaning of bits. Knowledge from another mode is dropped."""
    if (terms.opaque, terms.bitwise, terms.ascending, terms.by_image) != (opaque, bitwise, ascending, by_image):
        terms.forget()
        terms.opaque, terms.bitwise, terms.by_image = opaque, bitwise, by_image
        terms.set_order(ascending)


def full(kernel, shape):
    """Whether every lane of a kernel whose AES is made of bit operations has a block."""
    if not kernel.of_modes:
        return True  # that of a counter at least
    lanes = 1 if kernel.isa is x86 else 2 if kernel.name.endswith("armv6") else 8
    return shape.mode != modes.SETUP and (shape.lanes or shape.blocks) % lanes == 0


_about = None


def alike(kernel, shape):
    """Calls with much in common. Others do not share their knowledge, where AES is made of bit operations: keys of all
    lengths have the same words, and a search of the facts about an S-box's input takes longer, the more there are."""
    return kernel.name, kernel.isa.POINTER, getattr(shape, "bits", None), getattr(shape, "mode", None), getattr(shape, "j0", None)


def dear(kernel, shape):
    """Where AES is made of bit operations: calls of which each key takes seconds; parts, except some ends; and each block that is
    authenticated, of those that no other call has alike."""
    if getattr(shape, "lanes", 0) > 25:
        return True
    if isinstance(shape, PolyvalShape) and kernel.name.endswith("aesgcm_armv6"):
        return shape.size + shape.ad > 100
    if kernel.of_modes or isinstance(shape, Setup):
        return False
    return shape.flags != FIRST | LAST and not (shape.size <= 200 and shape.size % 16 in ENDS) or \
        kernel.name.endswith(("aesgcm_armv6", "r2")) and (shape.size > 200 or shape.ad > 0)


def prove(kernel, shape, folder):
    """Apart and in place, unless the call is in place; and for each alignment that it asks for. Returns the number of instructions."""
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
    """Where AES is made of bit operations, without the function unless that is asked for."""
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
    """Of a wrong byte, the instruction that wrote it last, for a report; the call is made again."""
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
    """Without looking at the result: which instructions are reached."""
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
