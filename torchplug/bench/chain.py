"""The row about a chain of operators, each of which needs the one before: a device whose calls only enqueue
beside one whose calls do the work at once. A process has one device, so each is measured beside the CPU, and
the row compares the two ratios."""

from __future__ import annotations

import time

import torch

from torchplug.bench import rows
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import ELEMENTS, Settings

GROUP = next(group for group in rows.GROUPS if group.name == "chain")
DEVICES = (GROUP.device, GROUP.against)


def key(device: str) -> str:
    """What the half of the row that one device measures is called."""
    return f"{GROUP.name}-{device}"


def measure(place: torch.device, settings: Settings) -> dict[str, Result]:
    contest = Contest(chain(place, settings.burst), chain(torch.device("cpu"), settings.burst))
    return play(settings.rounds, {key(place.type): contest})


def chain(place: torch.device, length: int) -> Clock:
    """Nanoseconds a call, the wait for the last included."""
    start_value = torch.rand(ELEMENTS).to(place)
    (call,) = GROUP.calls
    function = getattr(torch, call)

    def clock() -> float:
        start = time.perf_counter_ns()
        value = start_value
        for _ in range(length):
            value = function(value)
        if place.type != "cpu":
            torch.accelerator.synchronize(place)
        return (time.perf_counter_ns() - start) / length

    return clock


def compare(halves: dict[str, Result]) -> dict[str, Result]:
    """The row, once both devices have been measured."""
    if not all(key(device) in halves for device in DEVICES):
        return {}
    ours, theirs = (halves[key(device)] for device in DEVICES)
    figure = ours["figure"] / theirs["figure"]
    result: Result = {
        "device": ours["device"],
        "reference": theirs["device"],
        "figure": figure,
        "low": ours["low"] / theirs["high"],
        "high": ours["high"] / theirs["low"],
        "rounds": min(ours["rounds"], theirs["rounds"]),
    }
    return {rows.key(GROUP, call): result for call in GROUP.calls}
