"""Proves one call, with separate and with shared input and output."""
import copy

from run import modes, packets
from run.kernels import Call
from run.memory import ReadAgain
from values import terms
from values.linear import Undecided
from values.terms import Unproved


def mode(bitwise=False, ascending=False, by_image=False):
    """Sets how bit operations are computed, and the meaning of bits. Values of another mode are dropped."""
    if (terms.bitwise, terms.ascending, terms.by_image) != (bitwise, ascending, by_image):
        terms.forget()
        terms.bitwise, terms.by_image = bitwise, by_image
        terms.set_order(ascending)


def in_cases(run, *arguments):
    """Runs calls. If the result depends on the alignment of a pointer, it runs each case. Returns the number of instructions."""
    try:
        return run(*arguments)
    except Undecided as e:
        before, steps = Call.cases, 0
        try:
            for case in e.cases:
                Call.cases = {**before, e.pointer: case}
                steps += in_cases(run, *arguments)
        finally:
            Call.cases = before
        return steps


def prove(kernel, shape, folder):
    """Proves a call with separate input and output, and in place, unless the call is in place already. Returns the
    number of instructions."""
    return in_cases(apart_and_in_place, kernel, shape, folder)


def apart_and_in_place(kernel, shape, folder):
    try:
        return prove_one(kernel, shape, folder)
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
    mode(by_image=kernel.of_modes)
    return call(kernel, shape, folder)


def writer(kernel, error, again):
    """Returns the last instruction that wrote a wrong byte, for a report. again: runs the call."""
    if error.address is None:
        return ""
    Call.watched, Call.written_at = error.address, None
    try:
        again()
    except Unproved:
        pass
    finally:
        Call.watched = None
    pc = Call.written_at
    step = kernel.program().steps.get(pc)
    return f"; written at {pc:#x} {step[3]} ({kernel.lines.get(pc, 'no line')})" if step else "; nothing wrote it"


def run(kernel, shape, trace):
    """Runs a call without checking the result, to record the instructions that it reaches."""
    mode(by_image=kernel.of_modes)
    return call(kernel, shape, None, trace, False)


def call(kernel, shape, folder, trace=None, function=True):
    """Runs a call, and compares its result with the specification if `function` is set. Returns the number of instructions."""
    if kernel.of_modes:
        return modes.prove(kernel, shape, trace, function)
    if "_batch_" in kernel.name:
        return packets.batch(kernel, shape, folder, trace, function)
    if "aesgcm" in kernel.name:
        return packets.aesgcm(kernel, shape, trace, function)
    return packets.chacha20poly1305(kernel, shape, folder, trace, function)
