"""What was measured, for people: a table in the terminal, or the README's in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from torchplug.bench.report import (
    Report,
    Row,
    cells,
    figure,
    quantity,
    show_environment,
    show_remarks,
)
from torchplug.cli import output

if TYPE_CHECKING:
    from rich.console import Console

SIDES = ("python", "cpp")
MISSED, NEARLY = " !", " ~"
LEGEND = "! misses the aim;  ~ misses it, and meets the first one"


# ---- the terminal ----


def show(console: Console, report: Report) -> None:
    show_environment(console, report)
    show_calls(console, report)
    console.print()
    show_others(console, report)
    console.print(f"\n{LEGEND}", markup=False)
    show_remarks(console, report)


def show_calls(console: Console, report: Report) -> None:
    """The rows whose reference is the CPU."""
    columns = ("call", "device", "Python", "CPU", "ratio", "aim", "C++", "CPU ", "ratio ", "aim ")
    table = output.table(console, *columns, right=columns[2:])
    for title, group in by_title(report, against_cpu=True):
        table.add_row(f"[bold]{title}[/]")
        for row in group:
            cells = [cell for side in SIDES for cell in call_cells(row, side, report)]
            table.add_row(f"  {row['call']}", row["device"], *cells)
    output.put(console, table)


def call_cells(row: Row, side: str, report: Report) -> list[str]:
    result, aim = row[side], row[f"{side}_aim"]
    shown_aim = "" if aim is None else f"{aim:g}x"
    if result is None:
        built = side == "python" or report["cpp_built"]
        return ["" if built else "not built", "", "", shown_aim]
    times = [quantity(result[half], row["unit"]) for half in ("device", "reference")]
    return [*times, f"{result['figure']:.2f}x{mark(row, side)}", shown_aim]


def show_others(console: Console, report: Report) -> None:
    """The rows with a unit or a reference of their own."""
    columns = ("", "device", "measured", "against", "result", "aim")
    table = output.table(console, *columns, right=columns[2:])
    for title, group in by_title(report, against_cpu=False):
        table.add_row(f"[bold]{title}[/]")
        for row in group:
            side = "python" if row["python"] is not None else "cpp"
            *measured, result = cells(row, row[side])
            shown = [*measured, result + mark(row, side), aim_text(row, side)]
            table.add_row(f"  {row['call']}", row["device"], *shown)
    output.put(console, table)


def by_title(report: Report, *, against_cpu: bool) -> Iterator[tuple[str, list[Row]]]:
    rows = [row for row in report["rows"] if (row["against"] == "the CPU") == against_cpu]
    for title, group in groupby(rows, key=lambda row: str(row["title"])):
        yield title, list(group)


# ---- Markdown ----


def markdown(report: Report) -> str:
    """One line for each kind of rows; several calls show as a range."""
    here = report["environment"]
    rows = [
        "| | aim, Python | Python | aim, C++ | C++ |",
        "|---|---|---|---|---|",
        *(markdown_row(list(group)) for group in markdown_groups(report)),
    ]
    about = (
        f"{here['date'][:10]}, {here['cpu']}, {here['cores']} cores, PyTorch "
        f"{here.get('torch', '?')}. Times are ratios against PyTorch's CPU device in the same run "
        f"({report['conditions']}); copies are bandwidths against memcpy's. A range is over the "
        "calls measured; bold misses the aim."
    )
    return "\n".join([*rows, "", about, *report["notes"]])


def markdown_groups(report: Report) -> Iterator[list[Row]]:
    for _, group in groupby(report["rows"], key=lambda row: row["group"]):
        yield list(group)


def markdown_row(group: list[Row]) -> str:
    first = group[0]
    calls = ", ".join(row["call"] for row in group)
    title = first["title"]
    if calls not in title and len(group) < 7 and first["against"] == "the CPU":
        title = f"{title} ({first['device']}: {calls})"
    cells = [title]
    for side in SIDES:
        cells += [aim_text(first, side), results_text(group, side)]
    return f"| {' | '.join(cells)} |"


def results_text(group: list[Row], side: str) -> str:
    """The smallest and the largest of the group."""
    figures = sorted(row[side]["figure"] for row in group if row[side] is not None)
    if not figures:
        return ""
    low, high = figure(group[0], figures[0]), figure(group[0], figures[-1])
    text = low if low == high else f"{low} to {high}"
    return f"**{text}**" if any(mark(row, side) for row in group if row[side]) else text


# ---- both ----


def mark(row: Row, side: str) -> str:
    """Whether a result misses its aim."""
    aim, first_aims = row[f"{side}_aim"], row["first_aims"]
    value = row[side]["figure"]
    if aim is None or meets(row, value, aim):
        return ""
    if first_aims is not None and meets(row, value, first_aims[SIDES.index(side)]):
        return NEARLY
    return MISSED


def meets(row: Row, value: float, aim: float) -> bool:
    return value >= aim if row["at_least"] else value <= aim


def aim_text(row: Row, side: str) -> str:
    aim = row[f"{side}_aim"]
    if aim is None:
        return ""
    unit = {"x": "x", "us": " us", "ns": " ns", "+s": " s"}[row["figure"]]
    sign = "+" if row["figure"] == "+s" else ""
    return f"{sign}{aim:g}{unit}"
