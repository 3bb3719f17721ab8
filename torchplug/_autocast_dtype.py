"""Which types autocast computes in on the device, and which of them a region that names none takes."""

from __future__ import annotations

import functools
import threading

import torch

from torchplug import _C

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
"""What autocast may compute in; the default is the first that the device declares."""

_thread = threading.local()


def supported() -> list[torch.dtype]:
    """Those that the current device's kernels take."""
    declared = _C.properties(_C.current_device())["dtypes"]
    return [dtype for dtype in DTYPES if dtype in declared]


def adopt_default() -> None:
    """Makes the device's default this thread's.

    PyTorch begins every thread with float16 and leaves no hook: on a device without it every region that
    names no dtype would be turned off. Done once in a thread, and never within a region.
    """
    if _has_float16() or getattr(_thread, "has_adopted", False):
        return
    device = torch._C._get_privateuse1_backend_name()
    if torch.is_autocast_enabled(device):
        return
    _thread.has_adopted = True
    if torch.bfloat16 in supported():
        torch.set_autocast_dtype(device, torch.bfloat16)


@functools.cache
def _has_float16() -> bool:
    return _C.device_count() == 0 or torch.float16 in supported()
