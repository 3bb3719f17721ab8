"""The command line, `torchplug`: one module for each subcommand, with `add` and `run`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from torchplug import __version__

CODES = "exit codes: 0 success, 1 a problem was found, 2 usage error"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    from torchplug.cli import (
        bench,
        coverage,
        demo,
        devices,
        doctor,
        graph,
        package,
        plug_check,
        replay,
        run,
        schema,
    )

    parser = argparse.ArgumentParser(
        prog="torchplug", description="Any accelerator in PyTorch.", epilog=CODES
    )
    parser.add_argument("--version", action="version", version=f"torchplug {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (
        devices,
        doctor,
        run,
        coverage,
        schema,
        graph,
        package,
        plug_check,
        replay,
        demo,
        bench,
    ):
        added = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.DESCRIPTION,
            epilog=CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add(added)
        added.set_defaults(run=command.run)
    arguments = list(sys.argv[1:] if argv is None else argv)
    is_bench = arguments[:1] == [bench.NAME]
    if is_bench and (name := bench.announced.name_of(arguments[1:])):
        return bench.announced.run(name, arguments[2:])
    runs_script = arguments[:1] in ([run.NAME], [coverage.NAME])
    arguments, rest = run.split(arguments) if runs_script else (arguments, [])
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(
            bench.announced.refusal(unknown[0])
            if is_bench
            else f"unrecognized arguments: {' '.join(unknown)}"
        )
    args.rest = rest
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # `torchplug devices | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
