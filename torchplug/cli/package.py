"""`torchplug package`: a compiled program in a file, which runs without Python."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from torchplug.cli import graph, output

if TYPE_CHECKING:
    from torchplug.package._make import Summary

NAME = "package"
SUMMARY = "compile an exported program into a file that runs without Python"
DESCRIPTION = """Compiles an exported program (torch.export.save) for a device, and writes its engines, weights and the rest of it
into one file.

  torchplug package model.pt2 -o model.plug --shapes x=8x128,y=4 --shapes x=1x128,y=4

torchplug.load_package loads it in Python, torchplug::Package in C++."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="an exported program")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the package")
    parser.add_argument(
        "--shapes",
        action="append",
        default=[],
        metavar="x=8x128,y=4",
        help="sizes of inputs to have engines for, where the export left them open; may be given several times "
        "(default: those of the export)",
    )
    parser.add_argument("--device", help="a device's name, or the path of a plugin")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the plugin's compiler; may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    try:
        summary = make(args)
    except (ValueError, RuntimeError, OSError) as error:
        output.complain(graph.sentence(error))
        return 2
    if args.json:
        output.print_json(facts(summary))
    else:
        show(args.output, summary)
    return 0


def make(args: argparse.Namespace) -> Summary:
    device = graph.device_for(args.device)
    from torchplug.package import _make

    with output.looking(f"Compiling {args.file}"):
        return _make.make(args.file, args.output, device, args.shapes, options_of(args.option))


def options_of(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for text, (name, equals, _) in zip(given, pairs, strict=True):
        if not name or not equals:
            raise ValueError(f"--option {text!r} is not of the form NAME=VALUE.")
    return {name: value for name, _, value in pairs}


def facts(summary: Summary) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(summary)


def show(path: str, summary: Summary) -> None:
    console = output.console(wraps=False)
    engines = sum(group.engines for group in summary.groups)
    console.print(
        f"{path}: {size(summary.bytes)}, {summary.weights} weights of {size(summary.weight_bytes)}, "
        f"{count(len(summary.groups), 'group')}, {count(engines, 'engine')}"
    )
    if summary.groups:
        console.print()
        table = output.table(
            console,
            "group",
            "nodes",
            "engines",
            "size",
            "operators",
            right=("nodes", "engines", "size"),
        )
        for place, group in enumerate(summary.groups):
            engine = str(group.engines) if summary.saves else "when loaded"
            table.add_row(
                str(place), str(group.nodes), engine, size(group.bytes), ", ".join(group.operators)
            )
        output.put(console, table)
        for place, group in enumerate(summary.groups):
            for why in group.declined:
                console.print(f"group {place} runs operator by operator: {why}", markup=False)
    if not summary.saves and summary.groups:
        console.print(
            "The plugin does not save engines: they are compiled when the package is called."
        )
    if summary.eager:
        console.print()
        table = output.table(console, "eager", "calls", "why", right=("calls",))
        for (operator, why), calls in Counter(summary.eager).most_common():
            table.add_row(operator, str(calls), why)
        output.put(console, table)


def count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def size(number: int) -> str:
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    value = float(number)
    for unit in units:
        if value < 1024 or unit == units[-1]:
            return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError
