"""Cores as Linux numbers them, where those of one core that runs several threads have a number each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

CPUS = Path("/sys/devices/system/cpu")
NODES = Path("/sys/devices/system/node")

CoreList: TypeAlias = "str | int | Iterable[int]"
"""0, "0-1", "0,2-3" or [0, 2, 3]."""


def numbers_in(given: CoreList, noun: str = "core") -> list[int]:
    """The numbers of a list, in its order. Raises ValueError for what is none."""
    if isinstance(given, str):
        numbers = _numbers_in_text(given, noun)
    else:
        numbers = [given] if isinstance(given, int) else [int(number) for number in given]
    if not numbers:
        raise ValueError(f"The list of {noun}s is empty. Give at least one.")
    repeated = [number for number in dict.fromkeys(numbers) if numbers.count(number) > 1]
    if repeated:
        raise ValueError(f"The list of {noun}s has {text_of(repeated)} twice. Give each once.")
    return numbers


def _numbers_in_text(text: str, noun: str) -> list[int]:
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        ends = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part)
        if ends is None or int(ends[2] or ends[1]) < int(ends[1]):
            raise ValueError(f"'{text}' is no list of {noun}s. Write one as 0-1 or 0,2-3.")
        numbers += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return numbers


def text_of(numbers: Iterable[int]) -> str:
    """The shortest list of them: 0-3,8."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def in_words(numbers: Iterable[int], noun: str = "core") -> str:
    """core 0, cores 0-1"""
    listed = list(numbers)
    return f"{noun}{'' if len(listed) == 1 else 's'} {text_of(listed)}"


def read_list(file: Path) -> list[int]:
    """What a file of the kernel's lists; empty if there is no such file."""
    try:
        text = file.read_text().strip()
    except OSError:
        return []
    return numbers_in(text) if text else []


def existing() -> list[int]:
    """The cores that are online."""
    return read_list(CPUS / "online") or sorted(os.sched_getaffinity(0))


def siblings_of(core: int) -> list[int]:
    """The numbers of the threads that the core runs at once, this one among them."""
    return read_list(CPUS / f"cpu{core}" / "topology" / "thread_siblings_list") or [core]


def one_of_each(cores: Iterable[int]) -> list[int]:
    """The first of the numbers of each core."""
    wanted = set(cores)
    return [core for core in sorted(wanted) if core == min(wanted & {core, *siblings_of(core)})]


def nodes() -> list[int]:
    """The NUMA nodes."""
    return read_list(NODES / "online")


def cores_of_node(node: int) -> list[int]:
    return read_list(NODES / f"node{node}" / "cpulist")


def check(cores: Iterable[int]) -> None:
    """Raises ValueError if one does not exist."""
    there = existing()
    missing = [core for core in cores if core not in there]
    if missing:
        raise ValueError(
            f"There {'is' if len(missing) == 1 else 'are'} no {in_words(missing)}: "
            f"this machine has {in_words(there)}."
        )


def confine(cores: Iterable[int]) -> None:
    """The calling thread runs on these cores, and what it starts from now on.

    Raises ValueError, and changes nothing, if one does not exist or is not this process's to use.
    """
    wanted = set(cores)
    check(wanted)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, wanted)
        refused = wanted - os.sched_getaffinity(0)
    except OSError:
        refused = wanted
    if refused:
        os.sched_setaffinity(0, before)
        raise ValueError(
            f"This process may not use {in_words(refused)}. Its container or service allows others: "
            "look at its cpuset."
        )
