"""torch.ops.xcpu, as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import given
import torch
from torch import Tensor

xcpu = torch.ops.xcpu
PAGE = 64


def linear(work: given.Linear) -> Callable[[Tensor], dict[str, Any]]:
    group = work.group if work.kind == "int4" else 0
    weights = [xcpu.pack(work.weight, work.kind, group) for _ in range(work.copies)]
    return lambda x: {"xcpu::linear": lambda i: xcpu.linear(x, weights[i % work.copies])}


def decode(work: given.Decode) -> Callable[[Tensor], dict[str, Any]]:
    pages = work.length // PAGE
    cache = xcpu.make_cache(work.kind, pages * work.copies, work.kv_heads, work.head_dim, PAGE)
    for sequence in range(work.copies):
        slots = torch.arange(work.length) + sequence * work.length
        xcpu.cache_write(cache, slots, work.k, work.v)
    tables = torch.arange(work.copies * pages).view(work.copies, pages)

    def ways(q: Tensor) -> dict[str, Any]:
        lengths = torch.full((len(q),), work.length)
        batches = tables.split(len(q))

        def way(i: int) -> Tensor:
            return xcpu.paged_attention(q, cache, lengths, batches[i % len(batches)])

        return {"xcpu::paged_attention": way}

    return ways


def rms_norm(work: given.RmsNorm) -> Callable[[list[Tensor]], dict[str, Any]]:
    return lambda x: {
        "xcpu::rms_norm": lambda i: xcpu.rms_norm(x[i % work.copies], work.weight, 1e-6)
    }


def rotary(work: given.Rotary) -> Callable[[list[Any]], dict[str, Any]]:
    return lambda x: {"xcpu::rotary": lambda i: xcpu.rotary(*x[i % work.copies])}


def mlp(work: given.Mlp) -> Callable[[Tensor], dict[str, Any]]:
    ups = [xcpu.pack_pair(work.gate, work.up, "bf16") for _ in range(work.copies)]
    downs = [xcpu.pack(work.down, "bf16") for _ in range(work.copies)]
    return lambda x: {
        "xcpu::mlp": lambda i: xcpu.mlp(x, ups[i % work.copies], downs[i % work.copies])
    }
