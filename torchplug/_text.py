"""Numbers for people."""

from __future__ import annotations


def size(count: int) -> str:
    """A number of bytes: 1536 is 1.5 KiB."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} TiB"
