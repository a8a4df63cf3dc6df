"""The command lines of run.abi and run.frame, which check the code that C links."""
import argparse
import glob
import os
import subprocess
import tempfile

from spec.args import ROOT
from values.terms import Unproved


def assemble(command, source, folder, *flags):
    """Returns the path of the object."""
    path = os.path.join(folder, "a.o")
    subprocess.run([*command, *flags, "-o", path, source], check=True)
    return path


def results(names, prove):
    """Yields (convention or compiler, number of instructions that are not Go's, reason of a refusal)."""
    for name in names:
        try:
            yield name, prove(name), None
        except Unproved as e:
            yield name, 0, str(e)


def main(part, folders, conventions):
    """Checks sources, by default all in these folders. conventions(source, folder, name of the source's folder): the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="*")
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in args.sources or sorted(s for isa in folders for s in glob.glob(os.path.join(ROOT, "asm", isa, "*.S"))):
            isa, name = source.split(os.sep)[-2:]
            for convention, n, why in conventions(source, folder, isa):
                print(f"{'FAIL' if why else 'ok  '} {isa}/{name}, {convention}: {why or f'{n} instructions of the frame'}", flush=True)
                passed, failed = passed + (not why), failed + bool(why)
    print(f"{part}: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
