"""Kernels in which bits.py takes seconds for a block of AES. Sections of their code are proved once, separately, for
all data. In calls, a section is one instruction, whose meaning is the proved result. Round keys are then unknown
functions of the key, which only sections can use. Encrypted blocks are unknown, too, but equal blocks have equal
results.
"""
import functools

import spec
from run import lists, modes, packets, proof, prove
from run.kernels import Kernel
from spec import modes as spec_modes
from values import terms
from values.terms import ATOMS, X127, atom, cat, cut, field_power, symbol, tainted

OF = "calls of blocks that were shown once"
BITS = (128, 192, 256)
INVERSE_X127 = field_power(X127, (1 << 128) - 2)
# Functions that are replaced in calls.
REPLACED = [(module, name, getattr(module, name)) for module, names in (
    (spec, ("key_schedule", "aes")), (spec_modes, ("inverse_schedule", "decrypt")), (modes, ("key_cells",)),
    (packets, ("gcm_key", "given_key")), (proof, ("prove_one",))) for name in names]


def restore():
    for module, name, value in REPLACED:
        setattr(module, name, value)


def words(name, n=4):
    return cat(*(symbol(f"{name}{i}", 32) for i in range(n)))


def rounds_of(bits_):
    return bits_ // 32 + 6


def size_of(bits_):
    """The size of the round keys in bytes."""
    return 16 * (rounds_of(bits_) + 1)


def cipher(kind, key, block):
    """An unknown function of a block. Exclusive ors are decomposed, so that equal blocks are one value."""
    if not block.defined:
        return tainted(128)
    return atom(kind, (key, cat(*(terms.byte_of_xor(cut(block, i, 8)) for i in range(0, 128, 8)))), None, 128, (1 << 128) - 1)


def prove_one(kernel, shape, folder):
    """Replaces proof.prove_one."""
    proof.mode(False, False, False, not kernel.gcm)
    return packets.aesgcm(kernel, shape) if kernel.gcm else modes.prove(kernel, shape)


def call(kernel, shape):
    spec.key_schedule = spec_modes.inverse_schedule = lambda key: [key] if isinstance(key, terms.Value) else key
    spec.aes = lambda schedule, block: cipher("aes", schedule[0], block)
    spec_modes.decrypt = lambda schedule, block: cipher("inverse aes", schedule[0], block)
    kernel.replace()
    proof.prove_one = prove_one
    return proof.prove(kernel, shape, None)


class Sectioned(Kernel):
    """A kernel with sections, which have a start, an end, and the changes that they were proved to make. A section's
    __call__ is its effect in calls. show(quick) proves the sections, and returns the numbers of cases and
    instructions. set_up(shape): whether show() has proved this call, too. replace() defines further replacements in
    calls, in the specification and in keys."""

    bitwise = False

    def changes(self):
        return tuple(frozenset(s.changes) for s in self.sections)

    @classmethod
    @functools.cache
    def in_calls(cls, path, changes):
        """Returns the kernel with its sections as single instructions."""
        kernel = cls(path)
        for s, found in zip(kernel.sections, changes):
            s.changes = found
            kernel.program().steps[s.begin] = s, s.end, None, type(s).__name__
        return kernel

    @classmethod
    def prepare(cls, kernel, args):
        kernel = cls(kernel.path)
        return *kernel.show(args.quick), kernel.changes()

    @classmethod
    def tasks(cls, kernel, args):
        """Groups similar calls."""
        kernel = cls(kernel.path)
        shapes = [(s, None) for s in lists.shapes(kernel, args.quick) if not kernel.set_up(s)]
        return [(str(group[0][0]), [shape for shape, _ in group]) for group in prove.together(kernel, shapes)]

    @classmethod
    def one(cls, kernel, task, args, found):
        kernel = cls.in_calls(kernel.path, found.common)
        if len(ATOMS) > 600_000:
            terms.forget()
        for shape in task[1]:
            found.end(str(shape), call, kernel, shape)
