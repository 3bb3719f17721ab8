"""What `torchplug run` gives a process before it starts: cores, threads, the memory's nodes, an allocator."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from torchplug.cpu import _cores, _libraries

MPOL_BIND = 2  # linux/mempolicy.h
BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


@dataclass(frozen=True)
class Placement:
    """All of it checked, nothing of it in force."""

    cores: list[int]
    """Empty: those of this process."""
    threads: int
    """0: PyTorch's default."""
    nodes: list[int]
    """Of the memory; empty: any."""
    preloaded: str
    """The allocator's library, or ""."""

    def variables(self) -> dict[str, str]:
        """For the process's environment."""
        found = {}
        if self.threads:
            found["OMP_NUM_THREADS"] = str(self.threads)
        if self.preloaded:
            others = os.environ.get("LD_PRELOAD", "")
            found["LD_PRELOAD"] = f"{self.preloaded}:{others}" if others else self.preloaded
        return found

    def enter(self) -> None:
        """The calling thread has it from now on, and so has what it executes. Raises ValueError if it is refused."""
        if self.cores:
            _cores.confine(self.cores)
        if self.nodes:
            _allocate_on(self.nodes)


def placement(cores: str | None, numa: str | None, alloc: str | None) -> Placement:
    """What the options ask for. Raises ValueError, in a sentence, for what is not there.

    Nodes without `cores`: those of the nodes, with a thread for each that does not share one with another.
    """
    nodes = [] if numa is None else _cores.numbers_in(numa, "node")
    check_nodes(nodes)
    if nodes:
        _libraries.numa()
    if cores is not None:
        chosen = _cores.numbers_in(cores)
        _cores.check(chosen)
        threads = len(chosen)
    else:
        chosen = cores_of(nodes)
        threads = len(_cores.one_of_each(chosen))
    return Placement(chosen, threads, nodes, "" if alloc is None else _libraries.path_of(alloc))


def check_nodes(nodes: list[int]) -> None:
    there = _cores.nodes() or [0]
    missing = [node for node in nodes if node not in there]
    if missing:
        raise ValueError(
            f"There {'is' if len(missing) == 1 else 'are'} no NUMA {_cores.in_words(missing, 'node')}: "
            f"this machine has {_cores.in_words(there, 'node')}."
        )


def cores_of(nodes: list[int]) -> list[int]:
    """The cores of the nodes that this process may use."""
    if not nodes:
        return []
    near = {core for node in nodes for core in _cores.cores_of_node(node)}
    usable = sorted(near & os.sched_getaffinity(0))
    if not usable:
        raise ValueError(
            f"NUMA {_cores.in_words(nodes, 'node')} {'has' if len(nodes) == 1 else 'have'} no core that this "
            "process may use. Say with --cores where it is to run."
        )
    return usable


def _allocate_on(nodes: list[int]) -> None:
    """Memory comes from these nodes and no others; where they have no more, there is none."""
    words = (ctypes.c_ulong * (max(nodes) // BITS + 1))()
    for node in nodes:
        words[node // BITS] |= 1 << node % BITS
    # The kernel reads one bit fewer than it is told of.
    count = ctypes.c_ulong(len(words) * BITS + 1)
    if _libraries.numa().set_mempolicy(MPOL_BIND, words, count) != 0:
        why = os.strerror(ctypes.get_errno())
        raise ValueError(
            f"This process may not choose {_cores.in_words(nodes, 'node')} for its memory: {why}. "
            "A container needs CAP_SYS_NICE for it."
        )
