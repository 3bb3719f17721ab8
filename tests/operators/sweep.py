"""Proves that every operator PyTorch describes gives the CPU's result on a device.

    python -m tests.operators.sweep --device sim --dtypes float32,complex64 --samples first

Progress goes to stderr, the table and every failing case to stdout. The exit status is 0 when
nothing fails but what expected.py declares, and all of that does fail.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

if not __package__:  # run by path
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    __package__ = "operators"

from .check_names import CHECK_NAMES
from .driver import CannotStart, Driver, Options
from .expected import GAPS, Gap
from .report import Report

DTYPES = ("float32", "float64", "int64", "bool", "bfloat16", "float16", "complex64")
FIRST = 2


def sweep(options: Options, gaps: Sequence[Gap] = GAPS) -> Report:
    """Runs what the options say and returns what was found."""
    begun = time.monotonic()
    report = Report(options.device, "all" if options.limit is None else "first", gaps=gaps)
    cases = Driver(options, _Progress()).run()
    report.cases = sorted(cases, key=lambda case: (case.operator, case.dtype))
    report.seconds = time.monotonic() - begun
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    given = _parser().parse_args(arguments)
    options = Options(
        device=given.device,
        dtypes=given.dtypes,
        checks=given.checks,
        operators=tuple(given.op),
        limit=given.samples,
        workers=given.workers,
        timeout=given.timeout,
        adapter=given.adapter,
    )
    try:
        report = sweep(options)
    except CannotStart as reason:
        print(f"{given.device}: {reason}", file=sys.stderr)
        return 2
    print(report.text())
    if given.json:
        report.write_json(given.json)
    return 0 if report.passed() else 1


def samples(text: str) -> int | None:
    """How many samples of each operator: first, all or a number."""
    if text == "all":
        return None
    count = FIRST if text == "first" else int(text)
    if count < 1:
        raise ValueError("at least one sample")
    return count


def _dtypes(text: str) -> tuple[str, ...]:
    chosen = DTYPES if text == "all" else tuple(text.split(","))
    unknown = [name for name in chosen if name not in DTYPES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(DTYPES)}")
    return chosen


def _checks(text: str) -> tuple[str, ...]:
    chosen = []
    for pattern in text.split(","):
        matching = [name for name in CHECK_NAMES if fnmatch(name, pattern)]
        if not matching:
            raise argparse.ArgumentTypeError(f"{pattern} is none of {', '.join(CHECK_NAMES)}")
        chosen += matching
    return tuple(chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--device",
        default=os.environ.get("TORCHPLUG_DEVICE", "sim"),
        help="a device's name or the path of a plugin",
    )
    parser.add_argument("--dtypes", type=_dtypes, default=DTYPES, help="comma-separated, or all")
    parser.add_argument("--samples", type=samples, default=FIRST, help="first, all or a number")
    parser.add_argument("--op", nargs="+", default=[], metavar="NAME", help="only these operators")
    parser.add_argument(
        "--checks",
        type=_checks,
        default=tuple(CHECK_NAMES),
        help=f"comma-separated, * allowed: {', '.join(CHECK_NAMES)}",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one check")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything here")
    parser.add_argument("--adapter", metavar="MODULE:CLASS", help="a Place to use as the device")
    return parser


class _Progress:
    """One line to stderr every few seconds."""

    SECONDS = 5.0

    def __init__(self) -> None:
        self.begun = self.shown = time.monotonic()

    def __call__(self, finished: int, total: int, failing: int) -> None:
        now = time.monotonic()
        if now - self.shown >= self.SECONDS or finished == total:
            self.shown = now
            elapsed = f"{now - self.begun:.0f} s"
            print(f"{finished}/{total} operators, {failing} failing, {elapsed}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
