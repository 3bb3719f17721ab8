"""`torchplug graph dump`: what a device's compiler makes of a model's graph."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchplug import _plugins, _settings
from torchplug.cli import output

if TYPE_CHECKING:
    import torch

    from torchplug.dump.sheet import Sheet

NAME = "graph"
SUMMARY = "what a device's compiler is given of a model"
DESCRIPTION = """Shows the graph of an exported program (torch.export.save) as torch.compile(backend="torchplug") gives it to
the device's compiler: every node, which engine it is in, and why others are in none. Nothing is compiled.

  torchplug graph dump model.pt2 --svg model.svg

The text form of a graph is checked and printed in its canonical form."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["dump"], help="the only one there is")
    parser.add_argument("file", help="an exported program, or the text form of a graph")
    parser.add_argument("--device", help="a device's name, or the path of a plugin")
    parser.add_argument("--svg", metavar="FILE", help="draw it")
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="all of it as JSON; - is stdout"
    )


def run(args: argparse.Namespace) -> int:
    try:
        dump(args)
    except (ValueError, RuntimeError, OSError) as error:
        output.complain(sentence(error))
        return 2
    return 0


def dump(args: argparse.Namespace) -> None:
    from torchplug.dump import text

    if text.is_text(args.file):
        canonical = text.canonical(args.file)
        if args.svg or args.json:
            raise ValueError(
                f"{args.file} is the text form of a graph; --svg and --json are for exported programs."
            )
        sys.stdout.write(canonical)
        return
    sheet = read(args.file, args.device)
    if args.svg:
        from torchplug.dump import svg

        Path(args.svg).write_text(svg.draw(sheet), encoding="utf-8")
    if args.json not in (None, "-"):
        Path(args.json).write_text(json.dumps(facts(sheet), indent=2) + "\n", encoding="utf-8")
    show(sheet, as_json=args.json == "-")


def read(file: str, wish: str | None) -> Sheet:
    """On the device that is wished for, or the default one."""
    device = device_for(wish)
    from torchplug.dump import exported

    with output.looking(f"Tracing {file}"):
        sheet = exported.read(file, device)
    sheet.title = Path(file).name
    return sheet


def device_for(wish: str | None) -> torch.device:
    """The device that is wished for, or the default one. ValueError if it has no compiler."""
    if wish is not None:
        _plugins.find(wish, _plugins.installed_plugins())
        os.environ[_settings.DEVICE] = wish
    with output.looking("Importing PyTorch"):
        import torch

        from torchplug import _C

    name = torch._C._get_privateuse1_backend_name()
    if name == "privateuseone":
        raise ValueError(
            "There is no device to compile for. Set TORCHPLUG_DEVICE, or give --device."
        )
    if not _C.has_compiler(0):
        raise ValueError(
            f"Device {name} has no compiler (plug_module.compiler), so a graph has no engines there. "
            "Choose another with --device."
        )
    return torch.device(name, 0)


def show(sheet: Sheet, *, as_json: bool) -> None:
    from torchplug.dump import table

    if as_json:
        output.print_json(facts(sheet))
    else:
        table.show(output.console(wraps=False), sheet)


def facts(sheet: Sheet) -> dict[str, Any]:
    return asdict(sheet) | {"share": sheet.share}


def sentence(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        folder = Path(error.filename).parent
        return f"There is no {error.filename if folder.is_dir() else f'folder {folder}'}."
    if isinstance(error, OSError):
        return f"{error.filename} cannot be used: {error.strerror}."
    return str(error).splitlines()[0]
