"""What was measured, for people: a table in the terminal, or the README's in Markdown."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from torchplug import _text
from torchplug.bench.report import show_environment, show_remarks
from torchplug.cli import output

if TYPE_CHECKING:
    from rich.console import Console

Report = dict[str, Any]
Row = dict[str, Any]

MISSED = " !"
LEGEND = "! misses the aim. Shares are of what the probe in the same round can do; ratios are our time to the peer's."
ROOFS = {"read": "reading", "bf16": "dpbf16", "int8": "dpbusd", "": ""}


def show(console: Console, report: Report) -> None:
    show_environment(console, report)
    peers = report["peers"]
    numbers = ("time", "of the roof", "aim", *(f"x {peer}" for peer in peers), "aim of the fastest")
    table = output.table(console, "", *numbers, right=numbers)
    for title, rows in groupby(report["rows"], key=lambda row: str(row["title"])):
        table.add_row(f"[bold]{title}[/]")
        for row in rows:
            table.add_row(f"  {row['call']}", *cells(row, peers))
    output.put(console, table)
    console.print(f"\n{LEGEND}", markup=False, soft_wrap=True)
    show_remarks(console, report)


def cells(row: Row, peers: list[str]) -> list[str]:
    return [
        _text.duration(row["seconds"] * 1e9),
        share(row),
        number(row["roof_aim"]),
        *(ratio(row, peer) for peer in peers),
        number(row["peer_aim"]) if row["peers"] else "",
    ]


def share(row: Row) -> str:
    if row["of_roof"] is None:
        return ""
    missed = MISSED if misses_roof(row) else ""
    return f"{row['of_roof']['figure']:.2f} of {ROOFS[row['roof']]}{missed}"


def ratio(row: Row, peer: str) -> str:
    if peer not in row["peers"]:
        return ""
    figure = row["peers"][peer]["figure"]
    missed = MISSED if row["peer_aim"] is not None and figure > row["peer_aim"] else ""
    return f"{figure:.2f}{missed}"


def number(aim: float | None) -> str:
    return "" if aim is None else f"{aim:.2f}"


def misses_roof(row: Row) -> bool:
    aim, found = row["roof_aim"], row["of_roof"]
    return aim is not None and found is not None and found["figure"] < aim


def misses_peer(row: Row) -> bool:
    aim = row["peer_aim"]
    return aim is not None and any(found["figure"] > aim for found in row["peers"].values())


# ---- the README's table ----


def markdown(report: Report) -> str:
    """A row for each group, from its first call to its last; bold misses the aim."""
    lines = [
        "| | share of the roof | aim | time, of the fastest peer's | aim |",
        "|---|---|---|---|---|",
    ]
    for title, rows in groupby(report["rows"], key=lambda row: str(row["title"])):
        every = list(rows)
        calls = ", ".join(row["call"] for row in every)
        shares = [
            bold(f"{row['of_roof']['figure']:.2f}", misses_roof(row))
            for row in every
            if row["of_roof"]
        ]
        ratios = [bold(f"{fastest(row):.2f}", misses_peer(row)) for row in every if row["peers"]]
        aims = [number(row["roof_aim"]) for row in every if row["roof_aim"] is not None]
        most = {number(row["peer_aim"]) for row in every if row["peers"]}
        lines.append(
            f"| {title}: {calls} | {' '.join(shares)} | {' '.join(aims)} | {' '.join(ratios)} | {' '.join(most)} |"
        )
    here = report["environment"]
    machine = f"{here['date'][:10]}, {here['cpu']}, {report['threads']} threads"
    beside = ", ".join(report["peers"].values()) or "no peers"
    lines += ["", f"{machine}, PyTorch {here['torch']}; beside {beside}. Bold misses the aim."]
    return "\n".join(lines)


def fastest(row: Row) -> float:
    """Our time, of that of the peer that is hardest to beat."""
    return max(found["figure"] for found in row["peers"].values())


def bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text
