"""Graphs of the device: a step captured once and replayed, as torch.cuda's are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch
from torch.utils import _pytree as pytree

from torchplug import _C, _devices, _memory, _streams

if TYPE_CHECKING:
    from torch import Tensor

Pool = tuple[int, int]
Callables = Callable[..., Any] | tuple[Callable[..., Any], ...]


class Graph(_C.Graph):
    """Work of the device that is captured once and replayed.

    What is captured runs only when it is replayed, and then on the very same memory: new inputs are copied
    into the tensors that the capture read, results are found in the tensors that it wrote. `graph` and
    `make_graphed_callables` capture; every operator must have run once before, with arguments that look the
    same. With keep_graph, `instantiate` is there to be called before the first replay.
    """

    def __enter__(self) -> None:
        synchronize_and_empty()
        self.capture_begin()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        end_capture(self, failed=kind is not None)


def graph_pool_handle() -> Pool:
    """A pool of memory for several graphs, which are replayed in the order of their captures."""
    return _C.graph_pool_handle()


def is_current_stream_capturing() -> bool:
    """Whether what goes to the current stream is captured instead of being done."""
    return _C.is_current_stream_capturing()


def synchronize_and_empty() -> None:
    """What comes before a capture: earlier work is done, and unused memory is the device's again."""
    _devices.synchronize()
    _memory.empty_cache()


def end_capture(graph: _C.Graph, *, failed: bool) -> None:
    """Ends a capture. If its body has failed, that is what the user sees, and the graph holds nothing."""
    if failed:
        graph.reset()
    else:
        graph.capture_end()


