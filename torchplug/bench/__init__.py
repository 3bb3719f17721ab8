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
    from torchplug.bench import compile as compiling
    from torchplug.bench import report

    try:
        found = json.loads(args.shown.read_text()) if args.shown else measure(args)
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    if args.json is not None and args.shown is None:
        write(found, args.json)
    if args.json != "-":
        show = compiling.show if "models" in found else report.show
        show(output.console(), found)
    return 1 if found["failures"] else 0


def measure(args: argparse.Namespace) -> Report:
    """Raises RuntimeError if there is no such device, or no such row."""
    from torchplug.bench import compile as compiling
    from torchplug.bench import driver

    names = chosen_names(args.only, compiling.NAMES if args.what == "compile" else known_names())
    chosen = driver.environment_with(args.device)
    settings = settings_of(args)
    with output.looking("Measuring") as status:
        if args.what == "compile":
            return compiling.make_report(names, settings, chosen, lambda text: status.update(text))
        groups = [group for group in rows.GROUPS if group.name in names]
        return driver.make_report(groups, settings, chosen, lambda text: status.update(text))


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", nargs="?", choices=["compile"], help="torch.compile on models, and not operators")
    add("--device", help="a device's name, or the path of a plugin (default: TORCHPLUG_DEVICE's)")
    add("--only", metavar="NAME,...", help=f"these rows: {', '.join(known_names())}; or models")
    add_measuring_options(parser)


def add_measuring_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--quick", action="store_true", help="one round of everything, to see that it runs")
    add("--rounds", type=positive, help=f"rounds of small calls (default {Settings().rounds})")
    add("--json", nargs="?", const="-", metavar="PATH", help="where the results go; - is stdout")
    add("--from", dest="shown", type=existing, metavar="PATH", help="show these results again")


def known_names() -> list[str]:
    return [group.name for group in rows.GROUPS]


def chosen_names(text: str | None, known: Sequence[str]) -> Sequence[str]:
    """Those of a list with commas; all that there are without one. RuntimeError for one that is not known."""
    names = known if text is None else text.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RuntimeError(f"There is no '{unknown[0]}'; choose of {', '.join(known)}.")
    return names


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
