"""The backend of torch.compile: forward and backward graphs by AOTAutograd, each a program of engines."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._functorch._aot_autograd.utils import make_boxed_func

from torchplug.compile import _convolutions, _decompositions, _program
from torchplug.compile._options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    if mode is not None:
        raise ValueError(
            f"torch.compile's backend torchplug has no mode {mode!r}. What it can be told is in options={{...}}."
        )
    chosen = Options.of(options)
    device = device_of(inputs)
    _convolutions.expect_channels_last(device.type)
    compiler = functools.partial(_compile, options=chosen, device=device)
    return aot_autograd(
        fw_compiler=compiler,
        bw_compiler=functools.partial(compiler, is_backward=True),
        inference_compiler=compiler,
        decompositions=_decompositions.table(device, chosen),
        keep_inference_input_mutations=True,
    )(module, inputs)


def device_of(inputs: Sequence[Any]) -> torch.device:
    """The one device of torchplug's that the inputs are on."""
    accelerator = torch.accelerator.current_accelerator()
    name = accelerator.type if accelerator is not None else "cpu"
    found = {x.device for x in inputs if isinstance(x, torch.Tensor) and x.device.type == name}
    if not found:
        return torch.device(name, torch.accelerator.current_device_index())
    if len(found) > 1:
        names = ", ".join(sorted(map(str, found)))
        raise RuntimeError(
            f"torch.compile's backend torchplug was given tensors on {names}. Put the model and its inputs on one device."
        )
    return found.pop()


def _compile(
    module: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: Options,
    device: torch.device,
    is_backward: bool = False,
) -> Callable[..., Any]:
    program = _program.make(module, device, options, set() if is_backward else _weights())
    program.is_training = is_backward
    if programs is not None:
        programs.append(program)
    return make_boxed_func(program.module.forward)


def _weights() -> set[int]:
    """The places of inputs that PyTorch takes to be parameters."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return set(metadata.static_input_indices or ()) if metadata is not None else set()
