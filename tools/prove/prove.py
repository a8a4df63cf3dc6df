"""Shows of a kernel's machine code, for calls of given lengths and for all data, what docs/proof.md says.

    prove.py [--quick] [--jobs N] [--queries FOLDER] [--sizes A-B,C [--ad A-B,C] | --lanes] [--part I/N] [--atoms N] OBJECT...

Per kernel: how many calls were shown, and of which lengths. Exit status 1 if one was not. Where AES is made of bit operations,
calls that have much in common are run one after the other by one process, the longest first: what they have in common is
made once.
"""
import argparse
import multiprocessing
import os
import re
import resource
import sys
import time

import kernels
import terms
from kernels import FIRST, LAST, BatchShape, GcmShape, PolyvalShape, Setup, Shape
from terms import Unproved

# Where x86-64 kernels change from one way to the next: blocks, rows, sets of blocks, areas, and twice.
BORDERS = (64, 128, 192, 256, 384, 448, 512, 640, 768, 1024, 1088, 1280, 1536, 1600, 2048, 2112)
# And those of ARM, which go by one to four or five blocks: whatever is a multiple of a block.
ARM_BORDERS = tuple(range(640, 1409, 64))
ADS = tuple(range(0, 65)) + (128, 1000)


# From here on lengths are shown by induction (loops.py, gcmloops.py, armloops.py ..): below, each is run.
BY_INDUCTION = {"chacha20poly1305_ssse3": 448, "chacha20poly1305_avx2": 1472, "chacha20poly1305_avx512vl": 1472,
                "aesgcm_aesni": 385, "aesgcm_aesniavx": 385, "aesgcm_avx2": 513, "aesgcm_avx512": 1840,
                "chacha20poly1305_neon": 960, "chacha20poly1305_neon6": 1409, "chacha20poly1305_armv6": 128, "aesgcm_ce": 256, "aesgcm_ce32": 256}


def parts(n):
    """The flags that a call with n bytes may have: parts behind which others come are of whole blocks of ChaCha20."""
    return (FIRST | LAST, LAST) if n % 64 else (FIRST | LAST, LAST, FIRST, 0)


def chacha_shapes(quick, arm=False, induction=None):
    """Every length, sealed and opened, as a whole packet and as each part; and associated data. Each call is shown in place too
    (kernels.prove)."""
    both = (False, True)
    if quick:
        sizes = sorted({0, 1, 10, 15, 16, 17, 63, 64, 65, 130, 320} | {b + d for b in BORDERS[::4] for d in (0, 1)})
    elif induction:
        sizes = [*range(induction), 1420, 3008]
    else:
        sizes = sorted(set(range(641)) | {b + d for b in (ARM_BORDERS if arm else BORDERS) for d in (-1, 0, 1)} | {1420, 3000, 4096, 5000})
    for n in sizes:
        for opens in both:
            for flags in parts(n):
                yield Shape(n, opens=opens, flags=flags)
    for ad in ((1, 13, 64, 130) if quick else ADS):
        for n in (0, 61, 300):
            yield Shape(n, ad=ad, opens=bool(ad & 1) != bool(n & 1))
        for n in (0, 64, 192):
            yield Shape(n, ad=ad, opens=bool(ad & 1) != bool(n & 64), flags=FIRST)
    for n in (100, 700):
        for opens in both:
            yield Shape(n, ad=5, opens=opens, in_place=True)


