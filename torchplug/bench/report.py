"""What was measured, for people: a table in the terminal, or the README's in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from torchplug.cli import output

if TYPE_CHECKING:
    from rich.console import Console

Row = dict[str, Any]
Report = dict[str, Any]

SIDES = ("python", "cpp")
MISSED, NEARLY = " !", " ~"
LEGEND = "! misses the aim;  ~ misses it, and meets the first one"
WIDTH = 120  # of a table that goes into a file


# ---- the terminal ----


def show(console: Console, report: Report) -> None:
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    for line in environment_lines(report):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    show_calls(console, report)
    console.print()
    show_others(console, report)
    console.print(f"\n{LEGEND}", markup=False)
    for note in report["notes"]:
        console.print(note, markup=False, soft_wrap=True)
    for failure in report["failures"]:
        console.print(f"FAILED: {failure}", markup=False, soft_wrap=True)


def environment_lines(report: Report) -> Iterator[str]:
    here = report["environment"]
    commit = f" ({here['commit']})" if here["commit"] else ""
    versions = f"torchplug {here['torchplug']}{commit}, PyTorch {here.get('torch', '?')}"
    load = " ".join(map(str, here["load"]))
    after = " ".join(map(str, here["load_after"]))
    yield f"{here['date']}, {here['cpu']}, {here['cores']} cores, load {load}, after {after}"
    yield f"{versions}, Python {here['python']}, {here.get('compiler', '?')}"
    yield report["conditions"]


def show_calls(console: Console, report: Report) -> None:
    """The rows whose reference is the CPU."""
    columns = (
        "call",
        "device",
        "Python ns",
        "CPU ns",
        "ratio",
        "aim",
        "C++ ns",
        "CPU ns ",
        "ratio ",
    )
    table = output.table(console, *columns, "aim ", right=(*columns[2:], "aim "))
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
    times = [f"{result['device']:.0f}", f"{result['reference']:.0f}"]
    return [*times, f"{result['figure']:.2f}x{mark(row, side)}", shown_aim]


def show_others(console: Console, report: Report) -> None:
    """The rows with a unit or a reference of their own."""
    columns = ("", "device", "measured", "against", "result", "aim")
    table = output.table(console, *columns, right=columns[2:])
    for title, group in by_title(report, against_cpu=False):
        table.add_row(f"[bold]{title}[/]")
        for row in group:
            side = "python" if row["python"] is not None else "cpp"
            result = row[side]
            reference = result["reference"]
            against = "" if reference is None else f"{row['against']} {reference:.3g} {row['unit']}"
            shown = figure(row, result["figure"]) + mark(row, side)
            measured = f"{result['device']:.3g} {row['unit']}"
            table.add_row(
                f"  {row['call']}", row["device"], measured, against, shown, aim_text(row, side)
            )
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


def figure(row: Row, value: float) -> str:
    """What the aim is about, with its unit."""
    if row["figure"] == "+s":
        return f"{value:+.3f} s"
    if row["figure"] == "ns":
        return f"{value:.0f} ns"
    return f"{value:.2f} us" if row["figure"] == "us" else f"{value:.2f}x"


def aim_text(row: Row, side: str) -> str:
    aim = row[f"{side}_aim"]
    if aim is None:
        return ""
    unit = {"x": "x", "us": " us", "ns": " ns", "+s": " s"}[row["figure"]]
    sign = "+" if row["figure"] == "+s" else ""
    return f"{sign}{aim:g}{unit}"
