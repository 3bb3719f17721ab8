"""How fast this machine reads memory, measured."""

from __future__ import annotations

import contextlib
import mmap
import time

from torchplug.cpu import _machine, _threads

HUGE_PAGE = 2 << 20
LEAST, MOST = 256 << 20, 4 << 30
ROUNDS = 8

_known: dict[tuple[int, tuple[int, ...]], float] = {}


def read_roof(*, again: bool = False) -> float:
    """How many bytes a second PyTorch's threads read of memory that is in no cache.

    Takes less than a second where it is first called with as many threads on these cores, and a few hundred
    MiB; `again` measures anew, which is wise where other programs run: the larger of both counts.
    """
    import torch

    bound = _threads.binding()
    key = torch.get_num_threads(), tuple(bound.cores) if bound else ()
    if again or key not in _known:
        _known[key] = max(_measure(_size()), _known.get(key, 0.0))
    return _known[key]


def _size() -> int:
    """Several times the caches, as far as the memory goes."""
    cached = sum(cache.bytes for cache in _machine.caches() if cache.level >= 3)
    wanted = min(max(LEAST, 4 * cached), MOST)
    available = _machine.available_memory() or 4 * wanted
    return max(min(wanted, available // 4) // HUGE_PAGE, 1) * HUGE_PAGE


def _measure(size: int) -> float:
    """The best of some rounds: all that disturbs a round makes it slower."""
    import torch

    memory = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # of a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    whole = torch.frombuffer(memory, dtype=torch.uint8)
    begin = -whole.data_ptr() % HUGE_PAGE
    integers = whole[begin : begin + size].view(torch.int64)
    integers.fill_(1)
    best = float("inf")
    for _ in range(ROUNDS):
        # Of PyTorch's operators, those that come nearest to a loop of loads.
        for values in (integers, integers.view(torch.float64)):
            start = time.perf_counter()
            values.sum()
            best = min(best, time.perf_counter() - start)
    return size / best
