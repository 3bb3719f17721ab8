"""Graphs that use streams or events: their operators run one by one, in order, each on the stream it was written for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import fx

if TYPE_CHECKING:
    from collections.abc import Callable

WHY = "the graph uses streams or events, which an engine knows nothing of"


def are_used(graph: fx.Graph) -> bool:
    return any(_stream_of(node) is not None or _is_of_streams(node.target) for node in graph.nodes)


def _stream_of(node: fx.Node) -> int | None:
    """The number that Dynamo has for a stream other than the current one."""
    return (node.meta.get("custom") or {}).get("stream") if node.op == "call_function" else None


def _is_of_streams(target: Any) -> bool:
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace == "streams"
    return isinstance(target, torch._ops.HigherOrderOperator) and target.name() == "control_deps"


def placed(module: fx.GraphModule) -> fx.GraphModule:
    """The same program, with each node on its stream."""
    graph = fx.Graph()
    env: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        env[node] = graph.node_copy(node, lambda one: env[one])
        stream = _stream_of(node)
        if stream is not None and isinstance(node.target, torch._ops.OpOverload):
            env[node].target = _on(stream, node.target)
    return fx.GraphModule(module, graph)


def _on(stream: int, function: Callable[..., Any]) -> Callable[..., Any]:
    from torch._dynamo.graph_bytecode_inputs import get_external_object_by_index

    def run(*args: Any, **options: Any) -> Any:
        with get_external_object_by_index(stream):
            return function(*args, **options)

    run.__module__, run.__name__ = __name__, "run"
    return run
