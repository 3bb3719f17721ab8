"""Models of the tests of packages."""

import torch
from torch import nn

from torchplug.bench.models import Decoder, Gated


class Everything(nn.Module):
    """A tied weight, a buffer that is written, constants, numbers of sizes, results that are none."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.register_buffer("kept", torch.zeros(8))
        self.ones = torch.ones(8)

    def forward(self, x, n=None, *, y=None, factor=3):
        self.kept.add_(x.sum(0))
        z = self.second(self.first(x).relu() + self.ones * factor) + torch.tensor(
            [1.0, 2, 3, 4] * 2
        )
        rows = x.shape[0]
        return {
            "z": z,
            "more": [x.view(-1), y.sum() * rows, x, rows**0.5 * x, None, rows, rows // 4 + 1],
            "kept": self.kept * 2,
        }


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3))

    def forward(self, x):
        self.kept.add_(x)
        return torch.tanh(self.kept) * 2


class Generator(nn.Module):
    """A decoder that is given one token at a time. What it keeps of those before is an input, or a buffer."""

    LENGTH = 6

    def __init__(self, sizes, keeps):
        super().__init__()
        torch.manual_seed(3)
        self.decoder = Decoder(sizes, sizes.layers, Gated)
        heads, width = sizes.heads // 2, sizes.width // sizes.heads
        self.kept = (sizes.layers, 2, 1, heads, self.LENGTH, width)
        if keeps == "buffer":
            self.register_buffer("cache", torch.zeros(self.kept))

    def empty_cache(self):
        return torch.zeros(self.kept)

    def forward(self, token, place, cache=None):
        return self.decoder(token, self.cache if cache is None else cache, place)
