"""Option freeze: weights as constants of the graph, and what follows from them alone worked out once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

from torchplug.compile import _graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Make = Callable[[fx.GraphModule], Callable[..., Any]]

LARGER = 4
"""What is worked out is kept as a constant if its memory is at most so many times that of the constants it is made of."""


class Frozen:
    """A program that is made at its first call, and made anew when a frozen weight has changed."""

    def __init__(self, module: fx.GraphModule, weights: set[int], make: Make) -> None:
        written = {node.args[0] for node in module.graph.nodes if node.target is _graph.COPY}
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.places = [
            place
            for place, node in enumerate(placeholders)
            if place in weights and node not in written and _is_tensor(node)
        ]
        self._module = module
        self._make = make
        self._lock = threading.Lock()
        self._frozen: tuple[list[Any], Callable[..., Any] | None] = ([], None)
        self._told_apart: list[StorageWeakRef] = []

    def __call__(self, *args: Any) -> Any:
        weights = [args[place] for place in self.places]
        states = [state_of(weight) for weight in weights]
        known, run = self._frozen
        if run is None or known != states:
            with self._lock:
                run = self._make(frozen(self._module, dict(zip(self.places, weights, strict=True))))
                self._frozen = (states, run)
                self._told_apart = references_to(weights)
        return run(*args)


def state_of(tensor: torch.Tensor) -> tuple[int, int, int]:
    """Another one when the tensor was replaced, moved or written; of inference tensors only the addresses tell. For as long as
    somebody has references_to() it: memory of a tensor that is gone may be another's."""
    version = -1 if tensor.is_inference() else tensor._version
    return tensor.untyped_storage()._cdata, tensor.data_ptr(), version


def references_to(tensors: Iterable[torch.Tensor]) -> list[StorageWeakRef]:
    """They keep no memory of the device, and no new storage is taken for one of these."""
    return [StorageWeakRef(tensor.untyped_storage()) for tensor in tensors]  # type: ignore[no-untyped-call]


def _is_tensor(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


@torch.no_grad()
def frozen(module: fx.GraphModule, weights: dict[int, torch.Tensor]) -> fx.GraphModule:
    """The module, with constants for the inputs at these places. Its inputs stay as they are."""
    constants: dict[fx.Node, torch.Tensor] = {}  # of the new graph
    attributes: dict[str, Any] = {}
    graph = fx.Graph()
    env: dict[fx.Node, fx.Node] = {}

    def keep(node: fx.Node, value: torch.Tensor) -> None:
        name = f"_frozen_{len(attributes)}"
        attributes[name] = value
        env[node] = graph.get_attr(name)
        env[node].meta = dict(node.meta)
        constants[env[node]] = value

    place = 0
    for node in module.graph.nodes:
        if node.op == "get_attr":
            attributes[str(node.target)] = getattr(module, str(node.target))
        if node.op == "placeholder":
            env[node] = graph.node_copy(node)
            if place in weights:
                keep(node, weights[place].detach())
            place += 1
        elif (value := _worked_out(node, env, constants)) is not None:
            keep(node, value)
        else:
            env[node] = graph.node_copy(node, lambda one: env[one])
    for node in list(graph.nodes):
        if node.op == "get_attr" and not node.users:
            graph.erase_node(node)
    return fx.GraphModule(attributes, graph)


def _worked_out(
    node: fx.Node, env: dict[fx.Node, fx.Node], constants: dict[fx.Node, torch.Tensor]
) -> torch.Tensor | None:
    """What the node gives, if it depends on constants alone and its memory is worth it."""
    given = [constants.get(env.get(one)) for one in node.all_input_nodes]  # type: ignore[arg-type]
    if not given or any(one is None for one in given) or not _is_function(node):
        return None
    target: Any = node.target
    args, options = fx.node.map_arg((node.args, node.kwargs), lambda one: constants[env[one]])
    result = target(*args, **options)
    if not isinstance(result, torch.Tensor) or _bytes(result) > LARGER * _total(given):
        return None
    return result


def _is_function(node: fx.Node) -> bool:
    """Whether the same arguments give the same tensor, and nothing else happens."""
    target = node.target
    return (
        isinstance(target, torch._ops.OpOverload)
        and _is_tensor(node)
        and not target._schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in target.tags
    )


def _total(tensors: Sequence[torch.Tensor | None]) -> int:
    return sum(_bytes(one) for one in tensors if one is not None)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes()
