"""`torchplug devices`: the plugins that are installed and what each of them implements."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from torchplug import _plugins, _text
from torchplug.cli import inspection, output

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NAME = "devices"
SUMMARY = "the plugins that are installed and what they can do"
DESCRIPTION = """Lists the installed plugins: version, ABI, path, devices, memory and which parts of plug.h each implements.
Each plugin is loaded in a process of its own. Exits with 1 if one cannot be loaded."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device", nargs="*", help="only these, by name or by path")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    installed = _plugins.all_plugins()
    try:
        plugins = {wish: _plugins.find(wish, installed) for wish in args.device} or installed
    except RuntimeError as error:
        output.complain(str(error))
        return 2
    if not plugins:
        output.complain("No plugin is installed. Install a vendor's package, or torchplug-sim.")
    found = inspect_all(plugins)
    if args.json:
        output.print_json({"plugins": found})
    else:
        show(found)
    return 1 if any(facts["error"] for facts in found) else 0


def inspect_all(
    plugins: dict[str, _plugins.Plugin], *, compute: bool = False
) -> list[dict[str, Any]]:
    """What each plugin is, in the order given. "error" is None if it can be loaded."""
    with output.looking("Importing PyTorch"):
        inspection.import_torch()
    looks = {wish: inspection.Look(wish, compute=compute) for wish in plugins}
    with output.looking("Loading the plugins"):
        return [
            {
                "name": plugins[wish].name or wish,
                "error": None,
                "package": plugins[wish].distribution,
                "package_version": plugins[wish].version,
            }
            | look.facts()
            for wish, look in looks.items()
        ]


def show(found: list[dict[str, Any]]) -> None:
    console = output.console()
    for number, facts in enumerate(found):
        if number:
            console.print()
        package = f"{facts['package']} {facts['package_version']}".strip()
        if facts["error"]:
            console.print(f"[bold red]{facts['name']}[/]  {package}".rstrip())
            console.print(f"  cannot be loaded: {facts['error']}", markup=False, soft_wrap=True)
            continue
        abi = ".".join(map(str, facts["abi"]))
        heading = [f"[bold]{facts['name']}[/] {facts['version']}", f"ABI {abi}", package]
        console.print("  ".join(filter(None, heading)))
        console.print(f"  {facts['path']}", markup=False, soft_wrap=True)
        if facts["is_device"]:
            show_devices(console, facts)
        show_levels(console, facts)


def show_devices(console: Console, facts: dict[str, Any]) -> None:
    from rich.padding import Padding

    if not facts["devices"]:
        console.print(f"  {facts['no_device']}", markup=False, soft_wrap=True)
        return
    table = output.table(console, "device", "", "memory", "bus", right=("memory",))
    for index, device in enumerate(facts["devices"]):
        memory = _text.size(device["total_memory"])
        table.add_row(f"{facts['name']}:{index}", device["name"], memory, device["bus_id"])
    output.put(console, Padding(table, (0, 0, 0, 2), expand=False))


def show_levels(console: Console, facts: dict[str, Any]) -> None:
    """Which parts of plug.h it implements, level by level."""
    from rich.padding import Padding

    table = output.table(console, "", "", "")
    unused = facts["unused_kernels"]
    if facts["is_device"]:
        add_device_levels(table, facts)
    if facts["operators"]:
        table.add_row("operators", "defines", operators_text(facts["operators"]))
        cpu = [operator["name"] for operator in facts["operators"] if operator["takes_cpu"]]
        where = (
            "CPU tensors"
            if not facts["is_device"]
            else f"CPU tensors ({len(cpu)}), {facts['name']}"
        )
        table.add_row("", "for", where if cpu else facts["name"])
    for schema, why in unused.items():
        table.add_row("", "unused", f"{operator_of(schema)}: {why}")
    if facts["options"]:
        table.add_row("options", "reads", ", ".join(facts["options"]))
    output.put(console, Padding(table, (0, 0, 0, 2), expand=False))


def add_device_levels(table: Table, facts: dict[str, Any]) -> None:
    given = [name for name, present in facts["capabilities"].items() if present]
    absent = [name for name, present in facts["capabilities"].items() if not present]
    table.add_row("L0 runtime", "has", ", ".join(["mandatory functions", *given]))
    if absent:
        table.add_row("", "lacks", ", ".join(absent))
    unused = facts["unused_kernels"]
    names = [operator_of(schema) for schema in facts["kernels"] if schema not in unused]
    count = f"{len(names)} kernel{'' if len(names) == 1 else 's'}"
    table.add_row("L1 kernels", "has", f"{count}: {shorten(names)}" if names else "none")
    dtypes = list(dict.fromkeys(t for device in facts["devices"] for t in device["dtypes"]))
    if names and dtypes:
        table.add_row("", "for", shorten(dtypes))
    if facts["devices"]:
        add_compiler_level(table, facts["compiler"])


def add_compiler_level(table: Table, compiler: dict[str, Any] | None) -> None:
    if compiler is None or compiler["error"]:
        table.add_row("L2 compiler", "has", "none" if compiler is None else compiler["error"])
        return
    names = [operator_of(name) for name in compiler["operators"]]
    table.add_row("L2 compiler", "has", f"{len(names)} operators: {shorten(names)}")
    takes = {
        "open sizes": compiler["symbols"],
        "strides": compiler["strided"],
        "updates in place": compiler["updates"],
    }
    does = {
        "groups operators": compiler["partitions"],
        "packs weights": compiler["packs"],
        "saves engines": compiler["saves"],
        "runs of an engine one at a time": compiler["exclusive"],
    }
    for word, facts in (("takes", takes), ("does", does)):
        table.add_row("", word, ", ".join(name for name, true in facts.items() if true) or "-")
    for schema, why in compiler["unused"]:
        table.add_row("", "unused", f"{operator_of(schema)}: {why}")


def operators_text(operators: list[dict[str, Any]]) -> str:
    """How many there are, and which."""
    names = [operator["name"] for operator in operators]
    return f"{len(names)}: {shorten(names)}"


def operator_of(schema: str) -> str:
    """Its name; of a text that has none, all of it in quotes."""
    return schema.partition("(")[0].removeprefix("aten::") or repr(schema)


def shorten(words: list[str], most: int = 12) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
