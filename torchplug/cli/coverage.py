"""`torchplug coverage`: which operators of a script still fall back to the CPU, and what they cost."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

import torchplug
from torchplug import _settings, _text
from torchplug.cli import output
from torchplug.cli import run as script

NAME = "coverage"
SUMMARY = "run a script and say which operators fall back to the CPU, by time"
DESCRIPTION = """Runs a Python script or module on a device, as `torchplug run` does, and prints on stderr at its end the
operators that the plugin's kernels did not carry out, those that took the most time first. Every call waits
for its work, so that the times are the operators'.

  torchplug coverage --device acme train.py --epochs 1"""

MOST = 25


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "torchplug coverage [--device DEVICE] [--visible LIST] [--json]\n"
        "                          (script.py | -m module | -c code) [args ...]"
    )
    parser.add_argument("--device", help="a device's name, or the path of a plugin")
    parser.add_argument(
        "--visible", metavar="LIST", help="visible devices, such as 1,0 (TORCHPLUG_VISIBLE_DEVICES)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, all of them")


def run(args: argparse.Namespace) -> int:
    form = "coverage-json" if args.json else "coverage"
    return script.start(args, {_settings.LEDGER: form, "TORCHPLUG_LAUNCH_BLOCKING": "1"})


def print_coverage(*, as_json: bool = False) -> None:
    """Prints on stderr what this process's operators did not find on the device."""
    entries = torchplug.ledger()
    fallen = torchplug.coverage()
    if as_json:
        print(json.dumps([asdict(entry) for entry in fallen], indent=2), file=sys.stderr)
        return
    console = output.console(stderr=True)
    if not fallen:
        console.print(
            "Every operator ran in the plugin's kernels."
            if entries
            else "No operator ran on the device."
        )
        return
    calls = sum(entry.count for entry in entries)
    seconds = sum(entry.seconds for entry in entries)
    covered = 1 - sum(entry.count for entry in fallen) / calls
    fallen_seconds = sum(entry.seconds for entry in fallen)
    console.print(
        f"The plugin's kernels carried out {covered:.1%} of {calls} calls; "
        f"the others took {fallen_seconds / seconds if seconds else 0:.1%} of the time.",
        soft_wrap=True,
    )
    table = output.table(
        console, "operator", "way", "calls", "time", "", "why", right=("calls", "time")
    )
    for entry in fallen[:MOST]:
        share = f"{entry.seconds / seconds if seconds else 0:.1%}"
        table.add_row(
            entry.op,
            entry.way,
            str(entry.count),
            _text.duration(entry.seconds * 1e9),
            share,
            entry.reason,
        )
    output.put(console, table)
    if len(fallen) > MOST:
        console.print(f"... and {len(fallen) - MOST} more: torchplug coverage --json")
