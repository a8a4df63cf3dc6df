"""Shows of a kernel's machine code, for calls of given lengths and for all data, what PROOF.md says.

    prove.py [--quick] [--jobs N] [--queries FOLDER] [--sizes A-B,C [--ad A-B,C] | --lanes] [--part I/N] [--atoms N] OBJECT...

Per kernel: how many calls were shown, and of which lengths. Exit status 1 if one was not. Where AES is made of bit operations,
calls that have much in common are run one after the other by one process, the longest first: what they have in common is
made once.
"""
import argparse
import multiprocessing
import os
import resource
import sys
import time

import kernels
import terms
from kernels import FIRST, LAST, BatchShape, GcmShape, Setup, Shape
from terms import Unproved

# Where x86-64 kernels change from one way to the next: blocks, rows, sets of blocks, areas, and twice.
BORDERS = (64, 128, 192, 256, 384, 448, 512, 640, 768, 1024, 1088, 1280, 1536, 1600, 2048, 2112)
# And those of ARM, which go by one to four or five blocks: whatever is a multiple of a block.
ARM_BORDERS = tuple(range(640, 1409, 64))
ADS = tuple(range(0, 65)) + (128, 1000)


# From here on lengths are shown by induction (loops.py, gcmloops.py, armloops.py ..): below, each is run.
BY_INDUCTION = {"chacha20poly1305_ssse3": 448, "chacha20poly1305_avx2": 1472, "chacha20poly1305_avx512vl": 1152,
                "aesgcm_aesni": 385, "aesgcm_aesniavx": 385, "aesgcm_avx2": 513, "aesgcm_avx512": 1840,
                "chacha20poly1305_neon": 960, "chacha20poly1305_neon6": 1409, "chacha20poly1305_armv6": 128, "aesgcm_ce": 256, "aesgcm_ce32": 256}


