"""Option capture: calls of a program replayed as a whole, by torchplug's Graph.

A call is captured when its kind comes the second time, since the first has given every operator its plan. Inputs are copied into
memory of the capture's own. Weights, inputs that the program writes, and what a forward keeps for its backward are used
where they are, so that another address is another kind of call. Results are copies, but for what is kept for a backward: while
somebody has that, calls run without the capture.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from torchplug import _devices, _graphs, _streams
from torchplug.compile import _freeze, _graph, _random, _warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import fx


def why_not(module: fx.GraphModule, device: torch.device) -> str:
    """Why no call of the program may be replayed; "": one may be tried."""
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if node.target in _random.FUNCTIONS:
            return "it draws the random numbers of an earlier call again"
        if isinstance(value, torch.Tensor) and value.device.type == "cpu":
            return f"{_named(node)} is on the CPU, and a replay would not see what it holds then"
        if isinstance(value, torch.Tensor) and value.device not in (device, torch.device("meta")):
            return f"{_named(node)} is on {value.device}, and a capture is of {device} alone"
    return ""


def _named(node: fx.Node) -> str:
    """An input or an operator's result, as the user knows it."""
    place = _graph.source_of(node)
    if node.op == "placeholder":
        return "an input"
    return f"what {node.target} gives" + (f" ({place})" if place else "")


def written(module: fx.GraphModule) -> set[int]:
    """The places of inputs that the program writes."""
    targets = {node.args[0] for node in module.graph.nodes if node.target is _graph.COPY}
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    return {place for place, node in enumerate(placeholders) if node in targets}


def saved(module: fx.GraphModule) -> set[int]:
    """The places of a backward's inputs that its forward has kept."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    return {place for place, node in enumerate(placeholders) if "tangents" not in node.name}


@dataclass(frozen=True)
class Calls:
    """What is known of a program's calls."""

    device: torch.device
    in_place: set[int]
    """Inputs that are used where they are."""
    weights: set[int]
    """Those of them that look the same in all calls."""
    by_version: set[int]
    """Those of these whose content is part of what is captured."""
    returned: int | None
    """How many results are the caller's; the others are kept for the backward. None: all."""
    most: int
    """Captures at a time."""
    asked: str = "Option 'capture'"
    """What has no effect on what cannot be captured."""


class Captured:
    """A program, and the captures of its calls, the least recently used of which go."""

    def __init__(self, run: Callable[..., Any], calls: Calls) -> None:
        self._run = run
        self._calls = calls
        self._lock = threading.RLock()
        self._known: OrderedDict[Any, Replay | None] = OrderedDict()
        self._is_refused = False

    def __call__(self, *args: Any) -> Any:
        if self._is_refused or _graphs.is_current_stream_capturing():
            return self._run(*args)
        with self._lock, _devices.device(self._calls.device):
            if (replay := self._find(args)) is not None:
                return replay(args)
        return self._run(*args)

    def _find(self, args: Sequence[Any]) -> Replay | None:
        """The capture of such a call, if there is one or it is time for one."""
        key = tuple(self._kind(place, arg) for place, arg in enumerate(args))
        is_new = key not in self._known
        replay = self._known.setdefault(key, None)
        self._known.move_to_end(key)
        if len(self._known) > self._calls.most:
            self._known.popitem(last=False)
        if is_new:
            return None
        if replay is None:
            replay = self._known[key] = self._capture(args)
        return None if replay is None or replay.is_in_use() else replay

    def _kind(self, place: int, arg: Any) -> Any:
        calls = self._calls
        if not isinstance(arg, torch.Tensor):
            return arg
        if place in calls.weights:
            return _freeze.state_of(arg) if place in calls.by_version else arg.data_ptr()
        address = arg.data_ptr() if place in calls.in_place else 0
        return arg.dtype, arg.device, arg.shape, arg.stride(), address

    def _capture(self, args: Sequence[Any]) -> Replay | None:
        try:
            return Replay(self._run, args, self._calls)
        except RuntimeError as error:
            self._is_refused = True
            refuse(str(error).splitlines()[0], self._calls.asked)
            return None


