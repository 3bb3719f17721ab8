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


HALVES = (torch.float16, torch.bfloat16)
# Their kernels compute halves in float32, and take a number of that precision as it is.
ARITHMETIC = {
    torch.ops.aten.add.Tensor,
    torch.ops.aten.sub.Tensor,
    torch.ops.aten.mul.Tensor,
    torch.ops.aten.div.Tensor,
}


def add_conversions(graph: fx.Graph, is_compiled: Callable[[fx.Node], bool]) -> None:
    """Around the pointwise nodes that are compiled and have tensors of several dtypes."""
    for node in list(graph.nodes):
        if node.op != "call_function" or not _is_pointwise(node.target) or not is_compiled(node):
            continue
        dtype = _dtype_of(node)
        if dtype is None or not _are_on_one_device(node):
            continue
        if dtype in HALVES and node.target in ARITHMETIC and _has_wide_number(node):
            _round_result(graph, node)
            dtype = torch.float32
        node.args = tuple(_converted(graph, node, arg, dtype, i) for i, arg in enumerate(node.args))


def _are_on_one_device(node: fx.Node) -> bool:
    """One that has a tensor of the CPU's runs as it is."""
    tensors = [_tensor_of(arg) for arg in (node, *node.args)]
    return len({tensor.device for tensor in tensors if tensor is not None}) == 1


def _has_wide_number(node: fx.Node) -> bool:
    tensors = [t for t in map(_tensor_of, node.args) if t is not None]
    return any(t.dim() == 0 and t.dtype in (torch.float32, torch.float64) for t in tensors)


def _round_result(graph: fx.Graph, node: fx.Node) -> None:
    """The node gives float32, and what it gave is a conversion of that."""
    result = node.meta["val"]
    with graph.inserting_after(node):
        rounded = graph.call_function(CONVERT, (node,), {"dtype": result.dtype})
    node.replace_all_uses_with(rounded, delete_user_cb=lambda user: user is not rounded)
    rounded.meta = dict(node.meta)
    node.meta = {**node.meta, "val": CONVERT(result, dtype=torch.float32)}


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
