"""Where and when it was measured."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from typing import Any

from torchplug import __version__


def describe() -> dict[str, Any]:
    """All but what only a measuring process knows: the versions of PyTorch and the compiler."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load": load(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torchplug": __version__,
    }


def load() -> list[float]:
    return [round(average, 2) for average in os.getloadavg()]


def cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            return next(names, platform.machine())
    except OSError:
        return platform.machine()
