"""Rows about groups of scripted functions, beside the same compiled by torch.compile's backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from torchplug import torchscript
from torchplug.bench import engines, rows
from torchplug.bench.rounds import Contest, Result, play
from torchplug.bench.settings import Settings

LOOKED_AT = 3
"""Calls until a function has its engines."""


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """Calls a second, each with its part of the wait for the last."""
    with engines.compiling(threads=1), grouped():
        contests = {
            name: Contest(
                engines.speed(work(call, place, scripted), place, engines.COUNTS[call]),
                engines.speed(work(call, place, compiled), place, engines.COUNTS[call]),
            )
            for name, call in rows.calls_of(groups)
        }
        return play(settings.large_rounds, contests)


@contextmanager
def grouped() -> Iterator[None]:
    torchscript.enable()
    yield
    torchscript.disable()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return engines.compiled(function, "torchplug")


def scripted(function: Callable[..., Any]) -> Callable[..., Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made: Callable[..., Any] = torch.jit.script(function)
    return made


def work(
    call: str, place: torch.device, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> engines.Work:
    x = torch.randn(64 if call == engines.BLOCK_64 else engines.WIDTH, engines.WIDTH).to(place)
    weight, bias = (torch.rand(engines.WIDTH).to(place) for _ in range(2))
    function = make(engines.block)
    for _ in range(LOOKED_AT):
        function(x, weight, bias)
    return lambda: function(x, weight, bias)
