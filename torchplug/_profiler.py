"""The vendor's own profiler, switched on and off, as torch.cuda.profiler does CUDA's.

For a trace of operators and kernels use torch.profiler.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchplug import _C

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Lets the plugin's profiler record. A plugin without one has nothing to start."""
    _C.start_plugin_profiler()


def stop() -> None:
    """Ends what `start` began."""
    _C.stop_plugin_profiler()


@contextmanager
def profile() -> Iterator[None]:
    """The plugin's profiler records during the body of a `with`."""
    start()
    try:
        yield
    finally:
        stop()
