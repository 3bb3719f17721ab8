"""Conversions of dtypes as nodes of their own, for compilers: the tensors of a pointwise node have one dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

CONVERT = torch.ops.aten._to_copy.default
# The place of an argument that chooses, and is not computed with: others have the dtype of the result.
CHOOSING: dict[Any, int] = {
    torch.ops.aten.where.self: 0,
    torch.ops.aten.masked_fill.Scalar: 1,
    torch.ops.aten.masked_fill.Tensor: 1,
}


def add_conversions(graph: fx.Graph, is_compiled: Callable[[fx.Node], bool]) -> None:
    """Before the pointwise nodes that are compiled and have tensors of several dtypes."""
    for node in list(graph.nodes):
        if node.op != "call_function" or not _is_pointwise(node.target) or not is_compiled(node):
            continue
        dtype = _dtype_of(node)
        if dtype is not None:
            node.args = tuple(
                _converted(graph, node, arg, dtype, i) for i, arg in enumerate(node.args)
            )


def _is_pointwise(target: Any) -> bool:
    return (
        isinstance(target, torch._ops.OpOverload)
        and torch.Tag.pointwise in target.tags
        and target not in (CONVERT, torch.ops.aten.copy.default, torch.ops.aten.clone.default)
    )


def _tensor_of(arg: Any) -> torch.Tensor | None:
    value = arg.meta.get("val") if isinstance(arg, fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


def _dtype_of(node: fx.Node) -> torch.dtype | None:
    """That the tensors are computed in; None where they have one already, or PyTorch has rules of its own."""
    result = node.meta.get("val")
    chooses = CHOOSING.get(node.target)
    args = [arg for place, arg in enumerate(node.args) if place != chooses]
    tensors = [t for t in map(_tensor_of, args) if t is not None]
    if not isinstance(result, torch.Tensor) or not tensors:
        return None
    if any(t.dtype.is_complex for t in [*tensors, result]):
        return None
    numbers = [arg for arg in args if isinstance(arg, (bool, int, float))]
    _, common = elementwise_dtypes(
        *tensors, *numbers, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    )
    is_wider = result.dtype.is_floating_point and not common.is_floating_point
    if is_wider or chooses is not None:
        common = result.dtype
    return common if any(t.dtype != common for t in tensors) else None


def _converted(graph: fx.Graph, node: fx.Node, arg: Any, dtype: torch.dtype, place: int) -> Any:
    tensor = _tensor_of(arg)
    if tensor is None or tensor.dtype == dtype or place == CHOOSING.get(node.target):
        return arg
    with graph.inserting_before(node):
        made = graph.call_function(CONVERT, (arg,), {"dtype": dtype})
    made.meta = {**node.meta, "val": CONVERT(tensor, dtype=dtype)}
    return made
