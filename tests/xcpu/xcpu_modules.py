"""A module with packed weights, as a user would write one. In a file of its own, so that it can be pickled."""

import torch
from torch import nn

xcpu = torch.ops.xcpu


class Mlp(nn.Module):
    """A gated MLP: a pair in a buffer, the other in a parameter."""

    def __init__(self, width: int = 64, inner: int = 96, kind: str = "int8"):
        super().__init__()
        group = 32 if kind == "int4" else 0
        gate, up = torch.randn(2, inner, width) / 8
        down = torch.randn(width, inner) / 8
        self.register_buffer("up", xcpu.pack_pair(gate, up, kind, group))
        self.down = nn.Parameter(xcpu.pack(down, kind, group), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x)
        inner = torch.ops.xcpu.gate_up(normed, self.up)
        return torch.ops.xcpu.linear(inner, self.down, self.bias, residual=x)
