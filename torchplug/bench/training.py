"""Rows about a whole training step: forward, backward and the optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from torchplug.bench import rows
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

STEPS = 5
"""Of the small model, timed together."""


class Model(NamedTuple):
    """A transformer that learns one batch of text."""

    vocabulary: int
    width: int
    heads: int
    layers: int
    batch: int
    length: int


SMALL = Model(vocabulary=128, width=64, heads=4, layers=2, batch=8, length=16)
LARGE = Model(vocabulary=1000, width=768, heads=12, layers=2, batch=4, length=64)


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    with torch.inference_mode(mode=False):
        contests = {name: Contest(timed(place), timed(CPU)) for name, call in rows.calls_of(groups)}
        return play(settings.rounds, contests)


def timed(place: torch.device) -> Clock:
    """Nanoseconds a step of the small model."""
    step = step_of(SMALL, place)

    def work() -> None:
        for _ in range(STEPS):
            step()

    return until_done(work, place, STEPS)


def model_of(sizes: Model, place: torch.device) -> nn.Module:
    """A language model of the usual parts."""
    torch.manual_seed(0)
    width = sizes.width
    layer = nn.TransformerEncoderLayer(width, sizes.heads, 4 * width, dropout=0.0, batch_first=True)
    return nn.Sequential(
        nn.Embedding(sizes.vocabulary, width),
        nn.TransformerEncoder(layer, sizes.layers),
        nn.Linear(width, sizes.vocabulary),
    ).to(place)


def step_of(
    sizes: Model,
    place: torch.device,
    prepare: Callable[[nn.Module], Callable[..., torch.Tensor]] = lambda model: model,
) -> Callable[[], None]:
    """With AdamW. What `prepare` makes of the model is called."""
    model = model_of(sizes, place)
    called = prepare(model)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(sizes.vocabulary, (sizes.batch, sizes.length + 1)).to(place)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(called(inputs).flatten(0, 1), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step
