"""The calls of a kernel that are run: all of them, or a few in a quick run."""
import itertools
import random

from isa import x86
from run import modes
from run.packets import BatchShape, GcmShape, PolyvalShape, Setup, Shape
from spec.args import FIRST, LAST, WHOLE

# Where x86-64 kernels change between code paths: one block, rows, sets of blocks, areas, and twice these.
BORDERS = (64, 128, 192, 256, 384, 448, 512, 640, 768, 1024, 1088, 1280, 1536, 1600, 2048, 2112)
# The same for ARM kernels, which process one to four or five blocks at a time: every multiple of a block.
ARM_BORDERS = tuple(range(640, 1409, 64))
ADS = tuple(range(0, 65)) + (128, 1000)


# Longer lengths are proved by induction (induction/chacha_loop.py, gcm.py, ...). Each shorter one is run.
BY_INDUCTION = {"chacha20poly1305_ssse3": 448, "chacha20poly1305_avx2": 1472, "chacha20poly1305_avx512vl": 1472,
                "aesgcm_aesni": 385, "aesgcm_aesniavx": 385, "aesgcm_avx2": 513, "aesgcm_avx512": 1840,
                "chacha20poly1305_neon": 960, "chacha20poly1305_neon6": 1409, "chacha20poly1305_armv6": 128, "aesgcm_ce": 256, "aesgcm_ce32": 256}


# From this length of text on, the whole packets and first parts without associated data are left to induction/ad.py. It
# proves them together with those that have some.
ANY_DATA = {"aesgcm_avx512": 257}


