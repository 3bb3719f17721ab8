"""torchplug plugs any accelerator into PyTorch.

`import torch` is enough: the entry point `torch.backends` calls `autoload`, which registers the
device of the plugin that is installed or that TORCHPLUG_DEVICE chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import torch

    from torchplug._device_module import DeviceModule

__all__ = [
    "LedgerEntry",
    "Memory",
    "autoload",
    "coverage",
    "device_module",
    "extension",
    "from_blob",
    "get_backend_meta",
    "ledger",
    "load",
    "load_operators",
    "memory_of",
    "overriding",
    "reset_ledger",
    "set_backend_meta",
    "time_ledger",
]

__version__ = "0.1.0"


@dataclass(frozen=True)
class LedgerEntry:
    """How often an operator ran one way, and why it did not run a faster one."""

    op: str
    way: str
    """"kernel": the plugin's own; "any": the plugin's kernel for any operator; "engine": an engine of its
    compiler's; "decomposed": the operators that
    PyTorch decomposes it into, which count for themselves; "borrow": the CPU's, in place on device memory, through a view that lasts or one that is mapped for the call; "stage": the CPU's, on copies."""
    count: int
    bytes: int
    """Moved between host and device for it."""
    seconds: float
    """Of the calling thread, while `time_ledger(True)` is in force."""
    reason: str


@dataclass(frozen=True)
class Memory:
    """A place in device memory, as plug.h's plug_mem says it."""

    base: int
    """What the plugin calls the allocation: an address, or a handle."""
    offset: int
    """In bytes past base."""
    device: int
    """The plugin's index of the device."""
    flags: int
    """PLUG_MEM_*."""


def autoload() -> None:
    """Registers the device that TORCHPLUG_DEVICE chooses. Never raises; `import torch` calls it."""
    from torchplug import _autoload

    _autoload.autoload()


def load(path: str | os.PathLike[str]) -> str:
    """Loads the plugin at `path` as this process's device and returns the device's name."""
    from torchplug import _autoload

    return _autoload.load(path)


def load_operators(path: str | os.PathLike[str]) -> list[str]:
    """Loads the plugin at `path` for the operators of its own, and returns their names: "acme::scale".

    They are then `torch.ops.acme.scale` and so on, beside any device or none. `import torch` has loaded the
    plugins that installed packages announce in the entry point group `torchplug.operators`.
    """
    from torchplug import _autoload

    return _autoload.load_operators(path)


def device_module() -> DeviceModule:
    """`torch.<device>`, for editors and type checkers, which do not know that attribute of torch."""
    import torch

    from torchplug import _device_module

    module = getattr(torch, torch._C._get_privateuse1_backend_name(), None)
    if isinstance(module, _device_module.DeviceModule):
        return module
    raise RuntimeError(
        "torchplug has registered no device. Set TORCHPLUG_DEVICE to one, for example sim."
    )


def from_blob(
    address: int,
    sizes: Sequence[int],
    dtype: torch.dtype | None = None,
    *,
    device: torch.device | str | int | None = None,
    strides: Sequence[int] | None = None,
    owner: object = None,
) -> torch.Tensor:
    """A tensor over device memory that PyTorch did not allocate.

    `address` is what the plugin knows the memory by, or an address inside another tensor. `owner` is kept
    until no tensor needs the memory and the streams that used it have passed.
    """
    from torchplug import _sharing

    return _sharing.from_blob(address, sizes, dtype, device=device, strides=strides, owner=owner)


def memory_of(tensor: torch.Tensor) -> Memory:
    """Where the first element of a device tensor lies, for the vendor's own libraries. `base` is 0 if it has no
    memory. Valid while the tensor lives; what the streams have still to do to it is for the caller to await."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    return Memory(*_C.memory_of(tensor))


def get_backend_meta(tensor: torch.Tensor) -> dict[str, str]:
    """The notes on a tensor that `set_backend_meta` made; empty if there are none."""
    from torchplug import _sharing

    return _sharing.get_backend_meta(tensor)


def set_backend_meta(tensor: torch.Tensor, notes: dict[str, str]) -> None:
    """Puts notes on a tensor of the device, in the place of those it has.

    They go with it through `detach`, `torch.save`, `torch.load` and TorchScript, not through operators.
    """
    from torchplug import _sharing

    _sharing.set_backend_meta(tensor, notes)


def extension(name: str) -> int | None:
    """The address of the device plugin's table for an interface that is not in plug.h, "acme.sparse.1", for ctypes;
    None if it has none of that name."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    return _C.extension(name)


def overriding() -> AbstractContextManager[None]:
    """While it is entered, what this thread registers with PyTorch takes the place of torchplug's kernels.

    For extensions in C++ that are loaded, and for torch.library, once the device has been used; before that, nothing
    is needed. PyTorch's warning about it, which it gives once per process, is neither shown nor spent.
    """
    from torchplug import _overriding

    return _overriding.overriding()


def ledger() -> list[LedgerEntry]:
    """Every operator that has run on the device, the most frequent first."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    return [LedgerEntry(*entry) for entry in _C.ledger()]


def coverage() -> list[LedgerEntry]:
    """The operators that have no kernel of the plugin's, or whose kernel did not take the call: those that took the
    most time first.

    Times are counted from `time_ledger(True)` on. On an asynchronous device they are those of the calling thread,
    unless TORCHPLUG_LAUNCH_BLOCKING=1 makes every call wait for its work, as `torchplug coverage` does.
    """
    fallen = [entry for entry in ledger() if entry.way in ("borrow", "stage")]
    return sorted(fallen, key=lambda entry: (-entry.seconds, -entry.count))


def reset_ledger() -> None:
    """Begins the ledger anew."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    _C.reset_ledger()


def time_ledger(on: bool = True) -> None:
    """Turns the ledger's clock on or off. It costs two clock readings an operator."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C

    _C.time_ledger(on)
