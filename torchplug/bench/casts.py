"""Rows about casts: 64 MiB of float32 and back, beside a copy of the float32 side on the same device."""

from __future__ import annotations

import torch

from torchplug.bench import rows
from torchplug.bench.clocks import until_done
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import CAST_ELEMENTS, Settings


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    contests = {
        name: Contest(cast(call, place), copy(place)) for name, call in rows.calls_of(groups)
    }
    return play(settings.large_rounds, contests)


def cast(call: str, place: torch.device) -> Clock:
    source, _, target = call.partition(" to ")
    x = torch.rand(CAST_ELEMENTS).to(getattr(torch, source)).to(place)
    y = torch.zeros_like(x, dtype=getattr(torch, target))
    return until_done(lambda: y.copy_(x), place)


def copy(place: torch.device) -> Clock:
    x = torch.rand(CAST_ELEMENTS).to(place)
    y = torch.zeros_like(x)
    return until_done(lambda: y.copy_(x), place)
