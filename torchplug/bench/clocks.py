"""Clocks of work on a device: its time includes the wait for its end."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from torchplug.bench.rounds import Clock

CPU = torch.device("cpu")


def wait_for(place: torch.device) -> None:
    """Until the device is idle; the CPU always is."""
    if place.type != "cpu":
        torch.get_device_module(place).synchronize(place)


def until_done(work: Callable[[], object], place: torch.device, calls: int = 1) -> Clock:
    """Nanoseconds a call, of work that is so many calls on `place`."""

    def clock() -> float:
        start = time.perf_counter_ns()
        work()
        wait_for(place)
        return (time.perf_counter_ns() - start) / calls

    return clock
