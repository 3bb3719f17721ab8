"""What the subcommands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.status import Status
    from rich.table import Table


UNLIMITED = 10_000
"""A width, in characters, that no line of ours reaches."""


def console(*, stderr: bool = False, wraps: bool = True) -> Console:
    """On stdout or stderr. A pipe gets plain text without colours; `wraps`: in lines of 80 columns."""
    from rich.console import Console

    class Pipe(Console):
        """Leaves it to the command line what a reader that has gone means; rich would exit with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    made = Pipe(stderr=stderr, highlight=False)
    if not wraps and not made.is_terminal:
        made.width = UNLIMITED
    return made


def table(on: Console, *columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table with these columns; lines are drawn only on a terminal."""
    from rich import box
    from rich.table import Table

    made = Table(
        box=box.SIMPLE_HEAD if on.is_terminal and any(columns) else None,
        pad_edge=False,
        show_header=any(columns),
        header_style="bold",
    )
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def put(on: Console, shown: RenderableType) -> None:
    """Prints a table, or what else is shown. What goes into a pipe has no blanks at the ends of its lines."""
    from rich.table import Table

    if on.is_terminal:
        inside = getattr(shown, "renderable", shown)  # of what is padded
        missing = keep_words_whole(on, inside) if isinstance(inside, Table) else 0
        on.width += missing
        on.print(shown)
        on.width -= missing
        return
    with on.capture() as captured:
        on.print(shown)
    for line in captured.get().splitlines():
        print(line.rstrip(), file=on.file)


def keep_words_whole(on: Console, shown: Table) -> int:
    """Makes columns narrower until they fit, none narrower than its longest word; how much they then stick out."""
    from rich.cells import cell_len
    from rich.measure import Measurement
    from rich.text import Text

    whole = Measurement.get(on, on.options.update_width(UNLIMITED), shown).maximum
    cells = [
        [Text.from_markup(str(cell)) for cell in (column.header, *column.cells)]
        for column in shown.columns
    ]
    widths = [max(cell.cell_len for cell in column) for column in cells]
    words = [
        max((cell_len(word) for cell in column for word in cell.plain.split()), default=0)
        for column in cells
    ]
    missing = max(whole - on.width, 0)
    while missing > 0:
        widest = max(range(len(widths)), key=lambda i: widths[i] - words[i])
        if widths[widest] <= words[widest]:
            break
        widths[widest] -= 1
        missing -= 1
    for column, width in zip(shown.columns, widths, strict=True):
        column.min_width = column.max_width = width
    return missing


def looking(at: str) -> Status:
    """Says on a terminal, in place, what the command is busy with."""
    return console(stderr=True).status(at)


def print_json(value: Any) -> None:
    """The answer to --json."""
    print(json.dumps(value, indent=2))


def complain(sentence: str) -> None:
    """Says on stderr why the command cannot do what it was asked."""
    print(f"torchplug: {sentence}", file=sys.stderr)
