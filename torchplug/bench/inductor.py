"""Rows about what PyTorch's own compiler, Inductor, makes of a model for the device, beside what it makes for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchplug.bench import rows, training
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

CALLS = 5
"""That are timed together, with the wait for the last."""

MODELS = {"small transformer": training.SMALL, "2 x 768 transformer": training.LARGE}


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    torch._dynamo.reset()
    with torch.inference_mode(mode=False):
        contests = {
            name: Contest(timed(call, place), timed(call, CPU))
            for name, call in rows.calls_of(groups)
        }
        result = play(settings.large_rounds, contests)
    torch._dynamo.reset()
    return result


def timed(call: str, place: torch.device) -> Clock:
    """Nanoseconds a call."""
    kind, _, name = call.partition(", ")
    step = {"inference": inference, "training step": training_step}[kind](MODELS[name], place)
    step()  # compiles it

    def work() -> None:
        for _ in range(CALLS):
            step()

    return until_done(work, place, CALLS)


def inference(sizes: training.Model, place: torch.device) -> Callable[[], None]:
    model = compiled(training.model_of(sizes, place).eval())
    tokens = torch.randint(sizes.vocabulary, (sizes.batch, sizes.length)).to(place)

    def step() -> None:
        with torch.no_grad():
            model(tokens)

    return step


def training_step(sizes: training.Model, place: torch.device) -> Callable[[], None]:
    return training.step_of(sizes, place, compiled)


def compiled(model: torch.nn.Module) -> Callable[..., Any]:
    """For the number of threads there are."""
    options: dict[str, Any] = {"cpp.threads": torch.get_num_threads()}
    made: Callable[..., Any] = torch.compile(model, dynamic=False, options=options)
    return made
