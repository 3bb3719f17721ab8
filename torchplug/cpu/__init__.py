"""The CPU: which cores PyTorch's threads run on, what the machine is, how near to its memory's speed operators come.

It is for ordinary CPU tensors, torch.ops.xcpu's and PyTorch's own operators, and needs no device.
"""

from __future__ import annotations

from torchplug.cpu._machine import Cache, Core, HugePages, Node
from torchplug.cpu._measure import Measurement, OperatorTime, measure
from torchplug.cpu._report import Report, Threads, describe, report
from torchplug.cpu._roof import read_roof
from torchplug.cpu._threads import bind, set_num_threads, unbind

__all__ = [
    "Cache",
    "Core",
    "HugePages",
    "Measurement",
    "Node",
    "OperatorTime",
    "Report",
    "Threads",
    "bind",
    "describe",
    "measure",
    "read_roof",
    "report",
    "set_log_level",
    "set_num_threads",
    "unbind",
]

LOG_LEVELS = ("debug", "info", "warning", "error", "none")


def set_log_level(level: str | int) -> None:
    """The lowest level of plugins' messages that is printed from now on, in place of TORCHPLUG_LOG: "debug", "info",
    "warning", "error", "none", or its number there."""
    numbers = {name: number for number, name in enumerate(LOG_LEVELS)}
    number = numbers.get(level, -1) if isinstance(level, str) else level
    if number not in numbers.values():
        raise ValueError(
            f"There is no log level {level!r}. Set {', '.join(LOG_LEVELS[:-1])} or {LOG_LEVELS[-1]}."
        )
    import torch  # noqa: F401 - _C needs its libraries

    from torchplug import _C

    _C.set_log_level(number)
