"""Rows about small calls: how long one takes on the device and on the CPU."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

import torchplug
from torchplug.bench import calls, rows
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

CPU = torch.device("cpu")


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """A synchronous device: the call has done its work when it returns."""
    contests = {
        rows.key(group, call): Contest(
            timed(call, place, settings.calls), timed(call, CPU, settings.calls)
        )
        for group in groups
        for call in group.calls
    }
    return play(settings.rounds, contests)


def measure_held(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """How long the caller is held while the work is only enqueued; the wait for it is not timed."""
    contests = {
        rows.key(group, call): Contest(
            then_synchronize(timed(call, place, settings.short), place),
            timed(call, CPU, settings.short),
        )
        for group in groups
        for call in group.calls
    }
    return play(settings.short_rounds, contests)


def measure_burst(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """Many calls together with the wait for the last."""
    contests = {
        rows.key(group, call): Contest(
            timed(call, place, settings.burst, wait=lambda: torch.accelerator.synchronize(place)),
            timed(call, CPU, settings.burst),
        )
        for group in groups
        for call in group.calls
    }
    return play(settings.rounds, contests)


def timed(
    call: str, place: torch.device, count: int, wait: Callable[[], None] = lambda: None
) -> Clock:
    """Nanoseconds a call, of `count` calls and what `wait` takes after them."""
    timer = calls.timer(call, place)

    def clock() -> float:
        taken = timer.timeit(count)
        start = time.perf_counter_ns()
        wait()
        return (taken + time.perf_counter_ns() - start) / count

    return clock


def then_synchronize(clock: Clock, place: torch.device) -> Clock:
    """The clock's time; afterwards the device is idle."""

    def both() -> float:
        taken = clock()
        torch.accelerator.synchronize(place)
        return taken

    return both


def ways(group: rows.Group, call: str, place: torch.device) -> list[str]:
    """Which way a call goes that is not the first of its kind."""
    timer = calls.timer(call, place)
    timer.timeit(3)
    torchplug.reset_ledger()
    timer.timeit(1)
    torch.accelerator.synchronize(place)
    return sorted({entry.way for entry in torchplug.ledger()})
