"""What a terminal shows while somebody waits for a compiler: how much is done, from the second second on."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from torchplug import _C

if TYPE_CHECKING:
    from rich.status import Status

SECONDS = 1.0
"""A wait that is shorter is not shown."""


class Display:
    """Of one thread that waits; those that wait beside it are not shown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin = 0.0
        self._status: Status | None = None

    def tick(self) -> None:
        """Called again and again during a wait."""
        with self._lock:
            if self._begin == 0.0:
                self._begin = time.monotonic()
            seconds = time.monotonic() - self._begin
            if seconds >= SECONDS and sys.stderr is not None and sys.stderr.isatty():
                self._show(seconds)

    def end(self) -> None:
        """After a wait that was ticked."""
        with self._lock:
            self._begin = 0.0
            if self._status is not None:
                self._status.stop()
                self._status = None

    def _show(self, seconds: float) -> None:
        text = line(_C.compilations_under_way(), seconds)
        if self._status is not None:
            self._status.update(text)
            return
        from torchplug.cli import output

        self._status = output.console(stderr=True).status(text)
        self._status.start()


def line(done: list[float], seconds: float) -> str:
    what = "an engine" if len(done) <= 1 else f"{len(done)} engines"
    share = f", {sum(done) / len(done):.0%} done" if any(done) else ""
    return f"torchplug waits for the compiler of {what}: {seconds:.0f} s{share}"
