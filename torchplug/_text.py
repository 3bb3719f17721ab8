"""Numbers for people."""

from __future__ import annotations

TIMES = (("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9))


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


def duration(nanoseconds: float) -> str:
    """A time in the unit that suits it: 1500 is 1.5 us."""
    unit, size = next(((u, s) for u, s in reversed(TIMES) if nanoseconds >= s), TIMES[0])
    return f"{nanoseconds / size:.3g} {unit}"
