"""Models of the kinds that people compile, in small: with random weights, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Sizes:
    width: int = 128
    heads: int = 4
    """Of attention; keys and values have half as many."""
    layers: int = 2
    words: int = 512
    length: int = 32
    batch: int = 4
    channels: int = 16
    image: int = 32
    cells: int = 1
    """Layers of the LSTM."""
    experts: int = 4


class Residual(nn.Module):
    """A residual net: convolutions and batch norm."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        channels = 2 * sizes.channels
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(self._block(channels) for _ in range(sizes.layers))
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
        x = F.relu(self.stem(x))
        for block in self.blocks:
            x = F.relu(block(x) + x)
        result: Tensor = self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return result


class Encoder(nn.Module):
    """As BERT: embeddings, attention with a mask, GELU, layer norm."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.width)
        self.places = nn.Embedding(sizes.length, sizes.width)
        self.norm = nn.LayerNorm(sizes.width)
        self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.layers))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x: Tensor = self.norm(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x, mask)
        return x


class EncoderLayer(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.attention = nn.MultiheadAttention(width, sizes.heads, batch_first=True)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y, _ = self.attention(x, x, x, key_padding_mask=mask, need_weights=False)
        x = self.norms[0](x + y)
        result: Tensor = self.norms[1](x + self.narrow(F.gelu(self.wide(x))))
        return result


class Decoder(nn.Module):
    """As Llama: RMS norm, rotary positions, grouped heads, and behind the attention what `make_wide` makes."""

    def __init__(self, sizes: Sizes, layers: int, make_wide: Callable[[Sizes], nn.Module]) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.width)
        self.layers = nn.ModuleList(DecoderLayer(sizes, make_wide(sizes)) for _ in range(layers))
        self.norm = nn.RMSNorm(sizes.width, eps=1e-5)
        self.head = nn.Linear(sizes.width, sizes.words, bias=False)

    def forward(self, tokens: Tensor, cache: Tensor | None = None, begin: Any = 0) -> Tensor:
        """`cache`: of each layer, keys and values of tokens before the place `begin`; it gets those of these tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device) + begin
        x = self.words(tokens)
        for number, layer in enumerate(self.layers):
            x = layer(x, places, None if cache is None else cache[number])
        result: Tensor = self.head(self.norm(x))
        return result


class DecoderLayer(nn.Module):
    def __init__(self, sizes: Sizes, wide: nn.Module) -> None:
        super().__init__()
        self.head_width = sizes.width // sizes.heads
        self.q, self.out = (nn.Linear(sizes.width, sizes.width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(sizes.width, sizes.width // 2, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.RMSNorm(sizes.width, eps=1e-5) for _ in range(2))
        self.wide = wide

    def forward(self, x: Tensor, places: Tensor, cache: Tensor | None) -> Tensor:
        y = self.norms[0](x)
        q, k, v = (self._split(one(y)) for one in (self.q, self.k, self.v))
        y = attention(rotated(q, places), rotated(k, places), v, places, cache)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        result: Tensor = x + self.wide(self.norms[1](x))
        return result

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], -1, self.head_width).transpose(1, 2)


def attention(q: Tensor, k: Tensor, v: Tensor, places: Tensor, cache: Tensor | None) -> Tensor:
    if cache is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    cache[0].index_copy_(2, places, k)
    cache[1].index_copy_(2, places, v)
    seen = torch.arange(cache.shape[3], device=q.device) <= places[:, None]
    return F.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=seen, enable_gqa=True)


def rotated(x: Tensor, places: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    angles = places[:, None] * 10000.0 ** -(torch.arange(half, device=x.device) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Gated(nn.Module):
    """SwiGLU."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width, wide = sizes.width, 3 * sizes.width
        self.gate, self.up = (nn.Linear(width, wide, bias=False) for _ in range(2))
        self.down = nn.Linear(wide, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.down(F.silu(self.gate(x)) * self.up(x))
        return result


class Experts(nn.Module):
    """Each token goes to one of them, which is called with those that chose it, however many these are."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.router = nn.Linear(sizes.width, sizes.experts, bias=False)
        self.experts = nn.ModuleList(Gated(sizes) for _ in range(sizes.experts))

    def forward(self, x: Tensor) -> Tensor:
        y = x.flatten(0, 1)
        weight, chosen = self.router(y * 8).softmax(-1).max(-1)
        result = torch.zeros_like(y)
        for number, expert in enumerate(self.experts):
            (rows,) = torch.where(chosen == number)
            result = result.index_add(0, rows, expert(y[rows]) * weight[rows, None])
        return result.view_as(x)


class UNet(nn.Module):
    """Down and up again, with group norm and what was before beside it."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        channels = sizes.channels
        self.begin = nn.Conv2d(3, channels, 3, padding=1)
        self.down = nn.Conv2d(channels, 2 * channels, 3, 2, padding=1)
        self.middle = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.end = nn.Conv2d(3 * channels, 3, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(4, n * channels) for n in (1, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        first = F.silu(self.norms[0](self.begin(x)))
        low = F.silu(self.norms[1](self.down(first)))
        low = low + F.silu(self.norms[2](self.middle(low)))
        coarse = F.interpolate(F.avg_pool2d(first, 2), scale_factor=2, mode="nearest")
        result: Tensor = self.end(torch.cat([self.up(low), first, coarse], 1))
        return result


class Recurrent(nn.Module):
    """An LSTM over embeddings."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width // 2
        self.words = nn.Embedding(sizes.words, width)
        self.cells = nn.LSTM(width, width, num_layers=sizes.cells, batch_first=True)
        self.head = nn.Linear(width, sizes.words)

    def forward(self, tokens: Tensor) -> Tensor:
        result: Tensor = self.head(self.cells(self.words(tokens))[0])
        return result


class Model(NamedTuple):
    make: Callable[[], nn.Module]
    inputs: Callable[[], list[Tensor]]
    config: Mapping[str, Any] = MappingProxyType({})
    """Of torch._dynamo: without it PyTorch makes no graph of the model."""


def models(sizes: Sizes) -> dict[str, Model]:
    def image() -> Tensor:
        return torch.randn(sizes.batch, 3, sizes.image, sizes.image)

    def tokens() -> Tensor:
        return torch.randint(0, sizes.words, (sizes.batch, sizes.length))

    def mask() -> Tensor:
        """The last quarter of each second text is none."""
        length = torch.tensor([sizes.length, sizes.length - sizes.length // 4])
        return torch.arange(sizes.length) >= length.repeat(sizes.batch // 2)[:, None]

    return {
        "residual": Model(lambda: Residual(sizes), lambda: [image()]),
        "bert": Model(lambda: Encoder(sizes), lambda: [tokens(), mask()]),
        "llama": Model(lambda: Decoder(sizes, sizes.layers, Gated), lambda: [tokens()]),
        "unet": Model(lambda: UNet(sizes), lambda: [image()]),
        "lstm": Model(lambda: Recurrent(sizes), lambda: [tokens()], {"allow_rnn": True}),
        "mixture": Model(
            lambda: Decoder(sizes, 1, Experts),
            lambda: [tokens()],
            {"capture_dynamic_output_shape_ops": True},
        ),
    }


MODELS = models(Sizes())
