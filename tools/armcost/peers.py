#!/usr/bin/env python3
"""Prints peers.json in the form of armcost.py cost, for the sizes given."""

import json
import sys
from pathlib import Path

for peer in json.loads(Path(__file__).with_name("peers.json").read_text())["peers"]:
    for size in sys.argv[1:]:
        figures = peer["by_message_bytes"].get(size)
        if figures is None:
            continue
        print(f"\n{peer['name']}, {peer['algorithm']}, seal, {size} bytes, {peer['arch']}, CPU {peer['qemu_cpu']}")
        print(f"instructions{figures['instructions']:12}")
        for core, cycles in figures["modelled_cycles"].items():
            print(f"{core:14}{cycles:10} cycles{cycles / int(size):10.2f} cycles/byte  modeled")
