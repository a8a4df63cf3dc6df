"""Kernels whose AES takes bits.py seconds a block: sections of their code are shown by themselves, once for all data. In calls each is one
instruction, whose meaning is the result that was shown. Round keys are then functions of the key of which nothing is known, and which only sections
can use. So are encrypted blocks, except that equal blocks have equal results.
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
# What calls have something else for.
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
    """Of the round keys, in bytes."""
    return 16 * (rounds_of(bits_) + 1)


def cipher(kind, key, block):
    """A function of which nothing is known. Exclusive ors are taken apart, so that equal blocks are one value."""
    if not block.defined:
        return tainted(128)
    return atom(kind, (key, cat(*(terms.byte_of_xor(cut(block, i, 8)) for i in range(0, 128, 8)))), None, 128, (1 << 128) - 1)


def prove_one(kernel, shape, folder):
    """In place of proof.prove_one."""
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
    """sections: where they begin and end; the changes that they were shown to make; and, by __call__, what they do in calls. show(quick):
    shows them, and returns how many cases and instructions. set_up(shape): whether show() has shown this call, too. replace(): says what
    else of the specification and of keys is another one in calls."""

    bitwise = False

    def changes(self):
        return tuple(frozenset(s.changes) for s in self.sections)

    @classmethod
    @functools.cache
    def in_calls(cls, path, changes):
        """With sections as single instructions."""
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
        """Calls with much in common together."""
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
