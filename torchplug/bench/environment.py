"""Where and when it was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from typing import Any

from torchplug import __version__
from torchplug.bench.places import CHECKOUT


def describe() -> dict[str, Any]:
    """All but what only a measuring process knows: the versions of PyTorch and the compiler."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "torchplug": __version__,
        "commit": commit(),
    }


def cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
            return next(names, platform.machine())
    except OSError:
        return platform.machine()


def commit() -> str:
    """Of the checkout, with `-dirty` if it has changes; "" without one."""
    if not (CHECKOUT / ".git").exists():
        return ""
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
