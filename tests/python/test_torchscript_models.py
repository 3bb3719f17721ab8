"""Whole models with TorchScript groups: forward, backward and generated tokens as without."""

import os

import pytest
import torch
from compiled_models import MODELS
from helpers import assert_same, on
from scripting import CALLS, engine_runs, group_count, script, trace
from torch import nn
from torch.nn import functional as F

from torchplug import torchscript

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")

SWEEP = pytest.mark.skipif(
    os.environ.get("TORCHPLUG_TEST_SWEEP") != "all", reason="a case for TORCHPLUG_TEST_SWEEP=all"
)
TRACEABLE = (
    "residual",
    "bert",
    "llama",
    "unet",
    "lstm",
)  # mixture's sizes depend on what is computed
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


@pytest.fixture(autouse=True)
def groups(compiling_afresh):
    torchscript.enable()
    yield
    torchscript.disable()


def kinds(few):
    return [pytest.param(name, marks=[] if name in few else [SWEEP]) for name in TRACEABLE]


@pytest.mark.parametrize("name", kinds(("residual", "bert", "llama", "unet")))
def test_a_traced_model_gives_what_it_gives_without_groups(device, name):
    make, inputs, _ = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    given = inputs()
    with torch.no_grad():
        expected = model(*given)
        there = model.to(device)
        traced = trace(there, *on(device, given), check_trace=False)
        for _ in range(CALLS):
            assert_same(traced(*on(device, given)), expected, **CLOSE)
    assert group_count() > 0
    assert engine_runs() > 0


@pytest.mark.parametrize("name", kinds(("residual", "llama")))
def test_gradients_of_a_traced_model_are_those_without_groups(device, name):
    make, inputs, _ = MODELS[name]
    torch.manual_seed(0)
    model, there = make().eval(), make().eval()
    there.load_state_dict(model.state_dict())
    there.to(device)
    given = inputs()
    traced = trace(there, *on(device, given), check_trace=False)
    model(*given).square().mean().backward()
    for _ in range(CALLS):
        there.zero_grad()
        traced(*on(device, given)).square().mean().backward()
        for here, one in zip(model.parameters(), there.parameters(), strict=True):
            assert_same(one.grad, here.grad, **CLOSE)


class Layer(nn.Module):
    """Of a decoder, with the keys and values of all words so far."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.all = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width)
        self.down = nn.Linear(width, width)
        self.weight = nn.Parameter(torch.ones(width))

    def norm(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight

    def forward(
        self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        b, t, d = x.shape
        parts = self.all(self.norm(x)).reshape(b, t, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        seen = F.scaled_dot_product_attention(q, keys, values, is_causal=t > 1)
        x = x + self.out(seen.transpose(1, 2).reshape(b, t, d))
        gate, up = self.gate(self.norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up), keys, values


class Decoder(nn.Module):
    def __init__(self, words: int = 13, width: int = 16, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(
        self, tokens: torch.Tensor, cache: list[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        x = self.embed(tokens)
        kept: list[torch.Tensor] = []
        i = 0
        for layer in self.layers:
            if len(cache) == 0:
                empty = x.new_zeros(x.size(0), self.heads, 0, self.width // self.heads)
                keys, values = empty, empty
            else:
                keys, values = cache[i], cache[i + 1]
            x, keys, values = layer(x, keys, values)
            kept.append(keys)
            kept.append(values)
            i += 2
        return self.head(x), kept

    @torch.jit.export
    def generate(self, tokens: torch.Tensor, count: int) -> torch.Tensor:
        cache: list[torch.Tensor] = []
        given = tokens
        for _ in range(count):
            scores, cache = self.forward(given, cache)
            given = scores[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, given), 1)
        return tokens


def test_the_tokens_of_a_decoder_with_a_cache_are_those_without_groups(device):
    torch.manual_seed(0)
    model = Decoder().eval()
    there = script(model).to(device)
    prompt = torch.randint(0, 13, (2, 5))
    with torch.no_grad():
        expected = [model.cpu().generate(prompt, count) for count in (4, 6)]
        there = there.to(device)
        for _ in range(CALLS):
            for count, tokens in zip((4, 6), expected, strict=True):
                assert there.generate(prompt.to(device), count).tolist() == tokens.tolist()
    assert engine_runs() > 0
