"""`torchplug plug-check`: whether a plugin keeps the promises of plug.h's runtime and kernels."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from torchplug import _plugins
from torchplug.cli import output

NAME = "plug-check"
SUMMARY = "check a plugin's runtime and kernels, promise by promise"
DESCRIPTION = """Checks the runtime (L0) and the kernels (L1) of a plugin with a C program independent of PyTorch: memory,
copies, streams, events, host functions, threads, errors; results of common operators. Each check runs in its own process. Exits with 1 if one fails."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plugin", nargs="?", help="a plugin, by name or by path")
    parser.add_argument("--device", metavar="N", help="index of the device (default 0)")
    parser.add_argument("--list", action="store_true", help="print the checks and their promises")
    parser.add_argument("--only", metavar="NAME", help="this check alone")
    parser.add_argument("--timeout", metavar="SECONDS", help="time limit of a check")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    words = ["--list"] if args.list else []
    for option in ("device", "only", "timeout"):
        value = getattr(args, option)
        words += [] if value is None else [f"--{option}", value]
    words += ["--json"] if args.json else []
    if args.plugin is None and not args.list:
        output.complain("There is no plugin to check. Give its name or its path.")
        return 2
    try:
        if args.plugin is not None:
            words.append(_plugins.find(args.plugin, _plugins.all_plugins()).resolve())
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    sys.stdout.flush()
    os.execv(program(), ["plug-check", *words])


def program() -> Path:
    """Where plug-check is: in the package, beside the core."""
    core = importlib.util.find_spec("torchplug._C")
    assert core is not None and core.origin is not None
    return Path(core.origin).parent / "bin" / "plug-check"
