"""Norms of half precision that run one by one among engines. Their statistics are float32 in a trace, as compilers have them; the
operators are the CPU's, which give and take them in the dtype of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from torchplug.compile import _graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import fx

aten = torch.ops.aten
STATISTICS = (1, 2)  # their places among the results

FORWARD = {
    aten.native_layer_norm.default,
    aten.native_batch_norm.default,
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_functional.default,
    aten._batch_norm_with_update.default,
    aten._batch_norm_with_update_functional.default,
}


@dataclass
class Backward:
    """Where a gradient's arguments stand."""

    statistics: tuple[int, int]
    parameters: tuple[int, ...]
    """The first that is there has the dtype of the statistics; if none is, the input has it."""


BACKWARD = {
    aten.native_layer_norm_backward.default: Backward((3, 4), (5, 6)),
    aten.native_batch_norm_backward.default: Backward((5, 6), (2, 3)),
    aten.batch_norm_backward.default: Backward((5, 6), (2, 3)),
}
INPUT = 1  # of each gradient


def call_of(
    node: fx.Node, target: Any, args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What does the node's operator with the statistics that the trace has, and the arguments for it."""
    if target in FORWARD and any(item.args[1] in STATISTICS for item in _graph.items_of(node)):
        return forward, (target, [one.dtype for one in node.meta["val"]], *args)
    return (backward, (target, *args)) if target in BACKWARD else (target, args)


def forward(op: Any, dtypes: list[torch.dtype], *args: Any, **options: Any) -> tuple[Any, ...]:
    """A batch norm that does not train saves nothing, where the trace has a number for each channel, which nobody looks at."""
    results = [one.to(dtype) for one, dtype in zip(op(*args, **options), dtypes, strict=True)]
    given = args[0]
    if op is not aten.native_layer_norm.default and given.numel() > 0:
        for place in STATISTICS:
            if results[place].numel() == 0:
                results[place] = results[place].new_zeros(given.shape[1])
    return tuple(results)


def backward(op: Any, *args: Any, **options: Any) -> Any:
    places = BACKWARD[op]
    known = (args[place] for place in (*places.parameters, INPUT) if args[place] is not None)
    dtype = next(known).dtype
    given = list(args)
    for place in places.statistics:
        if given[place] is not None:
            given[place] = given[place].to(dtype)
    return op(*given, **options)
