"""What was measured of a device, as a table for people."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from torchplug import _text
from torchplug.cli import output

if TYPE_CHECKING:
    from rich.console import Console

Row = dict[str, Any]
Report = dict[str, Any]

WIDTH = 120  # of a table that goes into a file


def show(console: Console, report: Report) -> None:
    console.print(f"{report['device']}: {report['hardware']}", markup=False, soft_wrap=True)
    show_environment(console, report)
    columns = ("", "way", "measured", "against", "result")
    table = output.table(console, *columns, right=columns[2:])
    for title, rows in groupby(report["rows"], key=lambda row: str(row["title"])):
        table.add_row(f"[bold]{title}[/]")
        for row in rows:
            table.add_row(f"  {row['call']}", " ".join(row["ways"]), *cells(row, row["result"]))
    output.put(console, table)
    show_remarks(console, report)


def show_environment(console: Console, report: Report) -> None:
    """Where, when and how."""
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    for line in environment_lines(report):
        console.print(line, markup=False, soft_wrap=True)
    console.print()


def show_remarks(console: Console, report: Report) -> None:
    """What could not be measured."""
    for note in report["notes"]:
        console.print(note, markup=False, soft_wrap=True)
    for failure in report["failures"]:
        console.print(f"FAILED: {failure}", markup=False, soft_wrap=True)


def environment_lines(report: Report) -> Iterator[str]:
    here = report["environment"]
    commit = f" ({here['commit']})" if here.get("commit") else ""
    versions = f"torchplug {here['torchplug']}{commit}, PyTorch {here.get('torch', '?')}"
    load = " ".join(map(str, here["load"]))
    after = " ".join(map(str, here["load_after"]))
    yield f"{here['date']}, {here['cpu']}, {here['cores']} cores, load {load}, after {after}"
    yield f"{versions}, Python {here['python']}, {here.get('compiler') or here.get('kernels', '?')}"
    variables = here.get("variables", {})
    if variables:
        yield ", ".join(f"{name}={value}" for name, value in variables.items())
    yield report["conditions"]


def cells(row: Row, result: Row) -> list[str]:
    """What was measured, what it is compared with, and what comes of it."""
    reference = result["reference"]
    against = "" if reference is None else f"{row['against']} {quantity(reference, row['unit'])}"
    return [quantity(result["device"], row["unit"]), against, figure(row, result["figure"])]


def quantity(value: float, unit: str) -> str:
    """In a unit that suits it."""
    if unit != "ns":
        return f"{value:.3g} {unit}"
    return _text.duration(value)


def figure(row: Row, value: float) -> str:
    """What the row is about, with its unit."""
    if row["figure"] == "+s":
        return f"{value:+.3f} s"
    if row["figure"] == "ns":
        return f"{value:.0f} ns"
    return f"{value:.2f} us" if row["figure"] == "us" else f"{value:.2f}x"
