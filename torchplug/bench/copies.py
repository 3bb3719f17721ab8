"""Rows about large copies between host and device, beside memcpy between the same kinds of memory.

Two buffers of one kind can differ by a tenth in bandwidth for as long as they live (probably by where their
pages happen to lie). So there are several of each kind, and the rounds take them in turns.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from torchplug.bench import rows
from torchplug.bench.clocks import wait_for
from torchplug.bench.rounds import Clock, Contest, Result, play
from torchplug.bench.settings import COPY_BYTES, Settings

PLACEMENTS = 5


class Buffers(NamedTuple):
    """Memory of every kind, which has its pages."""

    pageable: Tensor
    pinned: Tensor
    other: Tensor
    """On the host: memcpy's."""
    device: Tensor


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """Bandwidths in GB/s, so the ratio is of bandwidths too."""
    placements = [allocate(place) for _ in range(PLACEMENTS)]
    contests = {}
    for name, call in rows.calls_of(groups):
        one_each = [contest(call, buffers) for buffers in placements]
        copying, reference = zip(*one_each, strict=True)
        contests[name] = Contest(in_turn(copying), in_turn(reference))
    return play(settings.copy_rounds, contests)


def allocate(place: torch.device) -> Buffers:
    pageable, other = (torch.ones(COPY_BYTES, dtype=torch.uint8) for _ in range(2))
    pinned = pageable.pin_memory()
    if not pinned.is_pinned():
        raise RuntimeError(f"pin_memory() on {place.type} returned memory that is not pinned")
    return Buffers(pageable, pinned, other, pageable.to(place))


def contest(call: str, buffers: Buffers) -> Contest:
    """The reference reads or writes the very memory on the host that the copy does."""
    direction, _, kind = call.partition(", ")
    host = buffers.pinned if kind == "pinned" else buffers.pageable
    if direction == "host to device":
        return Contest(copy(buffers.device, host), memcpy(buffers.other, host))
    return Contest(copy(host, buffers.device), memcpy(host, buffers.other))


def copy(target: Tensor, source: Tensor) -> Clock:
    device = (target if source.is_cpu else source).device

    def work() -> None:
        target.copy_(source)
        wait_for(device)

    return bandwidth(work)


def memcpy(target: Tensor, source: Tensor) -> Clock:
    """Between tensors on the host."""
    return bandwidth(lambda: ctypes.memmove(target.data_ptr(), source.data_ptr(), COPY_BYTES))


def bandwidth(work: Callable[[], object]) -> Clock:
    def clock() -> float:
        start = time.perf_counter_ns()
        work()
        return COPY_BYTES / (time.perf_counter_ns() - start)  # bytes a nanosecond are GB/s

    return clock


def in_turn(clocks: Iterable[Clock]) -> Clock:
    turns = itertools.cycle(clocks)
    return lambda: next(turns)()
