"""Proves the properties in docs/proof.md of a kernel's machine code, for calls of given lengths and for all data.

    run.prove [--quick] [--jobs N] [--queries FOLDER] [--sizes A-B,C [--ad A-B,C] | --lanes] [--part I/N] OBJECT...

It prints how many calls of each kernel were proved. The exit status is 1 if one was not. Kernels with bit-sliced AES are
proved in sections (induction/sections.py).
"""
import argparse
import multiprocessing
import os
import re
import resource
import sys

from run import lists, proof
from run.kernels import Kernel
from run.packets import GcmShape, Shape
from values import terms
from values.terms import Unproved


def chosen(text):
    """Returns the sizes in A-B,C."""
    out = []
    for part in text.split(","):
        a, _, b = part.partition("-")
        out += range(int(a), int(b or a) + 1)
    return out


def chosen_part(shapes, text):
    """Returns the I-th of N parts."""
    part, parts = map(int, text.split("/"))
    return shapes[part - 1::parts]


def families(paths):
    """Returns groups of kernels that compute the same. Batch kernels come first, because they take longest."""
    found = {}
    for path in paths:
        name = os.path.basename(path)
        found.setdefault(("_batch_" not in name, os.path.dirname(path), name.split("_")[0]), []).append(path)
    return [found[k] for k in sorted(found)]


def shapes_of(kernel, args):
    if args.lanes:
        found = list(lists.lane_shapes())
    elif args.sizes:
        found = [(GcmShape if "aesgcm" in kernel.name else Shape)(n, ad=ad, opens=o) for n in args.sizes for ad in args.ad for o in (False, True)]
    else:
        found = lists.shapes(kernel, args.quick)
        left = [] if args.quick else [s for s in found if lists.left_to_ad(kernel, s)]
        if left:
            print(f"     {kernel}: {len(left)} calls are left to induction.ad", flush=True)
            found = [s for s in found if s not in left]
    return chosen_part(found, args.part)


def together(kernel, shapes):
    """Groups calls that one process runs one after the other. Keys of one length, or counters of one kind, follow each other."""
    about = lambda s: str([getattr(s, name, None) for name in ("keys", "bits", "mode", "j0")])
    shapes = sorted(shapes, key=about)
    return [shapes[i:i + 8] for i in range(0, len(shapes), 8)]


_kernel = None


def begin():
    sys.setrecursionlimit(20000)


def several(group):
    """Proves calls of kernels: [(path, shapes)]. Returns [(path, call, instructions, error, CPU seconds)]."""
    global _kernel
    paths, folder = group
    results = []
    for path, shapes in paths:
        if not _kernel or _kernel.path != path:
            _kernel = Kernel(path)
        for shape in shapes:
            if len(terms.ATOMS) > terms.MANY:
                terms.forget()
            before = processor_time()
            try:
                steps, error = proof.prove(_kernel, shape, folder), None
            except Unproved as e:
                steps, error = 0, f"{e}{proof.writer(_kernel, e, lambda: proof.prove(_kernel, shape, None))}"
            except RecursionError:
                steps, error = 0, "terms too deep"
            results.append((path, str(shape), steps, error, processor_time() - before))
    return results


def processor_time():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def report(path, results):
    """Prints the results of a kernel. Returns how many calls failed."""
    kernel, reasons = " ".join(path.removesuffix(".o").split(os.sep)[-2:]), {}
    for _, shape, _, error, _ in results:
        if error:
            reasons.setdefault(error, []).append(shape)
    for error, found in reasons.items():  # of the calls with the same error, the shortest
        first = min(found, key=lambda s: (max(map(int, re.findall(r"\d+", s)), default=0), len(s)))
        print(f"FAIL {kernel}: {first}: {error}" + (f" (and in {len(found) - 1} other calls)" if len(found) > 1 else ""), flush=True)
    wrong = sum(map(len, reasons.values()))
    print(f"{'FAIL' if wrong else 'ok  '} {kernel}: {len(results) - wrong} of {len(results)} calls, {sum(r[2] for r in results):,} "
          f"instructions, {sum(r[4] for r in results):.0f} s of CPU", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--queries")
    parser.add_argument("--sizes", type=chosen)
    parser.add_argument("--ad", type=chosen, default=[0], help="with --sizes: bytes of associated data")
    parser.add_argument("--lanes", action="store_true", help="of kernels of many packets: every length that front ends give to a lane")
    parser.add_argument("--part", default="1/1", help="the I-th of N parts of each kernel's calls, for a run in pieces")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    results, groups = {}, []
    for family in families(args.objects):
        of_family = []
        for path in family:
            results[path] = []
            try:
                kernel = Kernel(path)
            except Unproved as e:
                results[path].append((path, "the object", 0, str(e), 0))
                continue
            of_family += [(path, group) for group in together(kernel, shapes_of(kernel, args))]
        # In a quick run, one process runs all calls of a family, so that common work is done once.
        groups += [of_family] if args.quick else [[one] for one in of_family]
    with multiprocessing.Pool(args.jobs, begin) as pool:
        for found in pool.imap_unordered(several, [(group, args.queries) for group in groups]):
            for result in found:
                results[result[0]].append(result)
        pool.close()
        pool.join()
    failed = sum(report(path, found) for path, found in results.items())
    print(f"the random point is that of SEALANE_POINT={terms.SEED}")
    print(f"prove: {sum(map(len, results.values())) - failed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
