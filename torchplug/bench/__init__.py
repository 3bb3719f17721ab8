"""`torchplug bench`: how fast a device is, compared with the CPU or memcpy in the same run.

docs/performance.md says what is measured, and how.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchplug.bench import rows
from torchplug.bench.settings import QUICK, Settings
from torchplug.cli import output

Report = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m torchplug.bench`, and what `torchplug bench` does."""
    parser = argparse.ArgumentParser(prog="torchplug bench", description=__doc__)
    add_options(parser)
    return run(parser.parse_args(argv))


def run(args: argparse.Namespace) -> int:
    """Measures and prints; 0 if all that was to be measured was, 1 if something failed."""
    from torchplug.bench import report

    try:
        found = json.loads(args.shown.read_text()) if args.shown else measure(args)
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    if args.json is not None and args.shown is None:
        write(found, args.json)
    if args.json != "-":
        report.show(output.console(), found)
    return 1 if found["failures"] else 0


def measure(args: argparse.Namespace) -> Report:
    """Raises RuntimeError if there is no such device."""
    from torchplug.bench import driver

    groups = [group for group in rows.GROUPS if not args.only or group.name in args.only]
    chosen = driver.environment_with(args.device)
    with output.looking("Measuring") as status:
        return driver.make_report(
            groups, settings_of(args), chosen, lambda text: status.update(text)
        )


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--device", help="a device's name, or the path of a plugin (default: TORCHPLUG_DEVICE's)")
    add("--only", type=names, metavar="NAME,...", help=f"these rows: {', '.join(known_names())}")
    add_measuring_options(parser)


def add_measuring_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--quick", action="store_true", help="one round of everything, to see that it runs")
    add("--rounds", type=positive, help=f"rounds of small calls (default {Settings().rounds})")
    add("--json", nargs="?", const="-", metavar="PATH", help="where the results go; - is stdout")
    add("--from", dest="shown", type=existing, metavar="PATH", help="show these results again")


def known_names() -> list[str]:
    return [group.name for group in rows.GROUPS]


def names(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in known_names()]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"there is no '{unknown[0]}'; choose of {', '.join(known_names())}"
        )
    return text.split(",")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 up")
    return int(text)


def existing(path: str) -> Path:
    if not Path(path).exists():
        raise argparse.ArgumentTypeError(f"there is no {path}")
    return Path(path)


def settings_of(args: argparse.Namespace) -> Settings:
    chosen = QUICK if args.quick else Settings()
    return chosen if args.rounds is None else chosen.with_rounds(args.rounds)


def write(found: Report, to: str) -> None:
    if to == "-":
        output.print_json(found)
    else:
        Path(to).write_text(json.dumps(found, indent=2) + "\n")
        print(f"The results are in {to}.", file=sys.stderr)
