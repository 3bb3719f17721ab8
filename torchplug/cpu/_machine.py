"""What Linux says of this machine's processor and memory. Needs no PyTorch."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from torchplug.cpu import _cores

CPUINFO = Path("/proc/cpuinfo")
HUGE_PAGES = Path("/sys/kernel/mm")

# As the kernels of xcpu are compiled, the best first, with what the processor must have.
AVX2 = {"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
INSTRUCTION_SETS = {
    "avx512_bf16": AVX512 | {"avx512_bf16", "avx512_vnni"},
    "avx512": AVX512,
    "avx2": AVX2,
}
FEATURES = (
    *("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni"),
    *("avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimddp", "i8mm", "bf16", "sve", "sve2"),
)
"""Of all that the processor has, what products of matrices gain from."""


@dataclass(frozen=True)
class Cache:
    """One cache of the processor."""

    level: int
    kind: str
    """"data", "instruction" or "unified"."""
    bytes: int
    cores: list[int]
    """That share it."""


@dataclass(frozen=True)
class Core:
    """A core as Linux numbers them."""

    number: int
    siblings: list[int]
    """The numbers of the threads that the same core runs at once, this one among them."""


@dataclass(frozen=True)
class Node:
    """A NUMA node: cores, and the memory that is near to them."""

    number: int
    cores: list[int]
    bytes: int


@dataclass(frozen=True)
class HugePages:
    """Pages of more than 4 KiB: what is read once from end to end is read faster from them."""

    transparent: str
    """For whom the kernel makes them: "always", "madvise" (who asks) or "never"; "" if it cannot."""
    reserved: dict[int, int]
    """How many of each size, in bytes, are set aside."""


def features() -> list[str]:
    """The names in /proc/cpuinfo of what the processor has."""
    try:
        found = re.search(r"^(?:flags|Features)\s*:(.*)$", CPUINFO.read_text(), re.MULTILINE)
    except OSError:
        return []
    return found[1].split() if found else []


def model() -> str:
    """What the processor calls itself."""
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", CPUINFO.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else os.uname().machine


def instruction_set(has: list[str]) -> str:
    """The best set for which xcpu has kernels that such a processor can run."""
    for name, needed in INSTRUCTION_SETS.items():
        if needed <= set(has):
            return name
    return "scalar"


def caches() -> list[Cache]:
    """The processor's caches, each once, the smallest level first."""
    found = set()
    for core in _cores.existing():
        for folder in (_cores.CPUS / f"cpu{core}" / "cache").glob("index*"):
            sharing = _cores.read_list(folder / "shared_cpu_list") or [core]
            try:
                level = int((folder / "level").read_text())
                kind = (folder / "type").read_text().strip().lower()
                found.add((level, kind, bytes_in((folder / "size").read_text()), tuple(sharing)))
            except (OSError, ValueError):  # what a virtual machine does not tell
                continue
    return [Cache(level, kind, size, list(cores)) for level, kind, size, cores in sorted(found)]


def bytes_in(text: str) -> int:
    """48K, 32 M, 2048 kB"""
    found = re.match(r"\s*(\d+)\s*([kKMG]?)", text)
    if found is None:
        raise ValueError(f"'{text}' is no size.")
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()]


def cores() -> list[Core]:
    return [Core(core, _cores.siblings_of(core)) for core in _cores.existing()]


def nodes() -> list[Node]:
    return [
        Node(number, _cores.cores_of_node(number), memory_of_node(number))
        for number in _cores.nodes()
    ]


def memory_of_node(node: int) -> int:
    try:
        text = (_cores.NODES / f"node{node}" / "meminfo").read_text()
    except OSError:
        return 0
    found = re.search(r"MemTotal:(.*)", text)
    return bytes_in(found[1]) if found else 0


def huge_pages() -> HugePages:
    try:
        chosen = re.search(
            r"\[(\w+)\]", (HUGE_PAGES / "transparent_hugepage" / "enabled").read_text()
        )
    except OSError:
        chosen = None
    reserved = {}
    for folder in (HUGE_PAGES / "hugepages").glob("hugepages-*"):
        size = bytes_in(folder.name.removeprefix("hugepages-"))
        reserved[size] = int((folder / "nr_hugepages").read_text())
    return HugePages(chosen[1] if chosen else "", dict(sorted(reserved.items())))


def available_memory() -> int:
    """What could be allocated now, in bytes."""
    try:
        found = re.search(r"MemAvailable:(.*)", Path("/proc/meminfo").read_text())
    except OSError:
        found = None
    return bytes_in(found[1]) if found else 0
