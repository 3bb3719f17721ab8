"""The backend of torch.compile: forward and backward graphs by AOTAutograd, each a program of engines."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._functorch._aot_autograd.utils import make_boxed_func

from torchplug import _C
from torchplug.compile import (
    _batch_norm,
    _capture,
    _decompositions,
    _freeze,
    _program,
    _streams,
    _strides,
)
from torchplug.compile._options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INFERENCE, FORWARD, BACKWARD = "inference", "forward", "backward"

programs: list[_program.Program] | None = None
"""Those that are made while somebody asks, by explain()."""


def backend(
    module: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """For torch.compile(backend="torchplug")."""
    from torch._dynamo.backends.common import aot_autograd

    chosen = Options.of(options, mode)
    device = device_of(inputs)
    _strides.expect_those_of_the_cpu(device.type)
    compiler = functools.partial(_compile, options=chosen, device=device)
    compiled = aot_autograd(
        fw_compiler=functools.partial(compiler, kind=FORWARD),
        bw_compiler=functools.partial(compiler, kind=BACKWARD),
        inference_compiler=functools.partial(compiler, kind=INFERENCE),
        partition_fn=_batch_norm.partition,
        decompositions=_decompositions.table(device, chosen),
        keep_inference_input_mutations=True,
    )
    with _streams.divided(module.graph):
        return compiled(module, inputs)


def device_of(inputs: Sequence[Any]) -> torch.device:
    """The device of torchplug's that most of the inputs are on; what is elsewhere runs one by one."""
    accelerator = torch.accelerator.current_accelerator()
    name = accelerator.type if accelerator is not None else "cpu"
    found = Counter(
        x.device for x in inputs if isinstance(x, torch.Tensor) and x.device.type == name
    )
    if not found:
        return torch.device(name, torch.accelerator.current_device_index())
    return found.most_common(1)[0][0]


def _compile(
    module: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: Options,
    device: torch.device,
    kind: str,
) -> Callable[..., Any]:
    weights = set() if kind == BACKWARD else _weights()

    def make(module: fx.GraphModule) -> Callable[..., Any]:
        program = _program.make(module, device, options, weights)
        program.kind = BACKWARD if kind == BACKWARD else FORWARD
        if programs is not None:
            programs.append(program)
        return program.module.forward

    if options.freeze and kind != INFERENCE:
        raise ValueError(
            "Option 'freeze' makes constants of weights, and this call is to have gradients. "
            "Call the model under torch.no_grad(), or leave 'freeze' out."
        )
    _keep_saved(kind)
    replayed = _replayed(module, options, device, kind, weights) if options.capture else None
    run = _freeze.Frozen(module, weights, make) if options.freeze else make(module)
    if replayed is not None:
        run = _capture.Captured(run, replayed)
    return make_boxed_func(run)


def _weights() -> set[int]:
    """The places of inputs that PyTorch takes to be parameters."""
    metadata = _metadata()
    return set(metadata.static_input_indices or ()) if metadata is not None else set()


def _metadata() -> Any:
    context = torch._guards.TracingContext.try_get()
    return context.fw_metadata if context is not None else None


def _keep_saved(kind: str) -> None:
    """No program writes over what its forward has kept, so a backward may run again (retain_graph) whichever came first."""
    metadata = _metadata()
    if kind != INFERENCE and metadata is not None:
        metadata.bw_donated_idxs = []


def _replayed(
    module: fx.GraphModule, options: Options, device: torch.device, kind: str, weights: set[int]
) -> _capture.Calls | None:
    """How calls of the program can be replayed; None, with a warning, if they cannot."""
    if why := _capture.why_not(module, device):
        _capture.refuse(why)
        return None
    written = _capture.written(module)
    in_place = weights | written | (_capture.saved(module) if kind == BACKWARD else set())
    counts = options.freeze or _C.describe_compiler(device.index)["packs"]
    metadata = _metadata()
    return _capture.Calls(
        device=device,
        in_place=in_place,
        weights=weights,
        by_version=weights - written if counts else set(),
        returned=metadata.num_forward if kind == FORWARD and metadata is not None else None,
        most=options.engines,
    )
