"""Tests that the prover's files import only existing files of their own layer or of lower ones, without circles. Also prints
the number of lines in each layer.

    tests.imports [--plant up | circle | missing]

--plant adds an import that the test must find.
"""
import argparse
import ast
import graphlib
import importlib.util
import pathlib

from run.report import summary
from spec.args import HERE

# From the lowest.
LAYERS = (("values",), ("spec", "isa"), ("run",), ("induction",), ("mutation",), ("tests", "all", "__main__"))
PLANTED = {"up": ("values.terms", "run.kernels"), "circle": ("run.memory", "run.kernels"), "missing": ("isa.arm32", "terms")}


def paths():
    """Module -> path."""
    files = {path: path.relative_to(HERE).with_suffix("").parts for path in pathlib.Path(HERE).rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): str(path) for path, parts in files.items()}


def modules():
    """(module, the prover's and missing modules that it imports), also inside functions."""
    known = paths()
    for name, path in known.items():
        with open(path) as f:
            tree = ast.parse(f.read())
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {m if (m := f"{node.module}.{a.name}") in known else node.module for a in node.names}
        missing = {m for m in found - set(known) if importlib.util.find_spec(m.split(".")[0]) is None}
        yield name, found & set(known) | missing


def layer(name):
    return next((i for i, packages in enumerate(LAYERS) if name.split(".")[0] in packages), None)


def wrong(name, graph):
    """The first forbidden import of a module, or None."""
    if layer(name) is None:
        return "is in no layer"
    for other in graph[name]:
        if other not in graph:
            return f"imports {other}, which is not there"
        if layer(other) is not None and layer(other) > layer(name):
            return f"imports {other}, of a layer above"
    return None


def circle(graph):
    """Modules that import each other in a circle, or None."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
        return None
    except graphlib.CycleError as e:
        return " imports ".join(e.args[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", choices=PLANTED)
    args = parser.parse_args()
    graph = dict(modules())
    if args.plant:
        importing, imported = PLANTED[args.plant]
        graph[importing] = graph[importing] | {imported}
    lines = [0] * len(LAYERS)
    for name, path in paths().items():
        with open(path) as f:
            lines[layer(name) or 0] += len(f.readlines())
    print("lines: " + ", ".join(f"{n} {' and '.join(packages)}" for n, packages in zip(lines, LAYERS)) +
          f"; {sum(lines[:3])} trusted, {sum(lines)} in all")
    return summary("imports", [*((name, wrong(name, graph)) for name in graph), ("circles", circle(graph))])
