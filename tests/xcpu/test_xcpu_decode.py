"""A decoder on these operators gives the logits of plain PyTorch in float64: examples/xcpu_decode."""

import copy
import re
import runpy

import pytest
import torch
from helpers import assert_same
from xcpu_decode import packed, plain
from xcpu_decode.generate import generate_packed, generate_plain
from xcpu_decode.pages import Pages
from xcpu_weights import xcpu

SHAPE = plain.Shape(
    vocabulary=80, width=128, layers=2, heads=4, kv_heads=2, inner=192, positions=64
)
PROMPTS = [[1, 2, 3], [4] * 19, [5], [6, 7, 8, 9]]


@pytest.fixture
def model():
    return plain.Decoder(SHAPE).requires_grad_(False)


def as_packed(model, kind, group):
    """The model in float64, with the weights that packed ones stand for."""
    model = copy.deepcopy(model)
    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight.copy_(xcpu.unpack(xcpu.pack(layer.weight, kind, group)))
    return model.double()


def all_logits(decoder, caches, step):
    """Of each sequence; the decoder gives the largest ones, of which there are as many as tokens."""
    values, indices = decoder(caches, *step)
    return torch.empty_like(values).scatter_(1, indices, values)


@pytest.mark.parametrize(
    ("kind", "group", "cache_kind", "error"),
    [
        ("fp32", 0, "fp32", 1e-6),
        ("bf16", 0, "bf16", 0.01),
        ("int8", 0, "bf16", 0.02),
        ("int8", 0, "int8", 0.02),
        ("int4", 32, "bf16", 0.02),
        ("int4", 64, "int8", 0.02),
    ],
)
def test_its_logits_are_those_of_the_dequantised_weights_in_float64(
    model, kind, group, cache_kind, error
):
    """Prompts of different lengths at once, then tokens one by one, and prompts again among them."""
    reference = as_packed(model, kind, group)
    decoder = packed.Decoder(model, kind, group, top=SHAPE.vocabulary)
    caches, pages = decoder.make_caches(cache_kind, 8), Pages(8)
    texts = {}
    for i in range(6):
        new = {sequence: [10 + i] for sequence in texts}
        new |= {0: PROMPTS[0], 1: PROMPTS[1]} if i == 0 else {}
        new |= {i: PROMPTS[i]} if i in (2, 3) else {}
        for sequence, tokens in new.items():
            texts[sequence] = texts.get(sequence, []) + tokens
        found = all_logits(decoder, caches, pages.step(new))
        for sequence, logits in zip(new, found, strict=True):
            tokens = torch.tensor([texts[sequence]])
            expected = reference(tokens, torch.arange(tokens.size(1))[None])[0, -1]
            assert (logits - expected).norm() < error * expected.norm()


def test_it_generates_what_plain_pytorch_generates(model):
    expected, *_ = generate_plain(model.double(), PROMPTS, 30)
    decoder = packed.Decoder(model.float(), "fp32")
    assert generate_packed(decoder, decoder.make_caches("fp32", 16), PROMPTS, 30)[0] == expected


def test_pages_of_a_sequence_that_ended_are_those_of_others(model):
    decoder = packed.Decoder(model, "fp32")
    caches, pages = decoder.make_caches("fp32", 3), Pages(3)
    first = decoder(caches, *pages.step({7: PROMPTS[1]}))
    pages.end(7)
    step = pages.step({8: PROMPTS[1], 9: PROMPTS[0]})
    assert sorted(step.block_table.flatten().tolist())[1:] == [0, 1, 2]
    assert_same(decoder(caches, *step)[0][0], first[0][0])


def test_the_example_compares_every_kind(capsys, monkeypatch):
    small = plain.Shape(vocabulary=80, width=128, layers=1, heads=2, kv_heads=1, inner=128)
    monkeypatch.setattr(plain.Shape.__init__, "__defaults__", tuple(vars(small).values()))
    runpy.run_module("xcpu_decode", run_name="__main__")
    names = re.findall(r"^(\w+, \w+) +\d+ +\d+ +\d+ of 192$", capsys.readouterr().out, re.MULTILINE)
    assert names == ["plain, float32", "plain, bfloat16", "xcpu, bf16", "xcpu, int8", "xcpu, int4"]
