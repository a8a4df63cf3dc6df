"""The constants of asm/args.h, with which the kernels are assembled; and the folders of the sources."""
import os
import re

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.join(HERE, "..", "..")


def offsets():
    """Returns the numbers in asm/args.h, with which the kernels are assembled."""
    found = {}
    with open(os.path.join(ROOT, "asm", "args.h")) as f:
        for m in re.finditer(r"^#define SEALANE_(\w+) (\d+)", f.read(), re.M):
            found[m[1]] = int(m[2])
    return found


A = offsets()
FIRST, LAST, OPEN = A["FLAG_FIRST"], A["FLAG_LAST"], A["FLAG_OPEN"]
WHOLE = FIRST | LAST
MODES = "SETUP ECB_ENCRYPT ECB_DECRYPT CTR CBC_DECRYPT XTS_ENCRYPT XTS_DECRYPT CBC_ENCRYPT MASKS CTR_LITTLE".split()
SETUP, ECB_ENCRYPT, ECB_DECRYPT, CTR, CBC_DECRYPT, XTS_ENCRYPT, XTS_DECRYPT, CBC_ENCRYPT, MASKS, CTR_LITTLE = (
    A["AES_" + n] for n in MODES)
NAMES = {A["AES_" + n]: n.lower().replace("_", " ") for n in MODES}
