"""`torchplug run`: an unchanged script on a device."""

from __future__ import annotations

import argparse
import os
import sys

from torchplug import _plugins, _settings
from torchplug.cli import inspection, output
from torchplug.cpu._libraries import ALLOCATORS
from torchplug.cpu._placement import Placement, placement

NAME = "run"
SUMMARY = "run an unchanged script on a device"
DESCRIPTION = """Runs a Python script or module in a fresh interpreter, as `python` would, with the device as
torch.accelerator's and set for the libraries that choose a device by environment variables.

  torchplug run --device sim train.py --epochs 3
  torchplug run --device sim -m torch.distributed.run --nproc-per-node 2 train.py
  torchplug run --cores 0-7 --numa 0 --alloc jemalloc serve.py"""

CLIENT_VARIABLES = ("ACCELERATE_TORCH_DEVICE", "PL_TRAINER_ACCELERATOR")
"""What libraries read to choose a device they have no code for: accelerate, with transformers' Trainer and what is
built on it, and lightning."""

WITH_VALUE = ("--device", "--fallback", "--visible", "--cores", "--numa", "--alloc")


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "torchplug run [--device DEVICE] [--fallback HOW] [--visible LIST] [--ledger [--json]]\n"
        "                     [--cores LIST] [--numa LIST] [--alloc NAME]\n"
        "                     (script.py | -m module | -c code) [args ...]"
    )
    parser.add_argument("--device", help="a device's name, the path of a plugin, or none")
    parser.add_argument(
        "--fallback",
        choices=["allow", "warn", "error"],
        help="what to do when an operator has no kernel on the device",
    )
    parser.add_argument(
        "--visible", metavar="LIST", help="visible devices, such as 1,0 (TORCHPLUG_VISIBLE_DEVICES)"
    )
    parser.add_argument(
        "--ledger", action="store_true", help="print at the end where operators ran (to stderr)"
    )
    parser.add_argument("--json", action="store_true", help="the ledger as JSON")
    parser.add_argument(
        "--cores", metavar="LIST", help="run on these cores, such as 0-7, with a thread for each"
    )
    parser.add_argument(
        "--numa",
        metavar="LIST",
        help="take memory from these NUMA nodes alone and, without --cores, run on theirs",
    )
    parser.add_argument("--alloc", choices=[*ALLOCATORS], help="the process's malloc")


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """`run` and its options, and what to run: everything from the script, -m or -c on."""
    place = 1
    while place < len(argv) and argv[place].startswith("-") and argv[place] not in ("-m", "-c"):
        place += 2 if argv[place] in WITH_VALUE else 1
    return argv[:place], argv[place:]


def run(args: argparse.Namespace) -> int:
    options = {"TORCHPLUG_FALLBACK": args.fallback}
    if args.ledger:
        options[_settings.LEDGER] = "json" if args.json else "1"
    try:
        placed = placement(args.cores, args.numa, args.alloc)
    except ValueError as error:
        output.complain(str(error))
        return 2
    return start(args, options, placed)


def start(
    args: argparse.Namespace, options: dict[str, str | None], placed: Placement | None = None
) -> int:
    """Becomes the script, with these variables set, where it is to be placed; returns only if it cannot."""
    if not args.rest or args.rest in (["-m"], ["-c"]):
        output.complain("There is nothing to run. Give a script, -m module or -c code.")
        return 2
    try:
        environment = environment_for(args, options)
        if placed is not None:
            environment |= placed.variables()
            placed.enter()
    except (RuntimeError, ValueError) as error:
        output.complain(str(error))
        return 2
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *args.rest], environment)


def environment_for(args: argparse.Namespace, options: dict[str, str | None]) -> dict[str, str]:
    """What the script finds in its environment. Raises RuntimeError if there is no such device."""
    environment = dict(os.environ)
    options = options | {
        _settings.DEVICE: args.device,
        "TORCHPLUG_VISIBLE_DEVICES": args.visible,
    }
    environment |= {name: value for name, value in options.items() if value is not None}
    name = device_name(environment.get(_settings.DEVICE, ""))
    for variable in CLIENT_VARIABLES:
        if args.device is not None:
            environment.pop(variable, None)
        if name:
            environment.setdefault(variable, name)
    return environment


def device_name(wish: str) -> str:
    """The name of the device that TORCHPLUG_DEVICE=`wish` gives; "" for none."""
    if _plugins.is_path(wish):
        # Only the plugin itself knows its name.
        facts = inspection.inspect(wish)
        if facts.get("error"):
            raise RuntimeError(facts["error"])
        return str(facts["name"])
    if not wish:
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # of this process
    plugin = _plugins.choose(wish, _plugins.installed_plugins(), _plugins.rival).plugin
    return "" if plugin is None else plugin.name
