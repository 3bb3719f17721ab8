"""Rows about engines of the device's compiler, beside PyTorch's own compiler (Inductor) on the CPU."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from timeit import Timer
from typing import Any

import torch
import torch.nn.functional as F

from torchplug.bench import rows
from torchplug.bench.clocks import CPU, wait_for
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import ELEMENTS, Settings

Work = Callable[[], object]
WIDTH = 1024
HEADS, HEAD_WIDTH, WINDOW = 8, 64, 128
MIB = 1 << 20


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """With one thread."""
    with compiling(threads=1):
        return measure_all_threads(groups, place, settings)


def measure_all_threads(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """Calls a second, each with its part of the wait for the last: the ratio is of speeds."""
    with compiling():
        contests = {
            name: Contest(
                speed(work(call, place, "torchplug"), place, COUNTS[call]),
                speed(work(call, CPU, "inductor"), CPU, COUNTS[call]),
            )
            for name, call in rows.calls_of(groups)
        }
        return play(settings.large_rounds, contests)


def measure_call(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """Until the call returns; the wait for its work is not timed."""
    with compiling(threads=1):
        contests = {
            name: Contest(
                until_returned(place, "torchplug", settings.short),
                until_returned(CPU, "inductor", settings.short),
            )
            for name, _ in rows.calls_of(groups)
        }
        return play(settings.short_rounds, contests)


def measure_decode(
    groups: list[rows.Group], place: torch.device, settings: Settings
) -> dict[str, Result]:
    """A step with a large cache beside one with a small one, on the same device."""
    with compiling(threads=1):
        contests = {
            name: Contest(decode(place, 64 * MIB), decode(place, MIB))
            for name, _ in rows.calls_of(groups)
        }
        return play(settings.rounds, contests)


@contextlib.contextmanager
def compiling(threads: int | None = None) -> Iterator[None]:
    """Without gradients, with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    torch._dynamo.reset()
    with torch.inference_mode(False), torch.no_grad():
        yield
    torch._dynamo.reset()
    torch.set_num_threads(before)


def compiled(function: Callable[..., Any], backend: str) -> Callable[..., Any]:
    """What Inductor has compiled for one number of threads does not serve another: so it is told the number."""
    options: dict[str, Any] = (
        {"cpp.threads": torch.get_num_threads()} if backend == "inductor" else {}
    )
    made: Callable[..., Any] = torch.compile(
        function, backend=backend, dynamic=False, fullgraph=True, options=options
    )
    return made


# ---- what is called ----


def block(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Norm, GELU, softmax, residual."""
    return F.softmax(F.gelu(F.layer_norm(x, x.shape[-1:], weight, bias)), -1) + x


def sigmoids(x: torch.Tensor) -> torch.Tensor:
    """Six steps."""
    for _ in range(6):
        x = torch.sigmoid(x) * 1.5 - 0.25
    return x


def small(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * y + 2.0) - x


def step(
    cache: torch.Tensor, new: torch.Tensor, query: torch.Tensor, at: torch.Tensor
) -> torch.Tensor:
    """Writes a row of each head into the cache, and attends to the first rows."""
    cache.index_copy_(1, at, new)
    seen = cache.narrow(1, 0, WINDOW)
    weights = F.softmax((seen * query).sum(-1), -1)
    return (weights.unsqueeze(-1) * seen).sum(1)


BLOCK_64, BLOCK_1024, SIGMOIDS = rows.FUSED_CALLS
COUNTS = {BLOCK_64: 64, BLOCK_1024: 4, SIGMOIDS: 4}
"""Calls that are timed together."""


def work(call: str, place: torch.device, backend: str) -> Work:
    x = torch.randn(64 if call == BLOCK_64 else WIDTH, WIDTH).to(place)
    if call == SIGMOIDS:
        function = compiled(sigmoids, backend)
        return lambda: function(x)
    weight, bias = torch.rand(WIDTH).to(place), torch.rand(WIDTH).to(place)
    function = compiled(block, backend)
    return lambda: function(x, weight, bias)


# ---- clocks ----


def speed(work: Work, place: torch.device, calls: int) -> Clock:
    work()  # compiles it

    def clock() -> float:
        start = time.perf_counter_ns()
        for _ in range(calls):
            work()
        wait_for(place)
        return calls * 1e9 / (time.perf_counter_ns() - start)

    return clock


def until_returned(place: torch.device, backend: str, calls: int) -> Clock:
    """Nanoseconds a call."""
    x, y = (torch.rand(ELEMENTS).to(place) for _ in range(2))
    names = {"f": compiled(small, backend), "x": x, "y": y}
    timer = Timer("f(x, y)", timer=time.perf_counter_ns, globals=names)

    def clock() -> float:
        taken = timer.timeit(calls)
        wait_for(place)
        return taken / calls

    return clock


def decode(place: torch.device, size: int) -> Clock:
    """Nanoseconds a step, with a cache of so many bytes."""
    length = size // (HEADS * HEAD_WIDTH * 4)
    cache = torch.zeros(HEADS, length, HEAD_WIDTH).to(place)
    new, query = (torch.rand(HEADS, 1, HEAD_WIDTH).to(place) for _ in range(2))
    places = itertools.cycle([torch.tensor([i]).to(place) for i in range(16)])
    function = compiled(step, "torchplug")

    def clock() -> float:
        start = time.perf_counter_ns()
        for _ in range(16):
            function(cache, new, query, next(places))
        wait_for(place)
        return (time.perf_counter_ns() - start) / 16

    return clock
