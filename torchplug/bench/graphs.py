"""Rows about graphs: a step of about 200 operators replayed, beside the same step launched eagerly.

Both halves include the wait for the end of each step. A half is several steps, as a training loop is: one step
alone would mostly measure how long the device's thread takes to wake up.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from torchplug._graphs import Graph
from torchplug.bench import rows
from torchplug.bench.clocks import wait_for
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import ELEMENTS, Settings

Step = Callable[[], object]
STEPS_AT_ONCE = 20


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """Steps per second, so the ratio is of speeds."""
    with torch.inference_mode(False):
        contests = {
            name: contest(STEPS[call](place), place) for name, call in rows.calls_of(groups)
        }
        return play(settings.short_rounds, contests)


def contest(step: Step, place: torch.device) -> Contest:
    return Contest(speed(captured(step, place).replay, place), speed(step, place))


def captured(step: Step, place: torch.device) -> Graph:
    """The graph of a step, after having run it so that every operator has a plan."""
    module = torch.get_device_module(place)
    module.synchronize()
    with module.stream(module.graphs.own_stream()):
        for _ in range(3):
            step()
    graph = Graph()
    with module.graph(graph):
        step()
    return graph


def speed(step: Step, place: torch.device) -> Clock:
    def clock() -> float:
        start = time.perf_counter_ns()
        for _ in range(STEPS_AT_ONCE):
            step()
            wait_for(place)
        return STEPS_AT_ONCE * 1e9 / (time.perf_counter_ns() - start)

    return clock


def forward(place: torch.device) -> Step:
    """100 additions and 100 hyperbolic tangents."""
    x, y = (torch.rand(ELEMENTS).to(place) for _ in range(2))

    def step() -> None:
        value = x
        with torch.no_grad():
            for _ in range(100):
                value = torch.tanh(value + y)

    return step


def training(place: torch.device) -> Step:
    """Forward, backward and AdamW of a network of five layers."""
    layers = [torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh()) for _ in range(5)]
    model = torch.nn.Sequential(*layers).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    x, target = (torch.rand(4, 16).to(place) for _ in range(2))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


STEPS: dict[str, Callable[[torch.device], Step]] = {
    "forward": forward,
    "training": training,
}
