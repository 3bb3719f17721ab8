"""Rows about operators that are large enough for several threads: what the device does with the whole machine."""

from __future__ import annotations

from collections.abc import Callable

import torch

from torchplug.bench import rows, training
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.rounds import Contest, Result, play
from torchplug.bench.settings import LARGE_ELEMENTS, Settings

Work = Callable[[], object]


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    with torch.inference_mode(mode=False):
        contests = {
            name: Contest(until_done(WORK[call](place), place), until_done(WORK[call](CPU), CPU))
            for name, call in rows.calls_of(groups)
        }
        return play(settings.large_rounds, contests)


def add(place: torch.device) -> Work:
    """Into a tensor that is there: the CPU's allocator would get new pages from the system every time."""
    x, y, result = (torch.rand(LARGE_ELEMENTS).to(place) for _ in range(3))
    return lambda: torch.add(x, y, out=result)


def matmul(place: torch.device) -> Work:
    x, y = (torch.rand(1024, 1024).to(place) for _ in range(2))
    return lambda: torch.matmul(x, y)


WORK: dict[str, Callable[[torch.device], Work]] = {
    "add of 8M": add,
    "matmul of 1,024": matmul,
    "training step of a 2 x 768 transformer": lambda place: training.step_of(training.LARGE, place),
}
