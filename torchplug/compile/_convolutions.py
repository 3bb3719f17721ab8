"""The strides that convolutions of the device have. PyTorch 2.11 to 2.13 expect contiguous results of all devices that
they do not name; ours follow the CPU's rule, and what follows a convolution would be laid out anew."""

from __future__ import annotations

import functools
from typing import Any

import torch

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


@functools.cache
def expect_channels_last(device: str) -> None:
    """From now on, in traces."""
    from torch._subclasses import fake_impls

    op = torch.ops.aten.convolution.default
    before: Any = fake_impls.op_implementations_dict[op]

    def convolution(mode: Any, func: Any, *args: Any, **options: Any) -> Any:
        result = before(mode, func, *args, **options)
        given = [*args[:2], options.get("input"), options.get("weight")]
        if result.device.type != device or not any(map(_is_channels_last, given)):
            return result
        with mode:
            return result.contiguous(memory_format=FORMATS[result.dim()])

    fake_impls.op_implementations_dict[op] = convolution


def _is_channels_last(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.dim() not in FORMATS:
        return False
    return torch._prims_common.suggest_memory_format(value) == FORMATS[value.dim()]
