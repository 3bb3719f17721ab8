"""Measures, or shows what was measured: a table in the terminal, or the README's."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import driver, places, readme, report
from torchplug import bench
from torchplug.cli import output


def main(argv: Sequence[str] | None = None) -> int:
    """0 if all that can be measured here was, 1 if something failed."""
    args = parse(argv)
    if args.shown is not None:
        found = json.loads(args.shown.read_text())
    else:
        where = places.find(args.build)
        with output.looking("Measuring") as status:
            found = driver.measure(where, bench.settings_of(args), lambda text: status.update(text))
        file = args.json or default_file(where.build, quick=args.quick)
        if file is not None:
            bench.write(found, file)
    if args.readme is not None:
        args.readme.write_text(readme.with_table(args.readme.read_text(), report.markdown(found)))
    elif args.markdown:
        print(report.markdown(found))
    elif args.json != "-":
        report.show(output.console(), found)
    return 1 if found["failures"] else 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    bench.add_measuring_options(parser)
    add = parser.add_argument
    add("--build", type=bench.existing, metavar="DIR", help="the build folder (default: build)")
    add("--markdown", action="store_true", help="print the README's table")
    add("--readme", type=bench.existing, metavar="PATH", help="write the table into this README")
    return parser.parse_args(argv)


def default_file(build: Path | None, *, quick: bool) -> str | None:
    return None if build is None or quick else str(build / "bench.json")


if __name__ == "__main__":
    sys.exit(main())
