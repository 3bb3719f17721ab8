"""The row about a chain of small operators, each of which needs the one before."""

from __future__ import annotations

import torch

from torchplug.bench import rows
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import ELEMENTS, Settings


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    contests = {
        name: Contest(chain(call, place, settings.burst), chain(call, CPU, settings.burst))
        for name, call in rows.calls_of(groups)
    }
    return play(settings.rounds, contests)


def chain(call: str, place: torch.device, length: int) -> Clock:
    start = torch.rand(ELEMENTS).to(place)
    function = getattr(torch, call)

    def work() -> None:
        value = start
        for _ in range(length):
            value = function(value)

    return until_done(work, place, length)