# Of AES-GCM: blocks, and four, eight, sixteen .. of them.
GCM_BORDERS = (16, 32, 48, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
# ARM's go by up to eight blocks, after as many as are over.
ARM_GCM_BORDERS = tuple(range(320, 1025, 64))


# What counters are next to, where they are public and kernels branch on them: bytes, and 2^32.
COUNTERS = (1, 5, 2, 0xfffffffd, 250, 9, 0xfffffffe, 0x1fe, 16)


def gcm_shapes(quick, arm=False, induction=None):
    """As those of ChaCha20-Poly1305; with nonces of 12 bytes and with any J0, keys of all lengths in turn."""
    both = (False, True)
    for bits in (128, 192, 256):
        yield Setup(bits)
    if quick:
        sizes = sorted({0, 1, 10, 15, 16, 17, 64, 65, 100, 300} | {b + d for b in GCM_BORDERS[5::3] for d in (0, 1)})
    elif induction:
        sizes = [*range(induction), 1420]
    else:
        sizes = sorted(set(range(321)) | {b + d for b in (ARM_GCM_BORDERS if arm else GCM_BORDERS) for d in (-1, 0, 1)} | {1420, 3000})
    made = 0
    for n in sizes:
        for opens in both:
            for flags in parts(n):
                for j0 in both:
                    made += 1
                    yield GcmShape(n, opens=opens, flags=flags, j0=j0, bits=(128, 192, 256)[(made + made // 4) % 3],
                                   counter=COUNTERS[made // 2 % len(COUNTERS)])
    for ad in ((1, 13, 64, 130) if quick else ADS):
        for n in (0, 61, 200):
            yield GcmShape(n, ad=ad, opens=bool(ad & 1) != bool(n & 1))
        for n in (0, 64, 192):
            yield GcmShape(n, ad=ad, opens=bool(ad & 1) != bool(n & 64), flags=FIRST, bits=192)
    for n in (100, 700):
        for opens in both:
            yield GcmShape(n, ad=5, opens=opens, in_place=True)
    # AES-GCM-SIV's. Of ARM's kernels a hash key of GHASH is given; the others have POLYVAL.
    for n in (64, 640):
        yield GcmShape(n, opens=True, flags=FIRST, given=True)
    if arm:
        return
    for n in (0, 33, 320, 700) if quick else sorted({*range(340), *(b + d for b in GCM_BORDERS for d in (-1, 0, 1)), 560, 816, 1072, 1420, 3000}):
        for flags in parts(n):
            yield PolyvalShape(n, ad=n % 3 * 7 + n % 2 * 64 if flags & FIRST else n, flags=flags)
    for ad in (13, 130) if quick else ADS:
        yield PolyvalShape(20, ad=ad)


# The most that src/batch.c and internal/aead give at a time.
MOST_LANES = 64


def batch_shapes(quick):
    """All numbers of lanes, sealed and opened, with a key of their own or in common, of mixed lengths as callers sort them; and some of
    one length, or as they come."""
    both, bits = (False, True), (128, 192, 256)
    lengths = lambda count, most, ad: sorted(((n * 37 % most, n * 11 % ad) for n in range(count)), key=lambda lane: -(lane[0] // 64))
    for count in (1, 3, 9, 17, MOST_LANES) if quick else range(1, MOST_LANES + 1):
        for opens in both:
            keys = 1 if count % 3 == opens else 2 if count % 3 == 1 + opens else 0
            yield BatchShape(lengths(count, 66 if quick else 170 + count, 20), opens=opens, keys=keys, bits=bits[(count + opens) % 3])
    sizes = (0, 64, 100) if quick else (0, 1, 16, 63, 64, 65, 100, 128, 129, 256, 300, 512)
    for i, n in enumerate(sizes):
        for count in (3, 8) if quick else (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33):
            yield BatchShape([(n, 0)] * count, opens=bool((i + count) & 1))
    mixes = ([(0, 0), (1, 5), (16, 0), (64, 13), (65, 16), (200, 64), (300, 1), (31, 0), (128, 0)],)
    if not quick:
        mixes += ([(n * 37 % 300, n * 11 % 70) for n in range(16)], [(600, 3), (20, 0)], [(1100, 0), (1, 1), (1024, 100)])
        mixes += ([(64, 0)] * MOST_LANES,)
    for lanes in mixes:
        for opens in both:
            yield BatchShape(lanes, opens=opens)
            yield BatchShape(lanes, opens=opens, in_place=True, bits=256, keys=1)


# Of a kernel whose AES is made of bit operations, values until all is forgotten: some 5 GB for each process.
ATOMS_BITWISE = 2_500_000
# Longer packets are no lanes: of 64 bytes and more, SEALANE_BATCH_CLASSES of src/level.h times.
LANE_CLASSES = 32


def lane_shapes():
    """Every length that front ends give to a lane, sealed and opened: once among lanes of as many whole blocks, once among lanes of all
    numbers of them, sorted as front ends sort them. 16 lanes, whose keys are those of all calls, so that much is made once."""
    more = lambda i, j: ((7 * j + i) % 33,)
    for i in range(4 * LANE_CLASSES):
        c, r = divmod(i, 4)
        yield BatchShape([(64 * c + 16 * r + j, *more(i, j)) for j in range(16)], opens=bool((c ^ r) & 1), in_place=bool(i & 4), bits=(128, 192, 256)[i % 3])
    for i in range(128):
        parity, n = divmod(i, 64)
        yield BatchShape([(64 * (2 * k + parity) + n, *more(i, k)) for k in range(LANE_CLASSES // 2 - 1, -1, -1)],
                         opens=not (parity ^ n // 16) & 1, in_place=bool(i & 2), bits=(128, 192, 256)[i % 3])


def chosen(text):
    """Sizes from A-B,C."""
    out = []
    for part in text.split(","):
        a, _, b = part.partition("-")
        out += range(int(a), int(b or a) + 1)
    return out


_kernel, _atoms, _spares = None, 600_000, False


def begin(path, asked, atoms=None, spares=False):
    """asked: for the function of every call; spares: but of those that are dear."""
    global _kernel, _atoms, _spares
    sys.setrecursionlimit(20000)
    _atoms, _spares = atoms or _atoms, spares
    if path:
        _kernel = kernels.Kernel(path)
        _kernel.asked = asked


def induction_options(quick=None):
    """The options that all inductions have; what --quick leaves out may be said."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("objects", nargs="+")
    return parser


def chosen_part(shapes, text):
    """The I-th of N parts."""
    part, parts = map(int, text.split("/"))
    return shapes[part - 1::parts]


def quick(task):
    """All calls of a quick run of some kernels, in one process: what they have in common is done once."""
    paths, folder, part = task
    found = []
    for path in paths:
        before = time.process_time()
        try:
            begin(path, False)
            results = [one((s, folder)) for s in chosen_part(kernels.shapes(_kernel, True), part)]
        except Unproved as e:
            results = [("the object", 0, str(e))]
        found.append((path, results, time.process_time() - before))
    return found


def families(paths):
    """Kernels that compute the same, of many packets first: those take longest."""
    found = {}
    for path in paths:
        name = os.path.basename(path)
        found.setdefault(("_batch_" not in name, os.path.dirname(path), name.split("_")[0]), []).append(path)
    return [found[k] for k in sorted(found)]


def one(task):
    shape, folder = task
    if len(terms.ATOMS) > _atoms:
        terms.forget()
    if _spares:
        _kernel.asked = not (_kernel.bitwise and kernels.dear(_kernel, shape))
    try:
        return str(shape), kernels.prove(_kernel, shape, folder), None
    except Unproved as e:
        return str(shape), 0, str(e)
    except RecursionError:
        return str(shape), 0, "terms too deep"


def several(tasks):
    return [one(task) for task in tasks]


def together(kernel, tasks):
    """Calls that one process runs one after the other: where AES is made of bit operations those that have it in common."""
    if not kernel.bitwise:
        return [tasks[i:i + 8] for i in range(0, len(tasks), 8)]
    found = {}
    for task in tasks:
        found.setdefault(kernels.alike(kernel, task[0]), []).append(task)
    size = lambda task: -getattr(task[0], "size", 0)
    groups = [sorted(group, key=size) for group in found.values()]
    halves = [group[i::2] for group in groups for i in range(2)] if len(tasks) > 500 else groups  # for two processes
    return sorted((group for group in halves if group), key=lambda group: sum(map(size, group)))


def processor_time():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def runs(args):
    """(path, [(call, instructions, error)], CPU seconds) of each object."""
    if args.quick:
        with multiprocessing.Pool(args.jobs, begin, (None, False)) as pool:
            for found in pool.imap(quick, [(paths, args.queries, args.part) for paths in families(args.objects)]):
                yield from found
        return
    for path in args.objects:
        try:
            kernel = kernels.Kernel(path)
        except Unproved as e:
            yield path, [("the object", 0, str(e))], 0
            continue
        shapes = list(lane_shapes()) if args.lanes else kernels.shapes(kernel, False) if args.sizes is None else \
            [(GcmShape if "aesgcm" in kernel.name else Shape)(n, ad=ad, opens=o) for n in args.sizes for ad in args.ad for o in (False, True)]
        begun, before, results = time.time(), processor_time(), []
        atoms, said = args.atoms or (ATOMS_BITWISE if kernel.bitwise else 600_000), 0
        with multiprocessing.Pool(args.jobs, begin, (path, True, atoms, args.sizes is None)) as pool:
            tasks = [(s, args.queries) for s in chosen_part(shapes, args.part)]
            for found in pool.imap_unordered(several, together(kernel, tasks)):
                results += found
                if time.time() - begun > said + 60:
                    said = time.time() - begun
                    print(f"     {kernel}: {len(results)} of {len(tasks)}, {said:.0f} s", flush=True)
            pool.close()
            pool.join()
        yield path, results, processor_time() - before


def name_of(path):
    """As a report says it."""
    return " ".join(path.removesuffix(".o").split(os.sep)[-2:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--queries")
    parser.add_argument("--sizes", type=chosen)
    parser.add_argument("--ad", type=chosen, default=[0], help="with --sizes: bytes of associated data")
    parser.add_argument("--lanes", action="store_true", help="of kernels of many packets: every length that front ends give to a lane")
    parser.add_argument("--atoms", type=int, help="values until all is forgotten, at 1 to 4 KB each")
    parser.add_argument("--part", default="1/1", help="the I-th of N parts of each kernel's calls, for a run in pieces")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    failed = shown = 0
    for path, results, seconds in runs(args):
        kernel, wrong = name_of(path), 0
        reasons = {}
        for shape, _, error in results:
            if error:
                wrong += 1
                reasons.setdefault(error, []).append(shape)
        for error, found in reasons.items():  # of the calls that show the same, the shortest
            first = min(found, key=lambda s: (max(map(int, re.findall(r"\d+", s)), default=0), len(s)))
            print(f"FAIL {kernel}: {first}: {error}" + (f" (and in {len(found) - 1} other calls)" if len(found) > 1 else ""), flush=True)
        of = ", function of 1 of them" if args.quick and re.search(r" aes(gcm)?_(neon|armv6)$", kernel) else ""
        print(f"{'FAIL' if wrong else 'ok  '} {kernel}: {len(results) - wrong} of {len(results)} calls, {sum(n for _, n, _ in results):,} "
              f"instructions, {seconds:.0f} s of CPU{of}", flush=True)
        failed, shown = failed + wrong, shown + len(results) - wrong
    print(f"the random point is that of SEALANE_POINT={terms.SEED}")
    print(f"prove: {shown} passed, {failed} failed, 0 not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
