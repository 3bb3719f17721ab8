"""An accelerator of PyTorch's own, such as CUDA, in the process of the device.

PyTorch takes a device from outside for the accelerator of the process as soon as it is registered (PyTorch 2.11 to 2.13).
Tensors of both can then be used and copied from one to the other. But autograd knows the streams of that accelerator
alone, so that backward() of a CUDA tensor ends in an assertion of PyTorch's, and the profiler takes CUDA's work for
the device's.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
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
    """Warns at the first use of one, and refuses its backward() from then on."""
    for own in OWN:
        if _module(own)._is_compiled():
            _module(own)._lazy_call(functools.partial(_begin, device, own))


def _begin(device: str, own: str) -> None:
    refuse_backward(device, own)
    _autoload.warn(
        f"PyTorch's '{own}' is used beside the device '{device}', which PyTorch takes for this process's "
        f"accelerator: tensors can be copied between them, but backward() of {own} tensors fails, and the "
        f"profiler shows their work as {device}'s. Use them in different processes; TORCHPLUG_DEVICE=none "
        f"leaves '{own}' alone."
    )


def refuse_backward(device: str, own: str) -> None:
    """backward() and grad() of tensors of `own` raise a sentence, in place of PyTorch's assertion."""
    autograd: Any = torch.autograd
    run_backward = autograd._engine_run_backward
    sentence = (
        f"backward() of {own} tensors is not possible in the process of the device '{device}': PyTorch's "
        f"autograd knows the streams of one accelerator only. Use them in different processes; "
        f"TORCHPLUG_DEVICE=none leaves '{own}' alone."
    )

    @functools.wraps(run_backward)
    def run(outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        if any(
            isinstance(output, torch.Tensor) and output.device.type == own for output in outputs
        ):
            raise RuntimeError(sentence)
        try:
            return run_backward(outputs, *args, **kwargs)
        except RuntimeError as error:
            if "opt_parent_stream INTERNAL ASSERT" not in str(error):
                raise
            raise RuntimeError(sentence) from error  # they are within the graph

    autograd._engine_run_backward = run


def _module(own: str) -> Any:
    return getattr(torch, own)
