"""Operators on CPU tensors, measured while a block runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torchplug import _text
from torchplug.cpu import _roof, _traffic


@dataclass
class OperatorTime:
    """What the calls of one operator came to."""

    op: str
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    """That had to be moved: of all tensors, those that are written counted twice. No views, no scratch."""

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0


@dataclass
class Measurement:
    """What `torchplug.cpu.measure()` has found; `str()` is a table."""

    roof: float | None
    """Bytes that can be read of memory in a second; None if that was not wanted."""
    seconds: float = 0.0
    """Of the whole block, once it has ended."""
    by_operator: dict[str, OperatorTime] = field(default_factory=dict)

    @property
    def operators(self) -> list[OperatorTime]:
        """Those that took the most time first."""
        return sorted(self.by_operator.values(), key=lambda found: -found.seconds)

    def share_of_roof(self, op: str) -> float | None:
        """Of the time that the operator took, how much reading its bytes had to take. More than 1 where they
        were in a cache; little where the operator computes for longer than it reads."""
        return self.by_operator[op].bytes_per_second / self.roof if self.roof else None

    def __str__(self) -> str:
        rows = [("operator", "calls", "time", "", "GB/s", "of the roof" if self.roof else "")]
        for found in self.operators:
            share = self.share_of_roof(found.op)
            rows.append(
                (
                    found.op,
                    str(found.calls),
                    _text.duration(found.seconds * 1e9),
                    f"{found.seconds / self.seconds:.1%}" if self.seconds else "",
                    f"{found.bytes_per_second / 1e9:.1f}" if found.bytes else "",
                    f"{share:.0%}" if share and found.bytes else "",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            ).rstrip()
            for row in rows
        ]
        if self.roof:
            lines.append(f"The roof: memory is read at {self.roof / 1e9:.1f} GB/s.")
        return "\n".join(lines)

    def _add(self, op: str, seconds: float, moved: int) -> None:
        found = self.by_operator.setdefault(op, OperatorTime(op))
        found.calls += 1
        found.seconds += seconds
        found.bytes += moved


@contextmanager
def measure(*, roof: bool = True) -> Iterator[Measurement]:
    """Measures the operators that this thread runs on CPU tensors in the block.

    `roof`: measures first how fast memory is read (`read_roof`), where that is not known. Every operator passes
    through Python while it is measured: tens of microseconds each, which are not in its time but in the block's.
    """
    measurement = Measurement(_roof.read_roof() if roof else None)
    mode = _mode_for(measurement)
    start = time.perf_counter()
    try:
        with mode:
            yield measurement
    finally:
        measurement.seconds += time.perf_counter() - start


def _mode_for(measurement: Measurement) -> Any:
    import torch
    import torch._dynamo  # which the first operator would import, seconds that are no operator's
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.utils._python_dispatch import TorchDispatchMode

    class Measuring(TorchDispatchMode):  # type: ignore[no-untyped-call]
        """Sees each operator where its kernel would be called."""

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """Else Dynamo would give up compiling what runs meanwhile, for good."""
            return True

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            start = time.perf_counter()
            result = func(*args, **kwargs)
            seconds = time.perf_counter() - start
            values = [*args, *kwargs.values(), result]
            tensors = list(_traffic.tensors_in(values))
            if type(func) is torch._ops.OpOverload and tensors and all(map(_is_real, tensors)):
                moved = _traffic.bytes_of_call(func, args, kwargs, result)
                measurement._add(func._schema.name, seconds, moved)
            return result

    def _is_real(tensor: torch.Tensor) -> bool:
        return tensor.device.type == "cpu" and not isinstance(tensor, FakeTensor)

    return Measuring()  # type: ignore[no-untyped-call]
