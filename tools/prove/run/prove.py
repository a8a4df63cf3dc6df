"""Proves the properties in docs/proof.md of a kernel's machine code, for calls of given lengths and for all data.

    run.prove [--quick] [--jobs N] [--queries FOLDER] [--sizes A-B,C [--ad A-B,C] | --lanes] [--part I/N] [--atoms N]
              OBJECT...

It prints how many calls of each kernel were proved, and their lengths. The exit status is 1 if one was not. For
bit-sliced AES, one process runs similar calls one after the other, the longest first, so that their common work is
done once.
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

# How many atoms of a bit-sliced kernel accumulate until all are dropped: about 5 GB for each process.
ATOMS_BITWISE = 4_000_000


def chosen(text):
    """Returns the sizes in A-B,C."""
    out = []
    for part in text.split(","):
        a, _, b = part.partition("-")
        out += range(int(a), int(b or a) + 1)
    return out


_kernel, _atoms, _spares = None, 600_000, False


def begin(path, asked, atoms=None, spares=False):
    """Prepares a process. asked: every call is compared with the specification. spares: except those that proof.dear
    names."""
    global _kernel, _atoms, _spares
    sys.setrecursionlimit(20000)
    _atoms, _spares = atoms or _atoms, spares
    if path:
        _kernel = Kernel(path)
        _kernel.asked = asked


def chosen_part(shapes, text):
    """Returns the I-th of N parts."""
    part, parts = map(int, text.split("/"))
    return shapes[part - 1::parts]


def quick(task):
    """Runs all calls of a quick run for some kernels, in one process, so that common work is done once."""
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
    """Returns groups of kernels that compute the same. Batch kernels come first, because they take longest."""
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
    """Groups calls that one process runs one after the other. For bit-sliced AES these are similar calls. Calls that
    are not compared with the specification form separate groups, because changing between the kinds drops all
    values."""
    if not kernel.bitwise:  # keys of one length, or counters of one kind, follow each other
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
    """Yields (path, [(call, instructions, error)], CPU seconds) for each object."""
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
    """Returns the name for a report."""
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
        for error, found in reasons.items():  # of the calls with the same error, the shortest
            first = min(found, key=lambda s: (max(map(int, re.findall(r"\d+", s)), default=0), len(s)))
            print(f"FAIL {kernel}: {first}: {error}" + (f" (and in {len(found) - 1} other calls)" if len(found) > 1 else ""), flush=True)
        of = ", function of 1 of them" if args.quick and re.search(r" aes(gcm)?_(neon|armv6|mips\d+r2)$", kernel) else ""
        print(f"{'FAIL' if wrong else 'ok  '} {kernel}: {len(results) - wrong} of {len(results)} calls, {sum(n for _, n, _ in results):,} "
              f"instructions, {seconds:.0f} s of CPU{of}", flush=True)
        failed, shown = failed + wrong, shown + len(results) - wrong
    print(f"the random point is that of SEALANE_POINT={terms.SEED}")
    print(f"prove: {shown} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
