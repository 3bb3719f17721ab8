"""The strides that results of the device have where PyTorch expects others of devices that it does not name: convolutions and their
gradients, contiguous in PyTorch 2.11 to 2.13, and nonzero_static, column by column as CUDA has it. Ours follow the CPU's rules,
and what follows such a result would be laid out anew."""

from __future__ import annotations

import functools
from typing import Any

import torch

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
FIRST = {torch.ops.aten.convolution.default: 0, torch.ops.aten.convolution_backward.default: 1}
"""Where an operator has its input; the weight is next to it."""


@functools.cache
def expect_those_of_the_cpu(device: str) -> None:
    """From now on, in traces."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    for op, first in FIRST.items():
        _expect_channels_last(op, first, device)
    _expect_rows(torch.ops.aten.nonzero_static.default, device)
    FakeTensorMode.cache_clear()  # the graph that is compiled now has been traced once already


def _expect_channels_last(op: Any, first: int, device: str) -> None:
    from torch._subclasses import fake_impls

    before: Any = fake_impls.op_implementations_dict[op]

    def expected(mode: Any, func: Any, *args: Any, **options: Any) -> Any:
        result = before(mode, func, *args, **options)
        if not any(map(_is_channels_last, _deciding(first, args, options))):
            return result
        with mode:
            if isinstance(result, torch.Tensor):
                return _laid_out(result, device)
            return tuple(_laid_out(one, device) for one in result)

    fake_impls.op_implementations_dict[op] = expected


def _expect_rows(op: Any, device: str) -> None:
    from torch._subclasses import fake_impls

    def expected(mode: Any, func: Any, values: torch.Tensor, **options: Any) -> Any:
        if values.device.type != device:
            return NotImplemented
        with mode:
            return values.new_empty((options["size"], values.dim()), dtype=torch.long)

    fake_impls.op_implementations_dict[op] = expected


def _deciding(first: int, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """Input and weight. PyTorch computes a 1-D convolution as a 2-D one of height 1, of an input that it makes contiguous first."""
    given = [*args[first : first + 2], options.get("input"), options.get("weight")]
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    if tensors[0].dim() != 3:
        return tensors
    return [tensors[0].contiguous().unsqueeze(2), tensors[-1].unsqueeze(2)]


def _laid_out(result: torch.Tensor | None, device: str) -> torch.Tensor | None:
    """The result, or a gradient: of the bias, and one that nobody needs, as it is."""
    if result is None or result.device.type != device or result.dim() not in (3, *FORMATS):
        return result
    if result.dim() == 3:
        return torch.empty_like(result.unsqueeze(2), memory_format=FORMATS[4]).squeeze(2)
    return torch.empty_like(result, memory_format=FORMATS[result.dim()])


def _is_channels_last(value: torch.Tensor) -> bool:
    if value.dim() not in FORMATS:
        return False
    return torch._prims_common.suggest_memory_format(value) == FORMATS[value.dim()]
