"""Models of the kinds that people compile, in small: with random weights, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH, HEADS, LENGTH, BATCH, WORDS = 128, 4, 32, 4, 512


class Residual(nn.Module):
    """A residual net: convolutions and batch norm."""

    def __init__(self, channels: int = 32, blocks: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(self._block(channels) for _ in range(blocks))
        self.head = nn.Linear(channels, 10)

    @staticmethod
    def _block(channels: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        for block in self.blocks:
            x = F.relu(block(x) + x)
        result: Tensor = self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return result


class Encoder(nn.Module):
    """As BERT: embeddings, attention with a mask, GELU, layer norm."""

    def __init__(self, width: int = WIDTH, layers: int = 2) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width) for _ in range(layers))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x: Tensor = self.norm(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x, mask)
        return x


class EncoderLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (split_heads(one) for one in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = self.norms[0](x + self.out(join_heads(y)))
        result: Tensor = self.norms[1](x + self.narrow(F.gelu(self.wide(x))))
        return result


class Decoder(nn.Module):
    """As Llama: RMS norm, rotary positions, grouped heads, SwiGLU."""

    def __init__(self, width: int = WIDTH, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.layers = nn.ModuleList(DecoderLayer(width) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, WORDS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x)
        result: Tensor = self.head(self.norm(x))
        return result


class DecoderLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.q, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(width, width // 2, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-5) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        q = rotate(split_heads(self.q(y)))
        k, v = (split_heads(one(y), HEADS // 2) for one in (self.k, self.v))
        y = F.scaled_dot_product_attention(q, rotate(k), v, is_causal=True, enable_gqa=True)
        x = x + self.out(join_heads(y))
        y = self.norms[1](x)
        result: Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return result


class UNet(nn.Module):
    """Down and up again, with group norm."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.begin = nn.Conv2d(3, channels, 3, padding=1)
        self.down = nn.Conv2d(channels, 2 * channels, 3, 2, padding=1)
        self.middle = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.end = nn.Conv2d(2 * channels, 3, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(4, n * channels) for n in (1, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        first = F.silu(self.norms[0](self.begin(x)))
        low = F.silu(self.norms[1](self.down(first)))
        low = low + F.silu(self.norms[2](self.middle(low)))
        result: Tensor = self.end(torch.cat([self.up(low), first], 1))
        return result


class Recurrent(nn.Module):
    """An LSTM over embeddings."""

    def __init__(self, width: int = WIDTH // 2) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.cells = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, tokens: Tensor) -> Tensor:
        result: Tensor = self.head(self.cells(self.words(tokens))[0])
        return result


class Experts(nn.Module):
    """A mixture of experts: each token goes to two of four."""

    def __init__(self, width: int = WIDTH, experts: int = 4) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, experts)
        self.wide = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(experts))
        self.narrow = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x).flatten(0, 1)
        weights, chosen = self.router(y).softmax(-1).topk(2)
        result = torch.zeros_like(y)
        for number, (wide, narrow) in enumerate(zip(self.wide, self.narrow, strict=True)):
            rows, place = torch.where(chosen == number)
            made = narrow(F.gelu(wide(y[rows]))) * weights[rows, place, None]
            result = result.index_add(0, rows, made)
        return x + result.view_as(x)


def split_heads(x: Tensor, heads: int = HEADS) -> Tensor:
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def rotate(x: Tensor) -> Tensor:
    """By the place of each token."""
    half = x.shape[-1] // 2
    speeds = 10000.0 ** -(torch.arange(half, device=x.device) / half)
    angles = torch.arange(x.shape[-2], device=x.device)[:, None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def tokens() -> Tensor:
    return torch.randint(0, WORDS, (BATCH, LENGTH))


def mask() -> Tensor:
    """The last tokens of each second text are none."""
    return torch.arange(LENGTH) < torch.tensor([LENGTH, LENGTH - 8]).repeat(BATCH // 2)[:, None]


class Model(NamedTuple):
    make: Callable[[], nn.Module]
    inputs: Callable[[], list[Tensor]]
    config: Mapping[str, Any] = MappingProxyType({})
    """Of torch._dynamo: without it PyTorch makes no graph of the model."""


MODELS = {
    "residual": Model(Residual, lambda: [torch.randn(BATCH, 3, 32, 32)]),
    "bert": Model(Encoder, lambda: [tokens(), mask()]),
    "llama": Model(Decoder, lambda: [tokens()]),
    "unet": Model(UNet, lambda: [torch.randn(BATCH, 3, 32, 32)]),
    "lstm": Model(Recurrent, lambda: [tokens()], {"allow_rnn": True}),
    "experts": Model(
        Experts,
        lambda: [torch.randn(BATCH, LENGTH, WIDTH)],
        {"capture_dynamic_output_shape_ops": True},
    ),
}
