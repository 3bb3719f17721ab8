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
    """Measures and prints; 0 if all that can be measured here was, 1 if something failed."""
    args = parse(argv)
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


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="torchplug bench", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="a few rounds only: the numbers mean nothing")
    add("--rounds", type=int, help=f"rounds of small calls (default {Settings().rounds})")
    add("--json", nargs="?", const="-", metavar="PATH", help="where the results go; - is stdout")
    add("--markdown", action="store_true", help="print the README's table")
    add("--from", dest="shown", type=existing, metavar="PATH", help="show these results again")
    add("--build", type=existing, metavar="DIR", help="where `direct` and `operators` were built")
    add("--cpp", type=existing, metavar="PATH", help="the program `operators`")
    # The command line takes `--json` as a flag, and hands on the path apart from it.
    add("path", nargs="?", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.path is not None and args.json != "-":
        parser.error(f"unrecognized arguments: {args.path}")
    args.json = args.path or args.json
    if args.rounds is not None and args.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return args


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
