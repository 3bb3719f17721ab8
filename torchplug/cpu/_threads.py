"""PyTorch's threads: how many there are, and on which cores they run.

They are OpenMP's. Each thread of a program that runs operators has a team of its own, whose first is that thread;
what is said here is said of the calling thread's.
"""

from __future__ import annotations

import ctypes
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from torchplug.cpu import _cores


@dataclass
class Binding:
    """A team that is bound."""

    cores: list[int]
    before: set[int]
    """The cores of the calling thread before."""
    threads: list[int]
    """Linux's numbers of the team's threads; the first is the calling one."""


class _OfThread(threading.local):
    binding: Binding | None = None


_mine = _OfThread()


def _forget_binding() -> None:
    """A forked process has none of the threads but the one that forked."""
    _mine.binding = None


os.register_at_fork(after_in_child=_forget_binding)


def binding() -> Binding | None:
    """Of the calling thread's team."""
    return _mine.binding


def bind(cores: _cores.CoreList | None = None) -> list[int]:
    """Binds the threads with which PyTorch runs the calling thread's operators to cores, one to each, and sets their
    number. Returns the cores.

    `cores`: 0, "0-1", "0,2-3" or a list; without it, one for each core that the process may use. The calling
    thread itself may use all of them, since threads and processes that it starts inherit its cores.
    """
    before = _mine.binding.before if _mine.binding else os.sched_getaffinity(0)
    chosen = _cores.one_of_each(before) if cores is None else _cores.numbers_in(cores)
    openmp = _openmp()
    _cores.confine(chosen)
    _mine.binding = Binding(chosen, before, [])
    _bind_team(openmp, _mine.binding, len(chosen))
    return chosen


def unbind() -> None:
    """Gives the threads the cores that the calling thread had before `bind`. Their number stays."""
    bound = _mine.binding
    if bound is None:
        return
    for thread in bound.threads:
        if is_alive(thread):
            os.sched_setaffinity(thread, bound.before)
    _mine.binding = None


def set_num_threads(count: int) -> None:
    """As torch.set_num_threads, and threads that are bound stay bound, to the first cores of those given to `bind`."""
    import torch

    cores = _mine.binding.cores if _mine.binding else sorted(os.sched_getaffinity(0))
    if not 1 <= count <= len(cores):
        raise ValueError(
            f"There cannot be {count} threads on {_cores.in_words(cores)}. Set 1"
            + (f" to {len(cores)}." if len(cores) > 1 else ", or bind more cores.")
        )
    if _mine.binding is None:
        torch.set_num_threads(count)
    else:
        _bind_team(_openmp(), _mine.binding, count)


def is_alive(thread: int) -> bool:
    return Path(f"/proc/self/task/{thread}").exists()


def _bind_team(openmp: ctypes.CDLL, bound: Binding, count: int) -> None:
    import torch

    torch.set_num_threads(count)
    bound.threads = _team(openmp)
    for thread, core in list(zip(bound.threads, bound.cores, strict=False))[1:]:
        os.sched_setaffinity(thread, {core})


def _openmp() -> ctypes.CDLL:
    """The OpenMP that PyTorch's library is linked with, of which a process can have several."""
    import torch

    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    if not hasattr(library, "GOMP_parallel"):
        raise RuntimeError(
            "This PyTorch does not compute with OpenMP's threads, so they cannot be bound. "
            "torchplug run --cores confines the whole process."
        )
    return library


def _team(openmp: ctypes.CDLL) -> list[int]:
    """Linux's numbers of the calling thread's team, in OpenMP's order."""
    found: dict[int, int] = {}

    def tell(_: object) -> None:
        found[openmp.omp_get_thread_num()] = threading.get_native_id()

    as_many_as_set = ctypes.c_uint(0)
    told = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(tell)
    openmp.GOMP_parallel(told, None, as_many_as_set, ctypes.c_uint(0))
    return [found[number] for number in sorted(found)]