# Counters before a carry, for kernels that branch on public counters: carries of bytes, and at 2^32.
COUNTERS = (1, 5, 2, 0xfffffffd, 250, 9, 0xfffffffe, 0x1fe, 16)
# For AES-GCM: one block, and four, eight, sixteen, ... blocks.
GCM_BORDERS = (16, 32, 48, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
# ARM kernels process up to eight blocks at a time, after the remaining ones.
ARM_GCM_BORDERS = tuple(range(320, 1025, 64))
# From this length on, nonces of 12 bytes alternate with any J0.
ALL_NONCES = 320
BOTH = (False, True)


def near(borders, *before):
    """The lengths at borders, and those before and behind them."""
    return {b + d for b in borders for d in (*before, 0, 1)}


def texts(sizes):
    """(length, whether it opens, flags) of whole packets and of each part. Parts before others have whole blocks of
    ChaCha20."""
    for n in sorted(sizes):
        for opens in BOTH:
            for flags in (WHOLE, LAST) if n % 64 else (WHOLE, LAST, FIRST, 0):
                yield n, opens, flags


def with_data(shape, quick, third):
    """Calls with associated data. third: one of the lengths of text."""
    for ad in (1, 13, 64, 130) if quick else ADS:
        for n in (0, 61, third):
            yield shape(n, ad=ad, opens=bool(ad & 1) != bool(n & 1))
        for n in (0, 64, 192):
            yield shape(n, ad=ad, opens=bool(ad & 1) != bool(n & 64), flags=FIRST)
    for n in (100, 700):
        for opens in BOTH:
            yield shape(n, ad=5, opens=opens, in_place=True)


def chacha_shapes(quick, arm=False, induction=None):
    """Every length, sealed and opened, as a whole packet and as each part; then associated data. Each call also proves
    the call in place (proof.prove)."""
    if quick:
        sizes = {0, 1, 10, 15, 16, 17, 63, 64, 65, 130, 320} | near(BORDERS[::4])
    elif induction:
        sizes = {*range(induction), 1420, 3008}
    else:
        sizes = {*range(641), 1420, 3000, 4096, 5000} | near(ARM_BORDERS if arm else BORDERS, -1)
    for n, opens, flags in texts(sizes):
        yield Shape(n, opens=opens, flags=flags)
    yield from with_data(Shape, quick, 300)


def gcm_shapes(quick, arm=False, induction=None):
    """As chacha_shapes, with nonces of 12 bytes and with any J0. Keys of all lengths alternate."""
    for bits in (128, 192, 256):
        yield Setup(bits)
    if quick:
        sizes = {0, 1, 10, 15, 16, 17, 64, 65, 100, 300} | near(GCM_BORDERS[5::3])
    elif induction:
        sizes = {*range(induction), 1420}
    else:
        sizes = {*range(321), 1420, 3000} | near(ARM_GCM_BORDERS if arm else GCM_BORDERS, -1)
    made = 0
    for n, opens, flags in texts(sizes):
        for j0 in BOTH if n <= ALL_NONCES else ((n + opens + bool(flags & FIRST)) % 2 == 1,):
            made += 1
            yield GcmShape(n, opens=opens, flags=flags, j0=j0, bits=(128, 192, 256)[(made + made // 4) % 3],
                           counter=COUNTERS[made // 2 % len(COUNTERS)])
    made = itertools.count()

    def of_any_key(n, **more):
        i = next(made)
        return GcmShape(n, bits=(128, 192, 256)[(i + i // 6) % 3], j0=(i + i // 36) % 2 == 1, **more)
    yield from with_data(of_any_key, quick, 200)
    # For AES-GCM-SIV: MIPS kernels get a hash key for GHASH; the others have POLYVAL.
    for n in (64, 640):
        yield GcmShape(n, opens=True, flags=FIRST, given=True)
    for n, opens, flags in texts((0, 33, 320, 700) if quick else {*range(340), 560, 816, 1072, 1420, 3000} | near(GCM_BORDERS, -1)):
        if not opens:
            yield PolyvalShape(n, ad=n % 3 * 7 + n % 2 * 64 if flags & FIRST else n, flags=flags)
    for ad in (13, 130) if quick else ADS:
        yield PolyvalShape(20, ad=ad)


# The most lanes that src/batch.c and internal/aead pass at once.
MOST_LANES = 64


def batch_shapes(quick):
    """All numbers of lanes, with separate keys, one key, and a key for each two, sealed or opened, of mixed lengths in the callers'
    order. Also some of one length, or unsorted."""
    lengths = lambda count, most, ad: sorted(((n * 37 % most, n * 11 % ad) for n in range(count)), key=lambda lane: -(lane[0] // 64))
    for count in (1, 3, 9, 17, MOST_LANES) if quick else range(1, MOST_LANES + 1):
        for keys, opens in ((0, False), (0, True), (1, count % 2 == 0), (2, count % 2 == 1)):
            yield BatchShape(lengths(count, 66 if quick else 170 + count, 20), opens=opens, keys=keys)
    sizes = (0, 64, 100) if quick else (0, 1, 16, 63, 64, 65, 100, 128, 129, 256, 300, 512)
    for i, n in enumerate(sizes):
        for count in (3, 8) if quick else (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33):
            yield BatchShape([(n, 0)] * count, opens=bool((i + count) & 1))
    mixes = ([(0, 0), (1, 5), (16, 0), (64, 13), (65, 16), (200, 64), (300, 1), (31, 0), (128, 0)],)
    if not quick:
        mixes += ([(n * 37 % 300, n * 11 % 70) for n in range(16)], [(600, 3), (20, 0)], [(1100, 0), (1, 1), (1024, 100)])
        mixes += ([(64, 0)] * MOST_LANES,)
    for lanes in mixes:
        for opens in BOTH:
            yield BatchShape(lanes, opens=opens)
            yield BatchShape(lanes, opens=opens, in_place=True, keys=1)


# Longer packets are not passed to lanes. The limit is 64 bytes times SEALANE_BATCH_CLASSES of src/level.h.
LANE_CLASSES = 32


def lane_shapes():
    """Every length that front ends pass to a lane, sealed and opened. Each runs among lanes of equally many whole
    blocks, and among lanes of all numbers of them, in the front ends' order. All calls have the same 16 keys, whose
    set-up is then shared."""
    more = lambda i, j: ((7 * j + i) % 33,)
    for i in range(4 * LANE_CLASSES):
        c, r = divmod(i, 4)
        yield BatchShape([(64 * c + 16 * r + j, *more(i, j)) for j in range(16)], opens=bool((c ^ r) & 1), in_place=bool(i & 4))
    for i in range(128):
        parity, n = divmod(i, 64)
        yield BatchShape([(64 * (2 * k + parity) + n, *more(i, k)) for k in range(LANE_CLASSES // 2 - 1, -1, -1)],
                         opens=not (parity ^ n // 16) & 1, in_place=bool(i & 2))


def by_induction(kernel):
    """The length from which induction proves a kernel's texts, or None."""
    return {**BY_INDUCTION, **getattr(kernel.isa, "BY_INDUCTION", {})}.get(kernel.name.removeprefix("sealane_"))


def left_to_ad(kernel, shape):
    """Whether run.prove leaves a call of shapes() to induction/ad.py, which requires that it has them all."""
    name = kernel.name.removeprefix("sealane_")
    if name not in ANY_DATA or type(shape) not in (Shape, GcmShape) or shape.ad or shape.in_place:
        return False
    return ANY_DATA[name] <= shape.size < BY_INDUCTION[name] and shape.flags & FIRST and not getattr(shape, "given", False)


def shapes(kernel, quick):
    if kernel.of_modes:
        found = modes.shapes(kernel, quick)
    elif "_batch_" in kernel.name:
        found = list(batch_shapes(quick))
    else:
        make = gcm_shapes if "aesgcm" in kernel.name else chacha_shapes
        found = list(make(quick, kernel.isa is not x86, by_induction(kernel)))
    if not kernel.has_siv:
        found = [s for s in found if not isinstance(s, PolyvalShape)]
    if not quick:
        return found
    # Each kernel runs different calls, always the same ones, so all kernels together run all.
    always = lambda s: isinstance(s, Setup) or getattr(s, "given", False)
    setup, rest = [s for s in found if always(s)], [s for s in found if not always(s)]
    random.Random(str(kernel)).shuffle(rest)
    if "_batch_" in kernel.name:  # first the usual number of lanes, then a call that seals
        rest.sort(key=lambda s: len(s.lanes) != 64)
        rest[1:] = sorted(rest[1:], key=lambda s: s.opens)
    return setup + rest[:4 if "_batch_" in kernel.name else 8]