def chacha_shapes(quick, arm=False, induction=None):
    """Calls that stand for all: every short length, both sides of every border, associated data, parts, in place."""
    both = (False, True)
    if quick:
        sizes = sorted({0, 1, 15, 16, 17, 63, 64, 65, 130, 320} | {b + d for b in BORDERS[::4] for d in (0, 1)})
    elif induction:
        sizes = [*range(induction), 1420, 3000]
    else:
        sizes = sorted(set(range(641)) | {b + d for b in (ARM_BORDERS if arm else BORDERS) for d in (-1, 0, 1)} | {1420, 3000, 4096, 5000})
    for n in sizes:
        for opens in both:
            yield Shape(n, opens=opens)
    for ad in ((1, 13, 64, 130) if quick else ADS):
        for n in (0, 61, 300):
            yield Shape(n, ad=ad, opens=bool(ad & 1) != bool(n & 1))
    for n in ((100, 700) if quick else (0, 1, 64, 100, 200, 333, 512, 700, 1111, 1500, 2500)):
        for opens in both:
            yield Shape(n, ad=5, opens=opens, in_place=True)
            yield Shape(n, ad=3, opens=opens, offset=1, in_place=n % 2 == 0)
    for opens in both:
        for n in ((64, 1024) if quick else (0, 64, 128, 192, 256, 448, 512, 576, 1024, 1088, 1536, 2048, 4096)):
            yield Shape(n, ad=20, opens=opens, flags=FIRST)
            yield Shape(n, opens=opens, flags=0, counter=5)
            yield Shape(n, opens=opens, flags=0, counter=(1 << 32) - n // 64 - 1)
        for n in ((0, 1, 200) if quick else (0, 1, 16, 63, 64, 65, 128, 200, 511, 512, 513, 1000, 1500, 2100)):
            yield Shape(n, ad=20, opens=opens, flags=LAST, counter=9, total=512 + n)
            yield Shape(n, opens=opens, flags=LAST, counter=(1 << 32) - (n + 63) // 64 - 1, total=(1 << 38) - 64)


# Of AES-GCM: blocks, and four, eight, sixteen .. of them.
GCM_BORDERS = (16, 32, 48, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
# ARM's go by up to eight blocks, after as many as are over.
ARM_GCM_BORDERS = tuple(range(320, 1025, 64))


def gcm_shapes(quick, arm=False, induction=None):
    both = (False, True)
    keys = (128, 256) if quick else (128, 192, 256)
    for bits in (128, 192, 256):
        yield Setup(bits)
    if quick:
        sizes = sorted({0, 1, 15, 16, 17, 64, 65, 100, 300} | {b + d for b in GCM_BORDERS[5::3] for d in (0, 1)})
    elif induction:
        sizes = [*range(induction), 1420]
    else:
        sizes = sorted(set(range(321)) | {b + d for b in (ARM_GCM_BORDERS if arm else GCM_BORDERS) for d in (-1, 0, 1)} | {1420, 3000})
    for n in sizes:
        for opens in both:
            yield GcmShape(n, opens=opens, bits=keys[n % len(keys)])
    for ad in ((1, 13, 64, 130) if quick else ADS):
        for n in (0, 61, 200):
            yield GcmShape(n, ad=ad, opens=bool(ad & 1) != bool(n & 1))
    for n in ((100, 700) if quick else (0, 1, 16, 100, 200, 333, 512, 700, 1111, 1500)):
        for opens in both:
            yield GcmShape(n, ad=5, opens=opens, in_place=True)
            yield GcmShape(n, ad=3, opens=opens, offset=1, in_place=n % 2 == 0, bits=256)
            yield GcmShape(n, opens=opens, j0=True)
    for opens in both:
        for n in ((0, 64, 512) if quick else (0, 64, 128, 192, 256, 512, 576, 1024, 1536)):
            yield GcmShape(n, ad=20, opens=opens, flags=FIRST)
            yield GcmShape(n, opens=opens, flags=0, counter=5, j0=bool(n & 128))
            yield GcmShape(n, opens=opens, flags=0, counter=(1 << 32) - 3)
        for n in ((0, 1, 200) if quick else (0, 1, 16, 63, 64, 65, 128, 200, 511, 512, 513, 1000)):
            yield GcmShape(n, ad=20, opens=opens, flags=LAST, counter=9, total=512 + n)
            yield GcmShape(n, opens=opens, flags=LAST, counter=(1 << 32) - 2, total=(1 << 36) - 32, bits=192)


def batch_shapes(quick):
    """Lanes of one length, of mixed lengths, from one to more than the kernel takes at a time."""
    counts = (1, 3, 8, 17) if quick else tuple(range(1, 20)) + (31, 32, 33)
    sizes = (0, 64, 100) if quick else (0, 1, 16, 63, 64, 65, 100, 128, 129, 256, 300, 512)
    for i, n in enumerate(sizes):
        for count in counts if not quick or n == 64 else counts[1:3]:
            yield BatchShape([(n, 0)] * count, opens=bool((i + count) & 1))
    mixes = ([(0, 0), (1, 5), (16, 0), (64, 13), (65, 16), (200, 64), (300, 1), (31, 0), (128, 0)],)
    # As many as callers give at a time, which are sorted by whole blocks.
    many = lambda most: sorted(((n * 37 % most, n % 20) for n in range(64)), key=lambda lane: -(lane[0] // 64))
    if quick:
        yield BatchShape(many(66), opens=True)
    else:
        mixes += ([(n * 37 % 300, n * 11 % 70) for n in range(16)], [(600, 3), (20, 0)], [(1100, 0), (1, 1), (1024, 100)])
        mixes += ([(64, 0)] * 64, many(200))
    for lanes in mixes:
        for opens in (False, True):
            yield BatchShape(lanes, opens=opens)
            yield BatchShape(lanes, opens=opens, in_place=True, offset=1, bits=256)


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
        begin(path, False)
        before = time.process_time()
        results = [one((s, folder)) for s in chosen_part(kernels.shapes(_kernel, True), part)] if _kernel.specified else None
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
    """(path, [(call, instructions, error)] or None, CPU seconds) of each object."""
    if args.quick:
        with multiprocessing.Pool(args.jobs, begin, (None, False)) as pool:
            for found in pool.imap(quick, [(paths, args.queries, args.part) for paths in families(args.objects)]):
                yield from found
        return
    for path in args.objects:
        kernel = kernels.Kernel(path)
        if not kernel.specified:
            yield path, None, 0
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
    failed = shown = unknown = 0
    for path, results, seconds in runs(args):
        kernel = kernels.Kernel(path)
        if results is None:
            print(f"none {kernel}: no specification here: nothing is shown of it", flush=True)
            unknown += 1
            continue
        wrong = 0
        for shape, _, error in results:
            if error:
                wrong += 1
                print(f"FAIL {kernel}: {shape}: {error}", flush=True)
        of = ", function of 1 of them" if kernel.bitwise and args.quick else ""
        print(f"{'FAIL' if wrong else 'ok  '} {kernel}: {len(results) - wrong} of {len(results)} calls, {sum(n for _, n, _ in results):,} "
              f"instructions, {seconds:.0f} s of CPU{of}", flush=True)
        failed, shown = failed + wrong, shown + len(results) - wrong
    print(f"prove: {shown} passed, {failed} failed, {unknown} not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
