"""What every contestant is given, the same numbers for all, and what is to come of it.

There are as many copies of what is read as more memory takes than caches have: calls go through them in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def distance(result: Any, expected: Tensor) -> float:
    """The error, relative to what was expected; of several results that of the first."""
    first = result[0] if isinstance(result, (tuple, list)) else result
    difference = first.float().reshape(expected.shape) - expected
    return float(difference.norm() / expected.norm())


def numbers(*sizes: int, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(sum(sizes))
    return (torch.randn(sizes, generator=generator) * scale).bfloat16()


@dataclass
class Linear:
    """x weight', of weights rounded to bf16, int8 for each output, or int4 for each group of 128."""

    kind: str
    n: int
    k: int
    copies: int
    group: int = 128

    def __post_init__(self) -> None:
        self.weight = numbers(self.n, self.k)

    def input(self, rows: int) -> Tensor:
        return numbers(rows, self.k)

    def reference(self, x: Tensor) -> Tensor:
        return x.float() @ self.weight.float().T

    def integers(self) -> tuple[Tensor, Tensor]:
        """The weight as int8, and fp32 scales: one for each output, or, of int4, [outputs, groups]."""
        most, width = (7, self.group) if self.kind == "int4" else (127, self.k)
        groups = self.weight.float().view(self.n, -1, width)
        scales = groups.abs().amax(2, keepdim=True) / most
        rounded = (groups / scales).round().to(torch.int8)
        return rounded.view(self.n, self.k), scales.squeeze(2)


@dataclass
class Decode:
    """One token of each of `rows` sequences, which sees `length` tokens in a cache."""

    kind: str
    length: int
    copies: int
    """Sequences."""
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128

    def __post_init__(self) -> None:
        sizes = self.length, self.kv_heads, self.head_dim
        self.k = numbers(*sizes)
        self.v = self.k.flip(0)

    def input(self, rows: int) -> Tensor:
        return numbers(1, self.heads, self.head_dim).repeat(rows, 1, 1)

    def reference(self, q: Tensor) -> Tensor:
        one, k, v = (x.float().transpose(0, 1) for x in (q[:1], self.k, self.v))
        result = F.scaled_dot_product_attention(one[None], k[None], v[None], enable_gqa=True)[0]
        return result.transpose(0, 1).repeat(q.shape[0], 1, 1)


@dataclass
class RmsNorm:
    columns: int
    copies: int

    def __post_init__(self) -> None:
        self.weight = numbers(self.columns)

    def input(self, rows: int) -> list[Tensor]:
        return [numbers(rows, self.columns).clone() for _ in range(self.copies)]

    def reference(self, x: list[Tensor]) -> Tensor:
        return F.rms_norm(x[0].float(), (self.columns,), self.weight.float(), 1e-6)


@dataclass
class Rotary:
    """Halves of queries and keys [tokens, heads, head_dim] turned, each token at its place."""

    copies: int
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128

    def input(self, rows: int) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
        frequencies = 10000 ** (-torch.arange(self.head_dim // 2) / (self.head_dim // 2))
        angles = torch.outer(torch.arange(float(rows)), frequencies)
        cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
        q, k = (numbers(rows, heads, self.head_dim) for heads in (self.heads, self.kv_heads))
        return [(q.clone(), k.clone(), cos, sin) for _ in range(self.copies)]

    def reference(self, x: list[tuple[Tensor, Tensor, Tensor, Tensor]]) -> Tensor:
        q, _, cos, sin = (values.float() for values in x[0])
        left, right = q.chunk(2, dim=-1)
        cos, sin = cos[:, None], sin[:, None]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


@dataclass
class Mlp:
    """silu(x gate') * (x up'), times down', in bf16."""

    width: int
    hidden: int
    copies: int

    def __post_init__(self) -> None:
        self.gate = numbers(self.hidden, self.width, scale=self.width**-0.5)
        self.up = self.gate.flip(0)
        self.down = numbers(self.width, self.hidden, scale=self.hidden**-0.5)

    def input(self, rows: int) -> Tensor:
        return numbers(rows, self.width)

    def reference(self, x: Tensor) -> Tensor:
        gate, up, down = (weight.float().T for weight in (self.gate, self.up, self.down))
        return (F.silu(x.float() @ gate) * (x.float() @ up)) @ down


GIVEN = {"linear": Linear, "decode": Decode, "rms_norm": RmsNorm, "rotary": Rotary, "mlp": Mlp}
