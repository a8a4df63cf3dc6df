"""Tests that the prover's files import only existing files of their own layer or of lower ones, without circles. Also prints
the number of lines in each layer.

    tests.imports [--plant up | circle | missing]

--plant adds an import that the test must find.
"""
import argparse
import ast
import importlib.util
import os

from spec.args import HERE

# From the lowest.
LAYERS = (("values",), ("spec", "isa"), ("run",), ("induction",), ("mutation",), ("tests", "all", "__main__"))
PLANTED = {"up": ("values.terms", "run.kernels"), "circle": ("run.memory", "run.kernels"), "missing": ("isa.arm32", "terms")}


def paths():
    """Module -> path."""
    found = {}
    for folder, _, files in os.walk(HERE):
        for f in files:
            if f.endswith(".py"):
                name = os.path.relpath(os.path.join(folder, f), HERE).removesuffix(".py").replace(os.sep, ".")
                found[name.removesuffix(".__init__")] = os.path.join(folder, f)
    return found


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


def circle(graph):
    """Modules that import each other in a circle, or None."""
    done = set()

    def visit(name, way):
        if name in way:
            return way[way.index(name):]
        if name in done:
            return None
        found = next((c for following in sorted(graph[name]) if (c := visit(following, [*way, name]))), None)
        done.add(name)
        return found
    return next((c for name in sorted(graph) if (c := visit(name, []))), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", choices=PLANTED)
    args = parser.parse_args()
    graph = dict(modules())
    if args.plant:
        importing, imported = PLANTED[args.plant]
        graph[importing] = graph[importing] | {imported}
    wrong = [f"{name} is in no layer" for name in graph if layer(name) is None]
    wrong += [f"{name} imports {other}, which is not there" for name, found in graph.items() for other in found - set(graph)]
    wrong = wrong or [f"{name} imports {other}, of a layer above" for name, found in graph.items() for other in found if layer(other) > layer(name)]
    if not wrong and (way := circle(graph)):
        wrong = ["a circle: " + " imports ".join([*way, way[0]])]
    for text in wrong:
        print(f"FAIL {text}")
    lines = [0] * len(LAYERS)
    for name, path in paths().items():
        with open(path) as f:
            lines[layer(name) or 0] += len(f.readlines())
    print("lines: " + ", ".join(f"{n} {' and '.join(packages)}" for n, packages in zip(lines, LAYERS)) + f"; {sum(lines[:3])} trusted, {sum(lines)} in all")
    print(f"imports: {len(graph) - len(wrong)} passed, {len(wrong)} failed, 0 not run")
    return 1 if wrong else 0
