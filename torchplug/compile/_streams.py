"""Graphs that use streams or events: their operators run one by one, in order, each on the stream it was written for."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import fx
from torch.utils import _pytree as pytree

from torchplug.compile import _norms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WHY = "the graph uses streams or events, which an engine knows nothing of"


@contextlib.contextmanager
def divided(graph: fx.Graph) -> Iterator[None]:
    """While PyTorch divides a graph into forward and backward.

    PyTorch 2.13 estimates when the memory of a backward on several streams may be used again, and asks Triton about the GPU for
    it. Here the allocator is told which streams use what, as in eager mode. And it cannot divide all such graphs.
    """
    from torch._functorch._aot_autograd import graph_capture

    try:
        with mock.patch.object(graph_capture, "sync_deallocations", lambda _: None, create=True):
            yield
    except AssertionError as error:
        if not are_used(graph):
            raise
        raise RuntimeError(
            "PyTorch cannot divide this function, which uses streams, into forward and backward. "
            "Call it under torch.no_grad(), or keep the streams out of the function that is compiled."
        ) from error


def are_used(graph: fx.Graph) -> bool:
    return any(_stream_of(node) is not None or _is_of_streams(node.target) for node in graph.nodes)


def _stream_of(node: fx.Node) -> int | None:
    """The number that Dynamo has for a stream; the current one has 0."""
    if node.op != "call_function":
        return None
    return (node.meta.get("custom") or {}).get("stream") or None


def _is_of_streams(target: Any) -> bool:
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(target).startswith("streams.")
    return isinstance(target, torch._ops.HigherOrderOperator) and str(target) == "control_deps"


def placed(module: fx.GraphModule) -> fx.GraphModule:
    """The same program, with each node on its stream."""
    graph = fx.Graph()
    graph.call_function(_name_current, ())
    env: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        env[node] = made = graph.node_copy(node, lambda one: env[one])
        if not isinstance(node.target, torch._ops.OpOverload):
            continue
        made.target, made.args = _norms.call_of(node, node.target, made.args)
        stream = _stream_of(node)
        is_far = any(_stream_of(one) != stream for one in node.all_input_nodes)
        if stream is not None or is_far:
            made.target = _on(stream, made.target)
    return fx.GraphModule(module, graph)


_known = threading.local()


def _name_current() -> None:
    """Dynamo does it before a forward; of a backward it knows nothing.

    Before PyTorch 2.13 the current stream has no number of its own, and what has one may be gone before the backward: it stays.
    """
    from torch._dynamo import graph_bytecode_inputs

    if not hasattr(graph_bytecode_inputs, "CURRENT_STREAM_INDEX"):
        known = graph_bytecode_inputs.index_to_external_object_weakref.values()
        _known.others = [one() for one in known]
        return
    _known.current = torch.accelerator.current_stream()
    number = graph_bytecode_inputs.CURRENT_STREAM_INDEX
    graph_bytecode_inputs.index_to_external_object_weakref[number] = weakref.ref(_known.current)


def _on(stream: int | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on a stream, or on the current one, which the memory of its arguments is not taken from."""
    from torch._dynamo.graph_bytecode_inputs import get_external_object_by_index

    def run(*args: Any, **options: Any) -> Any:
        with contextlib.nullcontext() if stream is None else get_external_object_by_index(stream):
            for given in pytree.tree_leaves((args, options)):
                if isinstance(given, torch.Tensor) and given.device.type != "cpu":
                    given.record_stream(torch.accelerator.current_stream(given.device))
            return function(*args, **options)

    run.__module__, run.__name__ = __name__, "run"
    return run
