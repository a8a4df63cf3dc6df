"""All kernels that are proved in sections, and calls of any kernel."""
from induction import blocks_gcm, blocks_modes, permute
from induction.sections import Sectioned, call, restore
from run import proof
from run.kernels import Kernel


def opened(path):
    """The kernel in an object."""
    kernel = Kernel(path)
    found = next(filter(None, (file.of(kernel) for file in (permute, blocks_gcm, blocks_modes))), None)
    return found(path) if found else kernel


def prove(kernel, shape):
    """Proves a call; before it, the sections for a key of its length, unless the last call has proved these."""
    if not isinstance(kernel, Sectioned):
        return proof.prove(kernel, shape, None)
    wanted = kernel.code, shape.bits or 128
    if getattr(kernel, "shown", None) != wanted:
        kernel.shown = None
        kernel.show(wanted[1:])
        kernel.shown = wanted
    before = dict(kernel.program().steps)
    try:
        return 0 if kernel.set_up(shape) else call(kernel.in_sections(), shape)
    finally:
        restore()
        kernel.program().steps = before
