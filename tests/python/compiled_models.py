"""Small models of the kinds that people compile, and inputs for them."""

import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """A residual convolutional net."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(2))
        self.convolutions = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            x = F.relu(norm(convolution(x)) + x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Bert(nn.Module):
    """A block of an encoder, with embeddings and a mask."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Embedding(8, 16)
        self.norm = nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.wide, self.narrow = nn.Linear(16, 32), nn.Linear(32, 16)
        self.last = nn.LayerNorm(16)

    def forward(self, tokens, mask):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.norm(x)
        x = x + self.attention(x, x, x, key_padding_mask=mask, need_weights=False)[0]
        return self.last(x + self.narrow(F.gelu(self.wide(x))))


class Llama(nn.Module):
    """A block of a decoder: RMS norm, rotary positions, grouped heads, SwiGLU."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(13, 16)
        self.norms = nn.ModuleList(nn.RMSNorm(16, eps=1e-5) for _ in range(3))
        self.q, self.k, self.v = (
            nn.Linear(16, 16, False),
            nn.Linear(16, 8, False),
            nn.Linear(16, 8, False),
        )
        self.o = nn.Linear(16, 16, False)
        self.gate, self.up, self.down = (
            nn.Linear(16, 24, False),
            nn.Linear(16, 24, False),
            nn.Linear(24, 16, False),
        )
        self.head = nn.Linear(16, 13, False)

    def rotate(self, x, places):
        angles = places[:, None] * (100.0 ** -(torch.arange(0, 4, 2, device=x.device) / 4))
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, tokens, cache=None, begin=0):
        batch, length = tokens.shape
        x = self.embedding(tokens)
        places = torch.arange(length, device=x.device) + begin
        y = self.norms[0](x)
        q, k, v = (
            f(y).view(batch, length, -1, 4).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        q, k = self.rotate(q, places), self.rotate(k, places)
        if cache is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            cache[0].index_copy_(2, places, k)
            cache[1].index_copy_(2, places, v)
            seen = torch.arange(cache.shape[3], device=x.device) <= places[:, None]
            y = F.scaled_dot_product_attention(
                q, cache[0], cache[1], attn_mask=seen, enable_gqa=True
            )
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, 16))
        y = self.norms[1](x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.head(self.norms[2](x))


class UNet(nn.Module):
    """Down and up again, with group norm and what was before beside it."""

    def __init__(self):
        super().__init__()
        self.begin, self.down = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(2, 8), nn.GroupNorm(4, 16)])
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.end = nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, x):
        first = F.silu(self.norms[0](self.begin(x)))
        low = F.silu(self.norms[1](self.down(first)))
        low = F.interpolate(low, scale_factor=2, mode="nearest")
        low = F.avg_pool2d(low, 2)
        return self.end(torch.cat([self.up(low), first], 1))


class Recurrent(nn.Module):
    """Two layers of LSTM. PyTorch makes a graph of it where torch._dynamo.config.allow_rnn is set."""

    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(5, 8, num_layers=2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.layers(x)[0])


class Mixture(nn.Module):
    """One of three experts for each token, called with those that chose it, however many these are."""

    def __init__(self):
        super().__init__()
        self.norm, self.router = nn.LayerNorm(16), nn.Linear(16, 3, False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16)) for _ in range(3)
        )
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        y = self.norm(x)
        weight, chosen = self.router(y * 8).softmax(-1).max(-1)
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            (rows,) = torch.where(chosen == i)
            result = result.index_add(0, rows, expert(y[rows]) * weight[rows, None])
        return self.head(F.gelu(x + result))


def mask():
    return torch.tensor([[False] * 6, [False] * 4 + [True] * 2])


# Of torch._dynamo.config: without them PyTorch makes no graph of some models.
TRACED = {"allow_rnn": True, "capture_dynamic_output_shape_ops": True}

MODELS = {
    "residual": (Residual, lambda: [torch.randn(2, 3, 8, 8)]),
    "bert": (Bert, lambda: [torch.randint(0, 11, (2, 6)), mask()]),
    "llama": (Llama, lambda: [torch.randint(0, 13, (2, 6))]),
    "unet": (UNet, lambda: [torch.randn(2, 2, 8, 8)]),
    "recurrent": (Recurrent, lambda: [torch.randn(2, 4, 5)]),
    "mixture": (Mixture, lambda: [torch.randn(12, 16)]),
}
