"""The row about `import torch`: what finding and registering a device adds to it."""

from __future__ import annotations

import os
import subprocess
import sys

from torchplug.bench import rows
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

CODE = """
import time
start = time.perf_counter()
import torch
print(time.perf_counter() - start, torch._C._get_privateuse1_backend_name())
"""


def measure(group: rows.Group, settings: Settings) -> dict[str, Result]:
    """Seconds, in fresh processes in turns."""
    contests = {
        rows.key(group, call): Contest(importing(autoload=True), importing(autoload=False))
        for call in group.calls
    }
    return play(settings.import_pairs, contests, lambda with_it, without: with_it - without)


def importing(*, autoload: bool) -> Clock:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCHPLUG_")}
    env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "1" if autoload else "0"

    def clock() -> float:
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True
        )
        seconds, device = done.stdout.split()
        if (device != "privateuseone") != autoload:
            raise RuntimeError("`import torch` registers no device here")
        return float(seconds)

    return clock
