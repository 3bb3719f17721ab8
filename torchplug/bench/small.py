"""Rows about small calls: how long one takes on the device and on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import torch

import torchplug
from torchplug.bench import calls, rows
from torchplug.bench.clocks import CPU, until_done, wait_for
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """Until the call returns. An asynchronous device has not done the work then: it gets fewer calls at a time,
    so that it does not fall far behind, and is waited for after them."""
    if not is_asynchronous():
        return play(settings.rounds, contests(groups, place, settings.calls, until_returned))
    return play(settings.short_rounds, contests(groups, place, settings.short, until_returned))


def measure_burst(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """Many calls together with the wait for the last."""

    def clock(call: str, place: torch.device, count: int) -> Clock:
        timer = calls.timer(call, place)
        return until_done(lambda: timer.timeit(count), place, count)

    return play(settings.rounds, contests(groups, place, settings.burst, clock))


def measure_pairs(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """Until the call returns, beside another call on the same device."""
    pairs = {
        name: Contest(
            until_returned(call, place, settings.calls),
            until_returned(calls.PEERS[call], place, settings.calls),
        )
        for name, call in rows.calls_of(groups)
    }
    return play(settings.rounds, pairs)


def is_asynchronous() -> bool:
    """Whether a call only enqueues its work."""
    return torchplug._C.describe()["capabilities"]["streams"]


def contests(
    groups: list[rows.Group],
    place: torch.device,
    count: int,
    clock: Callable[[str, torch.device, int], Clock],
) -> dict[str, Contest]:
    return {
        name: Contest(clock(call, place, count), clock(call, CPU, count))
        for name, call in rows.calls_of(groups)
    }


def until_returned(call: str, place: torch.device, count: int) -> Clock:
    """Nanoseconds a call; the wait for its work is not timed."""
    timer = calls.timer(call, place)

    def clock() -> float:
        taken = timer.timeit(count)
        wait_for(place)
        return taken / count

    return clock


def ways(call: str, place: torch.device) -> list[str]:
    """How a call runs that is not the first of its kind, as the ledger names it."""
    timer = calls.timer(call, place)
    timer.timeit(3)
    wait_for(place)
    torchplug.reset_ledger()
    timer.timeit(1)
    wait_for(place)
    return sorted({entry.way for entry in torchplug.ledger()})
