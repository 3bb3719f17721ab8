"""torchplug plugs any accelerator into PyTorch.

`import torch` is enough: the entry point `torch.backends` calls `autoload`, which registers the
device of the plugin that is installed or that TORCHPLUG_DEVICE chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchplug._device_module import DeviceModule

__all__ = [
    "LedgerEntry",
    "autoload",
    "device_module",
    "ledger",
    "load",
    "reset_ledger",
    "time_ledger",
]

__version__ = "0.1.0"


@dataclass(frozen=True)
class LedgerEntry:
    """How often an operator ran one way, and why it did not run a faster one."""

    op: str
    way: str
    """"kernel": the plugin's own; "borrow": the CPU's, in place on device memory; "stage": the CPU's,
    on copies."""
    count: int
    bytes: int
    """Moved between host and device for it."""
    seconds: float
    """Of the calling thread, while `time_ledger(True)` is in force."""
    reason: str


def autoload() -> None:
    """Registers the device that TORCHPLUG_DEVICE chooses. Never raises; `import torch` calls it."""
    from torchplug import _autoload

    _autoload.autoload()


def load(path: str) -> str:
    """Loads the plugin at `path` as this process's device and returns the device's name."""
    from torchplug import _device

    return _device.load(path)


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


def ledger() -> list[LedgerEntry]:
    """Every operator that has run on the device, the most frequent first."""
    from torchplug import _C

    return [LedgerEntry(*entry) for entry in _C.ledger()]


def reset_ledger() -> None:
    """Begins the ledger anew."""
    from torchplug import _C

    _C.reset_ledger()


def time_ledger(on: bool = True) -> None:
    """Turns the ledger's clock on or off. It costs two clock readings an operator."""
    from torchplug import _C

    _C.time_ledger(on)
