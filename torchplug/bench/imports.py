"""The row about `import torch`: what finding and registering a device adds to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping

from torchplug.bench import rows
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

CODE = """
import time
start = time.perf_counter()
import torch
print(time.perf_counter() - start, torch._C._get_privateuse1_backend_name())
"""


def measure(
    groups: Iterable[rows.Group], settings: Settings, environment: Mapping[str, str]
) -> dict[str, Result]:
    """Seconds, in fresh processes in turns. Raises RuntimeError where there is nothing to measure."""
    contests = {
        name: Contest(importing(environment, autoload=True), importing(environment, autoload=False))
        for name, _ in rows.calls_of(groups)
    }
    return play(settings.import_pairs, contests, lambda with_it, without: with_it - without)


def importing(environment: Mapping[str, str], *, autoload: bool) -> Clock:
    chosen = {**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if autoload else "0"}

    def clock() -> float:
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=chosen, capture_output=True, text=True, check=True
        )
        seconds, device = done.stdout.split()
        if (device != "privateuseone") != autoload:
            raise RuntimeError("`import torch` registers no device here")
        return float(seconds)

    return clock
