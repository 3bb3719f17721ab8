"""Which types autocast computes in on the device, and which of them a region that names none takes."""

from __future__ import annotations

import functools
import threading

import torch

from torchplug import _C

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
"""What autocast may compute in, unless the plugin says; the default is the first that the device declares."""

_thread = threading.local()


def supported() -> list[torch.dtype]:
    """Those that the plugin names, or that the current device's kernels take."""
    _, named = _C.autocast()
    if named is not None:
        return list(named)
    declared = _C.properties(_C.current_device())["dtypes"]
    return [dtype for dtype in DTYPES if dtype in declared]


def adopt_default() -> None:
    """Makes the device's default this thread's.

    PyTorch begins every thread with float16 and leaves no hook: on a device without it every region that
    names no dtype would be turned off. Done once in a thread, and never within a region.
    """
    if _default() == torch.float16 or getattr(_thread, "has_adopted", False):
        return
    device = torch._C._get_privateuse1_backend_name()
    if torch.is_autocast_enabled(device):
        return
    _thread.has_adopted = True
    torch.set_autocast_dtype(device, _default())


@functools.cache
def _default() -> torch.dtype:
    """The plugin's, or float16; bfloat16 where the device has that and not float16."""
    if _C.device_count() == 0:
        return torch.float16
    dtype, _ = _C.autocast()
    if dtype is not None:
        return dtype
    lacks_float16 = torch.float16 not in supported() and torch.bfloat16 in supported()
    return torch.bfloat16 if lacks_float16 else torch.float16