def refuse(why: str, asked: str = Calls.asked) -> None:
    _warnings.warn(f"{asked} has no effect on a graph that cannot be captured: {why}")


class Replay:
    """One captured call."""

    def __init__(self, run: Callable[..., Any], args: Sequence[Any], calls: Calls) -> None:
        inputs = [
            arg if place in calls.in_place or not isinstance(arg, torch.Tensor) else _like(arg)
            for place, arg in enumerate(args)
        ]
        self._graph = _graphs.Graph()
        with torch.no_grad(), _graphs.graph(self._graph, capture_error_mode="thread_local"):
            outputs = run(*inputs)
        # Memory that the caller owns is not kept alive: he gives it again with each call.
        self._inputs = [
            (place, own)
            for place, own in enumerate(inputs)
            if isinstance(own, torch.Tensor) and place not in calls.in_place
        ]
        self._passed = [_place_of(output, inputs) for output in outputs]
        self._outputs = [
            None if place is not None else output
            for output, place in zip(outputs, self._passed, strict=True)
        ]
        self._returned = len(outputs) if calls.returned is None else calls.returned
        del outputs, inputs
        self._told_apart = _freeze.references_to(args[place] for place in calls.by_version)
        self._stream: torch.Stream | None = None
        self._uses = self._count_uses()

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        self._wait()
        with torch.no_grad():
            for place, own in self._inputs:
                _copy(own, args[place])
            self._graph.replay()
            mine = _copies(self._outputs[: self._returned])
            kept = [
                x.detach() if isinstance(x, torch.Tensor) else x
                for x in self._outputs[self._returned :]
            ]
        return [
            args[place] if place is not None else output
            for output, place in zip([*mine, *kept], self._passed, strict=True)
        ]

    def _wait(self) -> None:
        """For the last replay, which another stream may have been given."""
        current = _streams.current_stream()
        if self._stream is not None and self._stream != current:
            current.wait_stream(self._stream)
        self._stream = current

    def is_in_use(self) -> bool:
        """Whether somebody has what the last replay kept for a backward."""
        return self._count_uses() != self._uses

    def _count_uses(self) -> list[int]:
        return [
            torch._C._storage_Use_Count(x.untyped_storage()._cdata)
            for x in self._outputs[self._returned :]
            if isinstance(x, torch.Tensor)
        ]


def _place_of(output: Any, inputs: Sequence[Any]) -> int | None:
    """Of the input that the result is."""
    if not isinstance(output, torch.Tensor):
        return None
    return next((place for place, own in enumerate(inputs) if own is output), None)


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements share memory."""
    return any(
        size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """All from its first element to its last."""
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((last + 1,), (1,))


def _like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )


def _copy(own: torch.Tensor, given: torch.Tensor) -> None:
    if own.numel() and _overlaps(own):
        own, given = _memory(own), _memory(given)
    own.copy_(given)


def _copies(outputs: Sequence[Any]) -> list[Any]:
    """With the same strides; of tensors that share memory, ones that share it too."""
    addresses = [
        x.untyped_storage().data_ptr() if isinstance(x, torch.Tensor) else 0 for x in outputs
    ]
    storages: dict[int, torch.UntypedStorage] = {}
    copies: list[Any] = []
    for x, address in zip(outputs, addresses, strict=True):
        if not isinstance(x, torch.Tensor):
            copies.append(x)
        elif addresses.count(address) == 1 or address == 0:
            copies.append(_like(x))
            _copy(copies[-1], x)
        else:
            if address not in storages:
                storage: Any = x.untyped_storage()
                storages[address] = storage.clone()
            own = torch.empty(0, dtype=x.dtype, device=x.device)
            own.set_(storages[address], x.storage_offset(), x.shape, x.stride())
            copies.append(own)
    return copies
