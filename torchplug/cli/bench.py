"""`torchplug bench`: torchplug's benchmarks."""

from __future__ import annotations

import argparse
import importlib

from torchplug.cli import output

NAME = "bench"
SUMMARY = "measure the device"
DESCRIPTION = (
    "Measures what operators, copies and training cost on the device. Options go to the benchmarks."
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    try:
        benchmarks = importlib.import_module("torchplug.bench")
    except ModuleNotFoundError:
        output.complain("This torchplug has no benchmarks. Run them from its source: make bench.")
        return 2
    code: int = benchmarks.main([*args.rest, *(["--json"] if args.json else [])])
    return code
