"""Whether Inductor's kernels can run on a device; and what makes a cached program another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphModulePass

import torchplug
from torchplug import _C

if TYPE_CHECKING:
    from torch import fx


class Check(CustomGraphModulePass):
    """Runs over each graph that Inductor compiles, and is part of the key under which it is cached."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, gm: fx.GraphModule) -> None:
        for node in gm.graph.nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and value.device.type == self._name:
                _refuse_without_view(value.device)

    def uuid(self) -> Any:
        return self._name, torchplug.__version__


def _refuse_without_view(device: torch.device) -> None:
    if not _C.can_launch_generated(device.index):
        raise RuntimeError(
            f"torch.compile's default backend, Inductor, generates C++ for the CPU, and the host has no view of the memory of "
            f"'{device}'. Use torch.compile(..., backend=\"torchplug\"), or no torch.compile."
        )
