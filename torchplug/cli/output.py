"""What the subcommands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.status import Status
    from rich.table import Table


def console(*, stderr: bool = False) -> Console:
    """On stdout or stderr. A pipe gets plain text without colours."""
    from rich.console import Console

    class Pipe(Console):
        """Leaves it to the command line what a reader that has gone means; rich would exit with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Pipe(stderr=stderr, highlight=False)


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
    """Prints a table; what goes into a pipe has no blanks at the ends of its lines."""
    if on.is_terminal:
        on.print(shown)
        return
    with on.capture() as captured:
        on.print(shown)
    for line in captured.get().splitlines():
        print(line.rstrip(), file=on.file)


def looking(at: str) -> Status:
    """Says on a terminal, in place, what the command is busy with."""
    return console(stderr=True).status(at)


def print_json(value: Any) -> None:
    """The answer to --json."""
    print(json.dumps(value, indent=2))


def complain(sentence: str) -> None:
    """Says on stderr why the command cannot do what it was asked."""
    print(f"torchplug: {sentence}", file=sys.stderr)
