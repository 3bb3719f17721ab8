"""Rows about synchronising a device that has nothing to do."""

from __future__ import annotations

import time
from timeit import Timer

import torch

from torchplug.bench import rows
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import Settings

STATEMENTS = {"device": "module.synchronize()", "stream": "stream.synchronize()"}


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    module = torch.get_device_module(place)
    names = {"module": module, "stream": module.current_stream(place)}
    module.synchronize()

    def timed(statement: str) -> Clock:
        timer = Timer(statement, timer=time.perf_counter_ns, globals=names)
        return lambda: timer.timeit(settings.calls) / settings.calls

    contests = {
        name: Contest(timed(STATEMENTS[call]), None) for name, call in rows.calls_of(groups)
    }
    return play(settings.rounds, contests, lambda nanoseconds, _: nanoseconds / 1000)
