"""run.prove of RISC-V's kernels with AES instructions, whose calls differ in two things (asm/args.h):

- Neither POLYVAL nor AES_CTR_LITTLE is used there.
- Set-up of a key writes into the 240 bytes of SCHEDULE that are the level's, and not only those of its round keys.
"""
from run import kernels, lists, modes, prove
from run.packets import PolyvalShape
from spec.args import A, CTR_LITTLE

of_all = lists.shapes


class Call(kernels.Call):
    def regions(self, *more):
        super().regions(*((name, at, A["AES_KEY_INVERSE"] - A["AES_KEY_SCHEDULE"] if name == "schedule" else size, *how)
                          for name, at, size, *how in more))


def shapes(kernel, quick):
    return [s for s in of_all(kernel, quick) if not isinstance(s, PolyvalShape) and getattr(s, "mode", None) != CTR_LITTLE]


def main():
    lists.shapes, modes.Call = shapes, Call
    return prove.main()
