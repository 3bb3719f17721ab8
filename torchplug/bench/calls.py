"""Small operators called from Python, timed as timeit does: a compiled loop, and nothing subtracted."""

from __future__ import annotations

import time
from timeit import Timer
from typing import Any

import torch

from torchplug.bench.settings import ELEMENTS

STATEMENTS = {
    "relu": "relu(x)",
    "add": "add(x, y)",
    "mul": "mul(x, y)",
    "exp": "exp(x)",
    "cos": "cos(x)",
    "sin": "sin(x)",
    "sum": "sum(x)",
    "mm": "mm(square, square)",
    "cat": "cat(pair)",
    "sigmoid_": "x.sigmoid_()",
    "view": "x.view(4, 4)",
    "transpose": "square.transpose(0, 1)",
    "item": "number.item()",
    "empty": "empty(size, device=place)",
    "neg": "neg(x)",
    "sub": "sub(x, y)",
    "own relu": "own_relu(x)",
    "own add": "own_add(x, y)",
    "aten relu": "aten_relu(x)",
    "aten add": "aten_add(x, y)",
}
PEERS = {"own relu": "aten relu", "own add": "aten add", "neg": "relu", "sub": "add"}
"""Calls of the same arguments, the second by a kernel of the device's for that operator."""


def timer(call: str, place: torch.device) -> Timer:
    """Times a call with tensors of its own on `place`, in nanoseconds."""
    return Timer(STATEMENTS[call], timer=time.perf_counter_ns, globals=names(place))


def names(place: torch.device) -> dict[str, Any]:
    """What the statements speak of."""
    x, y = (torch.rand(ELEMENTS).to(place) for _ in range(2))
    functions = {name: getattr(torch, name) for name in STATEMENTS if hasattr(torch, name)}
    return (
        functions
        | overloads(place.type)
        | {
            "x": x,
            "y": y,
            "pair": (x, y),
            "square": torch.rand(4, 4).to(place),
            "number": torch.rand(()).to(place),
            "size": (ELEMENTS,),
            "place": place,
        }
    )


def overloads(device: str) -> dict[str, Any]:
    """Operators of the device's own, if it has such, and PyTorch's, called in the same way."""
    found = {"aten_relu": torch.ops.aten.relu.default, "aten_add": torch.ops.aten.add.Tensor}
    for name in ("relu", "add"):
        if hasattr(getattr(torch.ops, device), name):
            found[f"own_{name}"] = getattr(getattr(torch.ops, device), name).default
    return found
