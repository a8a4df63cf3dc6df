"""Shows of a kernel's machine code, for calls of given lengths and for all data, what docs/proof.md says.

    run.prove [--quick] [--jobs N] [--queries FOLDER] [--sizes A-B,C [--ad A-B,C] | --lanes] [--part I/N] [--atoms N] OBJECT...

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

from run import lists, proof
from run.kernels import Kernel
from run.packets import GcmShape, Shape
from values import terms
from values.terms import Unproved

# Of a kernel whose AES is made of bit operations, values until all is forgotten: some 5 GB for each process.
ATOMS_BITWISE = 4_000_000


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
        _kernel = Kernel(path)
        _kernel.asked = asked


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
            results = [one((s, folder)) for s in chosen_part(lists.shapes(_kernel, True), part)]
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
        _kernel.asked = not (_kernel.bitwise and proof.dear(_kernel, shape))
    try:
        return str(shape), proof.prove(_kernel, shape, folder), None
    except Unproved as e:
        return str(shape), 0, f"{e}{proof.writer(_kernel, shape, e)}"
    except RecursionError:
        return str(shape), 0, "terms too deep"


def several(tasks):
    return [one(task) for task in tasks]


def together(kernel, tasks):
    """Calls that one process runs one after the other: where AES is made of bit operations those that have it in common, and apart from
    them those that are not compared with the specification, as all that is known is forgotten from one kind to the other."""
    if not kernel.bitwise:  # those with a key of one length, or with one kind of counters, behind each other
        tasks = sorted(tasks, key=lambda task: str(proof.alike(kernel, task[0])))
        return [tasks[i:i + 8] for i in range(0, len(tasks), 8)]
    found, spared = {}, []
    for task in tasks:
        (spared if proof.dear(kernel, task[0]) else found.setdefault(proof.alike(kernel, task[0]), [])).append(task)
    size = lambda task: -getattr(task[0], "size", 0)
    groups = [sorted(group, key=size) for group in found.values()]
    halves = [group[i::2] for group in groups for i in range(2)] if len(tasks) > 500 else groups  # for two processes
    return sorted((group for group in halves if group), key=lambda group: sum(map(size, group))) + [spared[i:i + 16] for i in range(0, len(spared), 16)]


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
            kernel = Kernel(path)
        except Unproved as e:
            yield path, [("the object", 0, str(e))], 0
            continue
        shapes = list(lists.lane_shapes()) if args.lanes else lists.shapes(kernel, False) if args.sizes is None else \
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
        of = ", function of 1 of them" if args.quick and re.search(r" aes(gcm)?_(neon|armv6|mips\d+r2)$", kernel) else ""
        print(f"{'FAIL' if wrong else 'ok  '} {kernel}: {len(results) - wrong} of {len(results)} calls, {sum(n for _, n, _ in results):,} "
              f"instructions, {seconds:.0f} s of CPU{of}", flush=True)
        failed, shown = failed + wrong, shown + len(results) - wrong
    print(f"the random point is that of SEALANE_POINT={terms.SEED}")
    print(f"prove: {shown} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
