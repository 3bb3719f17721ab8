"""What operators are taken apart into before a graph is given to a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchplug.compile import _graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchplug.compile._options import Options

aten = torch.ops.aten


def table(device: torch.device, options: Options) -> dict[Any, Callable[..., Any]]:
    """PyTorch's own, without those of operators that the compiler lists."""
    from torch._decomp import core_aten_decompositions

    listed = _graph.listed_operators(device)
    return {
        op: function
        for op, function in {**core_aten_decompositions(), **LISTS}.items()
        if op not in WHOLE
        and (
            not isinstance(op, torch._ops.OpOverload)
            or _graph.name_of(op) not in listed
            or options.is_eager(_graph.name_of(op))
        )
    }


# What PyTorch makes of it is for exports: its backward asks for another second result.
WHOLE = {aten._scaled_dot_product_flash_attention_for_cpu.default}
if torch.__version__ < "2.13":  # into operators that write in place, which no graph may have
    WHOLE |= {aten.index_fill.int_Scalar, aten.index_fill.int_Tensor}


# No node has a list of results.


def _parts(x: torch.Tensor, sizes: Sequence[int], dim: int = 0) -> list[torch.Tensor]:
    begin, parts = 0, []
    for size in sizes:
        parts.append(aten.slice.Tensor(x, dim, begin, begin + size))
        begin = begin + size
    return parts


def _pieces(x: torch.Tensor, size: int, dim: int = 0) -> list[torch.Tensor]:
    extent = x.shape[dim]
    if size == 0:
        return [aten.slice.Tensor(x, dim, 0, extent)]
    count = max(1, (extent + size - 1) // size)
    return [aten.slice.Tensor(x, dim, i * size, min((i + 1) * size, extent)) for i in range(count)]


def _items(x: torch.Tensor, dim: int = 0) -> list[torch.Tensor]:
    return [aten.select.int(x, dim, i) for i in range(x.shape[dim])]


LISTS: dict[Any, Callable[..., Any]] = {
    aten.split_with_sizes.default: _parts,
    aten.split.Tensor: _pieces,
    aten.unbind.int: _items,
}
