"""How long to measure. Goes from the driver to the processes that measure."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """Numbers of rounds, and how much is timed in each."""

    rounds: int = 31
    calls: int = 2000
    """Of a small operator, timed together."""
    short: int = 200
    """Calls that are only enqueued: few enough that the device is not far behind."""
    burst: int = 1000
    """Calls together with the wait for their end."""
    shapes: int = 512
    """Calls with shapes that are all different, timed together: so many that waking the device's thread, once
    for all of them, does not count."""
    shape_rounds: int = 11
    copy_rounds: int = 30
    large_rounds: int = 11
    import_pairs: int = 9
    disk_pairs: int = 3

    @property
    def short_rounds(self) -> int:
        """Rounds of the short kind, so that as many calls are timed as of the long kind."""
        return self.rounds * max(1, self.calls // self.short)

    def with_rounds(self, rounds: int) -> Settings:
        return replace(self, rounds=rounds)


QUICK = Settings(
    rounds=1,
    calls=50,
    short=50,
    burst=50,
    shapes=8,
    shape_rounds=1,
    copy_rounds=1,
    large_rounds=1,
    import_pairs=1,
    disk_pairs=1,
)
"""One round of everything."""

FEWEST_ROUNDS = 7
"""With fewer the numbers mean nothing."""

ELEMENTS = 16
"""Of the tensors that small operators are called with, float32."""
COPY_BYTES = 64 << 20
CAST_ELEMENTS = 1 << 24
"""64 MiB of float32."""
LARGE_ELEMENTS = 8 << 20
STAGED_ELEMENTS = 16 << 20
