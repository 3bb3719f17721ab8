"""Fused and quantised operators of transformers on the CPU. torchplug finds `library` by its entry points.

`import torch` gives torch.ops.xcpu: that is all there is to it. What is here makes some calls shorter.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

    Kind = Literal["fp32", "bf16", "int8", "int4"]

library = str(Path(__file__).with_name("libxcpu.so"))

options = {
    "TORCHPLUG_XCPU_ISA": "the instruction set of the kernels: avx512_bf16, avx512, avx2 or scalar; the best by default",
}


def pack(weight: Tensor, kind: Kind, *, group: int = 0) -> Tensor:
    """The matrix `weight`, of outputs by inputs, as xcpu.linear reads it.

    A packed weight is an ordinary tensor of integers, whose dtype and sizes say its kind, N, K and group: keep it in
    a buffer or a parameter, save it, load it. `group`, of int4: 32, 64, or 128 (0).
    """
    import torch

    return torch.ops.xcpu.pack(weight.detach(), kind, group)


def pack_pair(gate: Tensor, up: Tensor, kind: Kind, *, group: int = 0) -> Tensor:
    """Two matrices of equal sizes, interleaved as xcpu.gate_up and xcpu.mlp read them."""
    import torch

    return torch.ops.xcpu.pack_pair(gate.detach(), up.detach(), kind, group)