class graph:
    """Captures the body of a `with` into a Graph, on a stream of its own.

    `pool` is another graph's pool() or a graph_pool_handle() whose memory to share. `capture_error_mode` says
    whose waiting for the device is an error meanwhile: that of all threads ("global"), of this thread
    ("thread_local"), or nobody's ("relaxed").
    """

    default_capture_stream: ClassVar[dict[int, torch.Stream]] = {}

    def __init__(
        self,
        graph: _C.Graph,
        pool: Pool | None = None,
        stream: torch.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.graph = graph
        self.pool = pool
        self.capture_stream = stream if stream is not None else own_stream()
        self.stream_ctx = _streams.stream(self.capture_stream)
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        synchronize_and_empty()
        self.stream_ctx.__enter__()
        try:
            self.graph.capture_begin(pool=self.pool, capture_error_mode=self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            end_capture(self.graph, failed=kind is not None)
        finally:
            self.stream_ctx.__exit__()


def own_stream() -> torch.Stream | None:
    """The stream that captures on the current device use, or None where there is only one.

    No `Stream` is this one: work that joins a capture from a stream of the user's has to be waited for, always.
    """
    if not _C.describe()["capabilities"]["streams"]:
        return None
    index = _C.current_device()
    if index not in graph.default_capture_stream:
        graph.default_capture_stream[index] = _streams.private_stream(index)
    return graph.default_capture_stream[index]


def make_graphed_callables(
    callables: Callables,
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Pool | None = None,
) -> Callables:
    """Callables whose forward and backward are graphs, for use in an otherwise eager program.

    `sample_args` are tensors that look like those the callables will be given, and require gradients as
    they will; for a tuple of callables a tuple of such tuples. Callables of one tuple share a pool and are
    called in its order. A module keeps its parameters: its forward is replaced.
    """
    if torch.is_autocast_enabled(_devices.name()) and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. "
            "Please set `cache_enabled=False`."
        )
    if not isinstance(callables, tuple):
        return graph_callables(
            [callables], [sample_args], num_warmup_iters, allow_unused_input, pool
        )[0]
    made = graph_callables(
        list(callables), list(sample_args), num_warmup_iters, allow_unused_input, pool
    )
    return tuple(made)


class Captured:
    """One callable, with the graphs of its forward and of its backward."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.user_inputs: list[Tensor] = pytree.arg_tree_leaves(*args)
        check_callable(function, self.user_inputs)
        self.parameters: tuple[Tensor, ...] = ()
        if isinstance(function, torch.nn.Module):
            self.parameters = tuple(function.parameters())
        self.inputs = (*self.user_inputs, *self.parameters)
        self.forward, self.backward = Graph(), Graph()
        self.outputs: list[Tensor] = []
        self.spec: Any = None
        self.output_gradients: list[Tensor | None] = []
        self.input_gradients: list[Tensor | None] = []

    def warm_up(self, allow_unused: bool) -> None:
        outputs = pytree.tree_leaves(self.function(*self.args))
        self.gradients(outputs, [torch.empty_like(o) for o in requiring(outputs)], allow_unused)

    def capture_forward(self, pool: Pool) -> None:
        with graph(self.forward, pool=pool):
            outputs = self.function(*self.args)
        self.outputs, self.spec = pytree.tree_flatten(outputs)

    def capture_backward(self, pool: Pool, allow_unused: bool) -> None:
        self.output_gradients = [
            torch.empty_like(output) if output.requires_grad else None for output in self.outputs
        ]
        found: Sequence[Tensor | None] = ()
        if requiring(self.outputs):
            with graph(self.backward, pool=pool):
                given = [gradient for gradient in self.output_gradients if gradient is not None]
                found = self.gradients(self.outputs, given, allow_unused)
        remaining = iter(found)
        self.input_gradients = [
            next(remaining, None) if tensor.requires_grad else None for tensor in self.inputs
        ]

    def gradients(
        self, outputs: Sequence[Tensor], given: Sequence[Tensor], allow_unused: bool
    ) -> Sequence[Tensor | None]:
        if not given:
            return ()
        return torch.autograd.grad(
            requiring(outputs), requiring(self.inputs), given, allow_unused=allow_unused
        )

    def as_function(self) -> Callable[..., Any]:
        captured = self

        class Graphed(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
                for own, given in zip(captured.user_inputs, inputs, strict=False):
                    copy_unless_same(own, given)
                captured.forward.replay()
                return tuple(output.detach() for output in captured.outputs)

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
                for own, given in zip(captured.output_gradients, gradients, strict=True):
                    if own is not None:
                        copy_unless_same(own, given)
                captured.backward.replay()
                return tuple(None if g is None else g.detach() for g in captured.input_gradients)

        def call(*args: Any) -> Any:
            inputs = (*pytree.arg_tree_leaves(*args), *captured.parameters)
            outputs = Graphed.apply(*inputs)  # type: ignore[no-untyped-call]
            return pytree.tree_unflatten(outputs, captured.spec)

        return call


def check_callable(function: Callable[..., Any], inputs: Sequence[object]) -> None:
    if not all(isinstance(tensor, torch.Tensor) for tensor in inputs):
        raise AssertionError("sample_args must contain tensors only.")
    if not isinstance(function, torch.nn.Module):
        return
    if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
        raise AssertionError(
            "A module passed to make_graphed_callables must have no hooks. Register them afterwards."
        )
    if any(buffer.requires_grad for buffer in function.buffers()):
        raise AssertionError("Only parameters of a graphed module may require gradients.")


def requiring(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor for tensor in tensors if tensor.requires_grad]


def copy_unless_same(own: Tensor, given: Tensor) -> None:
    if own.data_ptr() != given.data_ptr():
        own.copy_(given)


def graph_callables(
    functions: Sequence[Callable[..., Any]],
    sample_args: Sequence[tuple[Any, ...]],
    warm_ups: int,
    allow_unused: bool,
    pool: Pool | None,
) -> list[Callable[..., Any]]:
    all_captured = [
        Captured(function, args) for function, args in zip(functions, sample_args, strict=True)
    ]
    shared = graph_pool_handle() if pool is None else pool
    _devices.synchronize()
    with _streams.stream(own_stream()):
        for captured in all_captured:
            for _ in range(warm_ups):
                captured.warm_up(allow_unused)
    _devices.synchronize()
    # In the order in which they will run, so that what one leaves in the pool outlives what follows.
    for captured in all_captured:
        captured.capture_forward(shared)
    for captured in reversed(all_captured):
        captured.capture_backward(shared, allow_unused)
    return [replace(captured) for captured in all_captured]


def replace(captured: Captured) -> Callable[..., Any]:
    """What the user calls from now on: a module stays the module it is."""
    graphed = captured.as_function()
    if not isinstance(captured.function, torch.nn.Module):
        return graphed
    module = captured.function
    eager, was_training = module.forward, module.training

    def forward(*args: Any, **kwargs: Any) -> Any:
        chosen = graphed if module.training == was_training else eager
        return chosen(*args, **kwargs)

    module.forward = forward
    return cast("Callable[..., Any]", module)
