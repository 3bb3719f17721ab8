"""A decoder like Llama's, in plain PyTorch: RMS norms, rotary embedding, grouped queries, gated MLPs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    vocabulary: int = 2048
    width: int = 512
    layers: int = 4
    heads: int = 8
    kv_heads: int = 2
    inner: int = 1536
    positions: int = 512

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer: [sequences, positions, kv_heads, head_dim]."""


def rotary_table(shape: Shape) -> tuple[Tensor, Tensor]:
    """A row for each position, a column for each pair of elements that turns."""
    pairs = torch.arange(0, shape.head_dim, 2) / shape.head_dim
    angles = torch.outer(torch.arange(shape.positions).float(), 10000.0**-pairs)
    return angles.cos(), angles.sin()


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Element i of each head turns with element i + head_dim / 2."""
    first, second = x.chunk(2, -1)
    cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.heads = [shape.heads, shape.kv_heads, shape.kv_heads]
        self.qkv = nn.Linear(shape.width, sum(self.heads) * shape.head_dim, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, x, positions, cos, sin, cache):
        q, k, v = self.qkv(x).unflatten(-1, (sum(self.heads), -1)).split(self.heads, -2)
        q, k = (turn(t, cos[positions], sin[positions]) for t in (q, k))
        places = positions
        if cache is not None:
            for kept, new in zip(cache, (k, v), strict=True):
                kept[torch.arange(len(x))[:, None], positions] = new
            last = int(positions.max()) + 1
            k, v = (kept[:, :last] for kept in cache)
            places = torch.arange(last).expand(len(x), last)
        seen = places[:, None, None, :] <= positions[:, None, :, None]
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        y = functional.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(-2))


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.before_attention = nn.RMSNorm(shape.width, eps=1e-6)
        self.attention = Attention(shape)
        self.before_mlp = nn.RMSNorm(shape.width, eps=1e-6)
        self.gate = nn.Linear(shape.width, shape.inner, bias=False)
        self.up = nn.Linear(shape.width, shape.inner, bias=False)
        self.down = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, x, *places):
        x = x + self.attention(self.before_attention(x), *places)
        y = self.before_mlp(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=1e-6)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        cos, sin = rotary_table(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def make_cache(self, sequences: int) -> Cache:
        sizes = (sequences, self.shape.positions, self.shape.kv_heads, self.shape.head_dim)
        new = self.embedding.weight.new_zeros
        return [(new(sizes), new(sizes)) for _ in self.layers]

    def forward(self, tokens: Tensor, positions: Tensor, cache: Cache | None = None) -> Tensor:
        """Logits of tokens [sequences, tokens]. What is cached beyond a token's position is not seen."""
        x = self.embedding(tokens)
        for i, layer in enumerate(self.layers):
            x = layer(x, positions, self.cos, self.sin, None if cache is None else cache[i])
        return self.head(self.norm(x))
