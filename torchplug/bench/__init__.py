"""`torchplug bench`: what torchplug costs, beside the CPU or memcpy in the same run.

Every device is measured in a process of its own, because a process has one plugin. See
docs/performance.md for what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchplug.bench.settings import QUICK, Settings
from torchplug.cli import output

Report = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m torchplug.bench`, and what `torchplug bench` does."""
    parser = argparse.ArgumentParser(prog="torchplug bench", description=__doc__)
    add_options(parser)
    return run(parser.parse_args(argv))


def run(args: argparse.Namespace) -> int:
    """Measures and prints; 0 if all that can be measured here was, 1 if something failed."""
    from torchplug.bench import driver, places, report

    found: Report
    if args.shown is not None:
        found = json.loads(args.shown.read_text())
    else:
        where = places.find(build=args.build, program=args.cpp)
        with output.looking("Measuring") as status:
            found = driver.measure(where, settings(args), lambda text: status.update(text))
        write(found, args.json or default_file(where.build, quick=args.quick))
    if args.markdown:
        print(report.markdown(found))
    elif args.json != "-":
        report.show(output.console(), found)
    return 1 if found["failures"] else 0


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--quick", action="store_true", help="a few rounds only: the numbers mean nothing")
    add("--rounds", type=positive, help=f"rounds of small calls (default {Settings().rounds})")
    add("--json", nargs="?", const="-", metavar="PATH", help="where the results go; - is stdout")
    add("--markdown", action="store_true", help="print the README's table")
    add("--from", dest="shown", type=existing, metavar="PATH", help="show these results again")
    add("--build", type=existing, metavar="DIR", help="where `direct` and `operators` were built")
    add("--cpp", type=existing, metavar="PATH", help="the program `operators`")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 up")
    return int(text)


def existing(path: str) -> Path:
    if not Path(path).exists():
        raise argparse.ArgumentTypeError(f"there is no {path}")
    return Path(path)


def settings(args: argparse.Namespace) -> Settings:
    chosen = QUICK if args.quick else Settings()
    return chosen if args.rounds is None else chosen.with_rounds(args.rounds)


def default_file(build: Path | None, *, quick: bool) -> str | None:
    return None if build is None or quick else str(build / "bench.json")


def write(found: Report, to: str | None) -> None:
    if to == "-":
        output.print_json(found)
    elif to is not None:
        Path(to).write_text(json.dumps(found, indent=2) + "\n")
        print(f"The results are in {to}.", file=sys.stderr)
