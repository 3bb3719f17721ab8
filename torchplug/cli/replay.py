"""`torchplug replay`: the calls that the layer trace wrote down, made again."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from torchplug import _plugins
from torchplug.cli import output, plug_check

NAME = "replay"
SUMMARY = "make the calls of a trace again, without PyTorch"
DESCRIPTION = """Makes the calls of a plugin that TORCHPLUG_LAYERS=trace wrote into a file again, with a C program independent
of PyTorch, and compares their answers. Exits with 1 if one differs, or the plugin crashes or hangs."""

OPTIONS = {
    "until": ("LINE", "stop behind this line of the trace"),
    "only": ("SCHEMA", "call only kernels whose schema contains this"),
    "repeat": ("N", "call every kernel so often"),
    "device": ("N", "on this device instead of the trace's"),
    "tolerance": ("X", "relative difference that a float may have"),
    "timeout": ("SECONDS", "time limit of a call"),
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", help="the file that the layer trace wrote")
    parser.add_argument("plugin", help="a plugin, by name or by path")
    for option, (metavar, meaning) in OPTIONS.items():
        parser.add_argument(f"--{option}", metavar=metavar, help=meaning)
    parser.add_argument("--verbose", action="store_true", help="print every call")


def run(args: argparse.Namespace) -> int:
    try:
        plugin = _plugins.find(args.plugin, _plugins.all_plugins()).resolve()
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    words = [args.trace, str(plugin)]
    for option in OPTIONS:
        value = getattr(args, option)
        words += [] if value is None else [f"--{option}", value]
    words += ["--verbose"] if args.verbose else []
    sys.stdout.flush()
    os.execv(program(), ["plug-replay", *words])


def program() -> Path:
    """Where plug-replay is: beside plug-check."""
    return plug_check.program().with_name("plug-replay")
