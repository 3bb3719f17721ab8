"""Greedy generation for sequences of different lengths: all prompts at once, then a token of each."""

from __future__ import annotations

import time

import torch
from torch import nn

from . import plain
from .pages import Pages

Generated = tuple[list[list[int]], float, float]
"""The new tokens of each sequence; the seconds until the first of them, and from there on."""


def generate_plain(model: plain.Decoder, prompts: list[list[int]], count: int) -> Generated:
    """Prompts are padded; what is padded is written over before it is seen."""
    cache = model.make_cache(len(prompts))
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(p) for p in prompts], batch_first=True)
    begin = time.perf_counter()
    positions = torch.arange(tokens.size(1)).expand_as(tokens)
    logits = model(tokens, positions, cache)
    new = [logits[torch.arange(len(prompts)), lengths - 1].argmax(-1)]
    first = time.perf_counter()
    for _ in range(count - 1):
        logits = model(new[-1][:, None], lengths[:, None], cache)
        new.append(logits[:, 0].argmax(-1))
        lengths = lengths + 1
    return torch.stack(new, 1).tolist(), first - begin, time.perf_counter() - first


def generate_packed(
    model: nn.Module, caches: list[torch.Tensor], prompts: list[list[int]], count: int
) -> Generated:
    """All prompts at once, however long, then a token of each."""
    pages = Pages(caches[0].size(0))
    begin = time.perf_counter()
    _, indices = model(caches, *pages.step(dict(enumerate(prompts))))
    new = [indices[:, 0].tolist()]
    first = time.perf_counter()
    for _ in range(count - 1):
        step = pages.step({i: [token] for i, token in enumerate(new[-1])})
        new.append(model(caches, *step)[1][:, 0].tolist())
    generated = [list(tokens) for tokens in zip(*new, strict=True)]
    return generated, first - begin, time.perf_counter() - first
