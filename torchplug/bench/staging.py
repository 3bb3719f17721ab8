"""The row about staging: an operator without a kernel on a device whose memory the host cannot reach, beside
the same operator on the CPU and the two copies that staging needs, at memcpy's speed."""

from __future__ import annotations

import ctypes

import torch

from torchplug.bench import rows
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import STAGED_ELEMENTS, Settings


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    contests = {
        name: Contest(staged(call, place), least(call)) for name, call in rows.calls_of(groups)
    }
    return play(settings.large_rounds, contests)


def staged(call: str, place: torch.device) -> Clock:
    x = torch.rand(STAGED_ELEMENTS).to(place)
    function = FUNCTIONS[call]
    return until_done(lambda: function(x), place)


def least(call: str) -> Clock:
    """All memory has its pages: nothing is allocated."""
    given, x, y, result = (torch.rand(STAGED_ELEMENTS) for _ in range(4))
    size = given.nbytes
    function = FUNCTIONS[call]

    def work() -> None:
        ctypes.memmove(x.data_ptr(), given.data_ptr(), size)
        function(x, out=y)
        ctypes.memmove(result.data_ptr(), y.data_ptr(), size)

    return until_done(work, CPU)


FUNCTIONS = {"sin of 16M": torch.sin}
