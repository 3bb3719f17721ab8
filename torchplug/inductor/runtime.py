"""What the programs that Inductor generates for the device import."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codecache import CodeCacheFuture, LambdaFuture

from torchplug import _C
from torchplug.compile import _capture
from torchplug.inductor import _source

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["captured", "device_kernel", "empty_strided_device"]

ASKED = "mode='reduce-overhead'"
MOST_CAPTURES = 8

empty_strided_device = _C.empty_strided


def device_kernel(name: str, types: list[str], source: str) -> Any:
    """What launches the kernel, or the promise of it while it is compiled."""
    compiled: Any = AsyncCompile().cpp_pybinding(types, _source.completed(source, types))

    def load(binding: Any) -> Any:
        # Inductor's binding takes addresses of the host. It tells where the code is.
        library = ctypes.CDLL(binding.__self__.__file__)
        entry = ctypes.cast(library[_source.ENTRY], ctypes.c_void_p).value or 0
        return _C.generated_kernel(entry, name, _source.parameters(types))

    if isinstance(compiled, CodeCacheFuture):
        return LambdaFuture(lambda: load(compiled.result()))
    return load(compiled)


def captured(
    call: Callable[[list[Any]], Any],
    device: str,
    in_place: set[int],
    weights: set[int],
    returned: int | None,
) -> Callable[[list[Any]], Any]:
    """The program, whose calls are replayed; what it is told is said in _capture.Calls."""
    calls = _capture.Calls(
        device=torch.device(device),
        in_place=in_place,
        weights=weights,
        by_version=set(),
        returned=returned,
        most=MOST_CAPTURES,
        asked=ASKED,
    )
    replayed = _capture.Captured(lambda *args: call(list(args)), calls)

    def run(args: list[Any]) -> Any:
        given = tuple(args)
        args.clear()
        return replayed(*given)

    return run
