"""The ledger as tables: which way operators ran, how often, and why not a faster one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torchplug
from torchplug import _text
from torchplug.cli import output

if TYPE_CHECKING:
    from rich.console import Console

WAYS = {
    "kernel": "the plugin's own kernels",
    "any": "the plugin's kernel for any operator",
    "engine": "engines of the plugin's compiler",
    "decomposed": "operators that have kernels",
    "borrow": "the CPU's, in place on device memory",
    "stage": "the CPU's, on copies",
}


def totals(entries: list[torchplug.LedgerEntry]) -> dict[str, dict[str, int]]:
    """Calls and moved bytes, by the way operators ran."""
    sums = {way: {"calls": 0, "bytes": 0} for way in WAYS}
    for entry in entries:
        sums[entry.way]["calls"] += entry.count
        sums[entry.way]["bytes"] += entry.bytes
    return {way: counts for way, counts in sums.items() if counts["calls"]}


def tables(console: Console, entries: list[torchplug.LedgerEntry], most: int) -> list[Any]:
    """One of the ways, and one of the most frequent operators."""
    ways = output.table(console, "way", "", "calls", "", "moved", right=("calls", "moved"))
    sums = totals(entries)
    calls = sum(counts["calls"] for counts in sums.values())
    for way, counts in sums.items():
        share = f"{counts['calls'] / calls:.1%}"
        ways.add_row(way, WAYS[way], str(counts["calls"]), share, _text.size(counts["bytes"]))
    operators = output.table(console, "operator", "way", "calls", "why", right=("calls",))
    for entry in entries[:most]:
        operators.add_row(entry.op, entry.way, str(entry.count), entry.reason)
    return [ways, operators]


def print_ledger(most: int = 20, *, as_json: bool = False) -> None:
    """Prints the ledger of this process on stderr."""
    entries = torchplug.ledger()
    if as_json:
        print(json.dumps([asdict(entry) for entry in entries], indent=2), file=sys.stderr)
        return
    console = output.console(stderr=True)
    if not entries:
        console.print("No operator ran on the device.")
        return
    console.print("[bold]Where operators ran[/]")
    for table in tables(console, entries, most):
        output.put(console, table)
    if len(entries) > most:
        console.print(f"... and {len(entries) - most} more")
