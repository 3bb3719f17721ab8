"""mode="reduce-overhead": the lines by which a program that Inductor generates has its calls captured and replayed."""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor import config
from torch._inductor.virtualized import V

from torchplug import _devices
from torchplug.compile import _capture
from torchplug.inductor import runtime


def lines() -> str:
    """For the program that is being generated; none if that was not asked for, or cannot be."""
    if not config.triton.cudagraphs:
        return ""
    if why := _why_not():
        _capture.refuse(why, runtime.ASKED)
        return ""
    (device,) = _devices_used()
    written = set(V.graph.mutated_input_idxs)
    weights = _static_inputs()
    in_place = weights | written | (_saved() if V.graph.is_backward else set())
    return f"call = captured(call, {str(device)!r}, {in_place}, {weights}, {_returned()})\n"


def _devices_used() -> list[torch.device]:
    return [device for device in V.graph.device_node_mapping if device.type == _devices.name()]


def _why_not() -> str:
    for device, node in V.graph.device_node_mapping.items():
        if device.type == "cpu":
            return f"{node.name!r} is on the CPU, and a replay would not see what it holds then"
    if len(_devices_used()) != 1:
        return "it uses several devices"
    return ""


def _saved() -> set[int]:
    """The places of a backward's inputs that its forward has kept."""
    names = V.graph.graph_input_names
    return {place for place, name in enumerate(names) if "tangents" not in name}


def _metadata() -> Any:
    context = torch._guards.TracingContext.try_get()
    return context.fw_metadata if context is not None else None


def _static_inputs() -> set[int]:
    """The places of inputs that PyTorch takes to be parameters."""
    metadata = _metadata()
    if V.graph.is_backward or metadata is None:
        return set()
    return set(metadata.static_input_indices or ())


def _returned() -> int | None:
    """How many results of a forward are the caller's; the others are kept for the backward. None: all."""
    metadata = _metadata()
    if V.graph.is_backward or V.graph.is_inference or metadata is None:
        return None
    return int(metadata.num_forward)
