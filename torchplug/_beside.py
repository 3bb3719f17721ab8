"""An accelerator of PyTorch's own, such as CUDA, in the process of the device.

PyTorch takes a device from outside for the accelerator of the process as soon as it is registered (PyTorch 2.11 to 2.13).
Tensors of both can then be used and copied from one to the other. But autograd knows the streams of that accelerator
alone, so that backward() of a CUDA tensor ends in an assertion of PyTorch's, and the profiler takes CUDA's work for
the device's.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchplug import _autoload

OWN = ("cuda", "xpu", "mtia")
"""Those that are initialised at their first use, and call back then."""


def refuse(device: str) -> None:
    """Raises if one is in use already."""
    for own in OWN:
        if _module(own).is_initialized():
            raise RuntimeError(
                f"The device '{device}' cannot be registered: this process uses PyTorch's '{own}' already, "
                f"whose backward() would fail from now on. Use them in different processes."
            )


def watch(device: str) -> None:
    """Warns at the first use of one."""
    for own in OWN:
        if _module(own)._is_compiled():
            _module(own)._lazy_call(functools.partial(_warn, device, own))


def _warn(device: str, own: str) -> None:
    _autoload.warn(
        f"PyTorch's '{own}' is used beside the device '{device}', which PyTorch takes for this process's "
        f"accelerator: tensors can be copied between them, but backward() of {own} tensors fails, and the "
        f"profiler shows their work as {device}'s. Use them in different processes; TORCHPLUG_DEVICE=none "
        f"leaves '{own}' alone."
    )


def _module(own: str) -> Any:
    return getattr(torch, own)
