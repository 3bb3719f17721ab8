"""The row about a whole training step: many small operators forward, backward and in the optimizer."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from torchplug.bench import rows
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

VOCABULARY, WIDTH, HEADS, LAYERS = 128, 64, 4, 2
BATCH, LENGTH = 8, 16
STEPS = 5
"""Timed together."""


def measure(group: rows.Group, place: torch.device, settings: Settings) -> dict[str, Result]:
    with torch.inference_mode(mode=False):
        contest = Contest(timed(place), timed(torch.device("cpu")))
        return play(settings.rounds, {rows.key(group, call): contest for call in group.calls})


def timed(place: torch.device) -> Clock:
    """Nanoseconds a step, the wait for the last included."""
    step = training_step(place)

    def clock() -> float:
        start = time.perf_counter_ns()
        for _ in range(STEPS):
            step()
        if place.type != "cpu":
            torch.accelerator.synchronize(place)
        return (time.perf_counter_ns() - start) / STEPS

    return clock


def training_step(place: torch.device) -> Callable[[], None]:
    """A language model of the usual parts learns one batch."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
    model = nn.Sequential(
        nn.Embedding(VOCABULARY, WIDTH),
        nn.TransformerEncoder(layer, LAYERS),
        nn.Linear(WIDTH, VOCABULARY),
    ).to(place)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1)).to(place)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step
