#!/usr/bin/env python3
"""Writes the table of modeled costs: armcost.py cost of each cipher at each level, way and size, some at a time.

A table is written completely or not at all. Failed rows are named, and the exit status is 1. With --only, rows of the
existing table whose titles do not match stay unchanged.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ABOUT = """\
Written by make bench-arm. Seal and Open in Go, no associated data. Instructions, loads and stores are counted;
cycles are modeled (tools/armcost), not measured.
"""


@dataclass(frozen=True)
class Row:
    run: str  # program, CPU, cipher, level
    way: str
    size: int
    batch: int  # packets in one call, or 0 for a single one

    def title(self) -> str:
        program, cpu, cipher, level = self.run.split(",")
        text = f"a batch of {self.batch} times {self.size} bytes" if self.batch else f"{self.size} bytes"
        return f"{cipher} at level {level}, {self.way}, {text}, GOARCH={program}, CPU {cpu}"

    def measure(self, options: argparse.Namespace) -> subprocess.CompletedProcess:
        program, cpu, cipher, level = self.run.split(",")
        command = [sys.executable, str(HERE / "armcost.py"), "cost", "--cpu", cpu]
        command += ["--start", "main.markStart", "--end", "main.markEnd", "--cache", options.cache]
        command += ["--bytes", str(self.size * (self.batch or 1)), "--", f"{options.programs}/seal.{program}"]
        command += [str(self.size), "{seed}", self.way, f"batch{self.batch}" if self.batch else cipher]
        environment = os.environ | {"SEALANE_CPU": level}
        return subprocess.run(command, capture_output=True, text=True, env=environment)


def rows(options: argparse.Namespace) -> list[Row]:
    shapes = [(run, options.sizes, 0) for run in options.runs.split()]
    shapes += [(run, options.batch_sizes, options.batch) for run in options.batch_runs.split()]
    return [
        Row(run, way, int(size), batch)
        for run, sizes, batch in shapes
        for way in ("seal", "open")
        for size in sizes.split()
    ]


def kept_rows(table: str) -> dict[str, str]:
    """What a table has below each title."""
    parts = (part.partition("\n") for part in table.split("\n\n"))
    return {title: text.removesuffix("\n") + "\n" for title, _, text in parts}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, metavar="DIR", help="folder of seal.arm and so on")
    parser.add_argument("--cache", required=True, metavar="DIR", help="stores the cycles of modeled traces")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rows at a time")
    parser.add_argument("--runs", default="", help="program,cpu,cipher,level ...")
    parser.add_argument("--sizes", default="", help="bytes ...")
    parser.add_argument("--batch-runs", default="", help="the same for batches")
    parser.add_argument("--batch-sizes", default="", help="bytes of each packet ...")
    parser.add_argument("--batch", type=int, default=32, help="packets in a call")
    parser.add_argument("--only", default="", metavar="REGEX", help="matches titles; other rows stay unchanged")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    todo, failed, text = rows(options), [], ABOUT
    kept = kept_rows(options.output.read_text()) if options.only else {}

    def measure(row: Row) -> subprocess.CompletedProcess:
        if row.title() in kept and not re.search(options.only, row.title()):
            return subprocess.CompletedProcess([], 0, kept[row.title()], "")
        return row.measure(options)

    with ThreadPoolExecutor(options.jobs) as pool:
        for row, done in zip(todo, pool.map(measure, todo)):
            what = done.stdout if done.returncode == 0 else f"failed: {done.stderr}"
            text += f"\n{row.title()}\n{what}"
            print(f"\n{row.title()}\n{what}", end="", flush=True)
            if done.returncode != 0:
                failed.append(row)
    for row in failed:
        print(f"FAIL {row.title()}", file=sys.stderr)
    if failed or not todo:
        print(f"{len(failed)} of {len(todo)} rows failed; {options.output} is unchanged", file=sys.stderr)
        return 1
    peers = [sys.executable, str(HERE / "peers.py"), *options.sizes.split()]
    text += "\nOther people's, of tools/armcost/peers.json:\n"
    text += subprocess.run(peers, capture_output=True, text=True, check=True).stdout
    options.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
