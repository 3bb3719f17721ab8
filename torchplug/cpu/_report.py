"""The machine and what PyTorch makes of it, as data and as text."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from torchplug import _settings, _text
from torchplug.cpu import _cores, _libraries, _machine, _threads


@dataclass(frozen=True)
class Threads:
    """Those with which PyTorch runs the calling thread's operators."""

    count: int
    bound: dict[int, list[int]]
    """The cores of each that `bind` has bound, by OpenMP's number; empty if it has not."""
    gone: int
    """How many of those are no more, since their number was changed by another than torchplug.cpu."""


@dataclass(frozen=True)
class Report:
    """What `torchplug.cpu.report()` gives; `str()` is what `describe()` prints."""

    model: str
    instruction_set: str
    """Of xcpu's kernels: "avx512_bf16", "avx512", "avx2" or "scalar"."""
    features: list[str]
    cores: list[_machine.Core]
    allowed: list[int]
    """The cores that the calling thread may use."""
    caches: list[_machine.Cache]
    nodes: list[_machine.Node]
    huge_pages: _machine.HugePages
    threads: Threads | None
    """None if PyTorch cannot be imported."""
    allocator: str
    """"jemalloc", "tcmalloc" or "the C library's"."""

    def rows(self) -> list[tuple[str, str]]:
        """Subject and finding, as doctor prints them."""
        return [
            ("CPU", f"{self.model}; kernels: {self.instruction_set}"),
            ("cores", self._cores_text()),
            ("caches", "; ".join(self._cache_texts()) or "not known"),
            ("NUMA", "; ".join(map(self._node_text, self.nodes)) or "one node"),
            ("huge pages", self._pages_text()),
            ("threads", self._threads_text()),
            ("allocator", self.allocator),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{subject:<12}{finding}" for subject, finding in self.rows())

    def _cores_text(self) -> str:
        real = {tuple(core.siblings) for core in self.cores}
        text = _cores.text_of(core.number for core in self.cores)
        if len(real) < len(self.cores):
            text += f": {len(real)} cores of {max(map(len, real))} threads, such as "
            text += _cores.text_of(self.cores[0].siblings)
        if len(self.allowed) < len(self.cores):
            text += f"; this process may use {_cores.text_of(self.allowed)}"
        return text

    def _cache_texts(self) -> list[str]:
        texts: dict[str, int] = {}
        for cache in self.caches:
            if cache.kind == "instruction":
                continue
            shared = f" for {len(cache.cores)} cores" if len(cache.cores) > 1 else ""
            text = f"L{cache.level}{'d' if cache.kind == 'data' else ''} {_text.size(cache.bytes)}{shared}"
            texts[text] = texts.get(text, 0) + 1
        return [text if count == 1 else f"{count} x {text}" for text, count in texts.items()]

    def _node_text(self, node: _machine.Node) -> str:
        cores = f"cores {_cores.text_of(node.cores)}" if node.cores else "no cores"
        return f"node {node.number}: {cores}, {_text.size(node.bytes)}"

    def _pages_text(self) -> str:
        pages = self.huge_pages
        for_whom = {"always": "for all memory", "madvise": "for memory that asks for them"}
        text = for_whom.get(pages.transparent, "none but those set aside")
        reserved = [
            f"{count} of {_text.size(size)}" for size, count in pages.reserved.items() if count
        ]
        return f"{text}; set aside: {', '.join(reserved)}" if reserved else text

    def _threads_text(self) -> str:
        if self.threads is None:
            return "not known without PyTorch"
        text = str(self.threads.count)
        if self.threads.bound:
            each = [_cores.text_of(cores) for cores in self.threads.bound.values()]
            text += f", bound to {' | '.join(each)}"
        if self.threads.gone:
            text += f"; {self.threads.gone} that were bound are gone: call torchplug.cpu.bind again"
        return text


def report() -> Report:
    """The processor, memory and threads of this process. Measures nothing."""
    has = _machine.features()
    return Report(
        model=_machine.model(),
        instruction_set=_of_xcpu() or _machine.instruction_set(has),
        features=[name for name in _machine.FEATURES if name in has],
        cores=_machine.cores(),
        allowed=sorted(os.sched_getaffinity(0)),
        caches=_machine.caches(),
        nodes=_machine.nodes(),
        huge_pages=_machine.huge_pages(),
        threads=_threads_now(),
        allocator=allocator(),
    )


def describe() -> None:
    """Prints the report."""
    print(report())


def _of_xcpu() -> str:
    """The set whose kernels the installed xcpu uses; "" if it is not installed, or leaves it to the processor."""
    try:
        package = importlib.import_module("torchplug_xcpu")
    except ImportError:
        return ""
    asked = _settings.read(f"{_settings.prefix_of('xcpu')}ISA")
    return str(package.isa()) if hasattr(package, "isa") else asked


def _threads_now() -> Threads | None:
    try:
        import torch
    except Exception:  # noqa: BLE001 - doctor says why
        return None
    bound = _threads.binding()
    numbers = bound.threads if bound else []
    alive = {
        number: sorted(os.sched_getaffinity(thread))
        for number, thread in enumerate(numbers)
        if _threads.is_alive(thread)
    }
    return Threads(torch.get_num_threads(), alive, len(numbers) - len(alive))


def allocator() -> str:
    """Whose malloc this process has."""
    try:
        mapped = Path("/proc/self/maps").read_text()
    except OSError:
        return ""
    for name, library in _libraries.ALLOCATORS.items():
        if re.search(rf"/{re.escape(library.stem)}[^/]*\.so", mapped):
            return name
    return "the C library's"
