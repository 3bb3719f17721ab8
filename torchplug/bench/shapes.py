"""Rows about calls with ever new shapes, as in a loop that decodes text: what earlier calls have taught about
their shapes is of no use to the next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

from torchplug.bench import rows
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

OPERANDS = {"mul": 2, "add": 2, "exp": 1}


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    contests = {
        name: Contest(timed(call, place, settings), timed(call, CPU, settings))
        for name, call in rows.calls_of(groups)
    }
    return play(settings.shape_rounds, contests)


def timed(call: str, place: torch.device, settings: Settings) -> Clock:
    """The slices are made beforehand."""
    function = getattr(torch, call)
    slices = growing_slices(call, place, settings)

    def clock() -> float:
        arguments = list(itertools.islice(slices, settings.shapes))

        def work() -> None:
            for given in arguments:
                function(*given)

        return until_done(work, place, settings.shapes)()

    return clock


def growing_slices(
    call: str, place: torch.device, settings: Settings
) -> Iterator[tuple[torch.Tensor, ...]]:
    """The operands of one call after the other: slices of 1 element, of 2, of 3 and so on."""
    most = settings.shapes * (settings.shape_rounds + 1)
    operands = [torch.rand(most).to(place) for _ in range(OPERANDS[call])]
    return (tuple(operand[:length] for operand in operands) for length in range(1, most + 1))
