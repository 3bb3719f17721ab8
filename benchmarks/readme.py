"""The README's table of numbers, between two comments."""

from __future__ import annotations

BEGIN = "<!-- numbers: begin. From `make bench`. -->\n"
END = "<!-- numbers: end -->"


def with_table(text: str, table: str) -> str:
    """The README's text with another table; nothing else changes."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise RuntimeError(f"The README has no table between {BEGIN.strip()} and {END}.")
    return f"{before}{BEGIN}{table}\n{END}{after}"
