"""A graph as tables: every node, its engine or why it is in none; and the engines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from torchplug.cli import output
from torchplug.dump.sheet import Sheet

if TYPE_CHECKING:
    from rich.console import Console


def show(console: Console, sheet: Sheet) -> None:
    console.print(f"{sheet.title} on {sheet.device}: {sheet.summary}", markup=False, soft_wrap=True)
    if not sheet.nodes:
        return
    console.print()
    output.put(console, nodes_table(console, sheet))
    if sheet.groups:
        console.print()
        output.put(console, groups_table(console, sheet))


def nodes_table(console: Console, sheet: Sheet) -> Any:
    table = output.table(console, "operator", "result", "where", "source")
    for node in sheet.nodes:
        where = node.why if node.group is None else f"engine {node.group}"
        style = {"engine": None, "eager": "yellow", "view": "dim"}[node.kind]
        row = (node.operator, node.result, where, node.place)
        table.add_row(*map(plain, row), style=style)
    return table


def groups_table(console: Console, sheet: Sheet) -> Any:
    table = output.table(console, "engine", "nodes", "operators", right=("engine", "nodes"))
    by_name = {node.name: node for node in sheet.nodes}
    for number, group in enumerate(sheet.groups):
        members = [one for name in group.nodes if (one := by_name.get(name)) and one.computes]
        counts = Counter(node.operator for node in members).most_common()
        operators = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in counts)
        table.add_row(str(number), str(len(members)), plain(operators))
    return table


def plain(text: str) -> str:
    """Without what rich takes for its own marks."""
    return text.replace("[", "\\[")
