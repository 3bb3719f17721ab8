"""AMD PACE. Its operators are in one library, which needs none of what the package requires besides PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import distribution
from typing import Any

import given
import torch
from torch import Tensor

torch.ops.load_library(str(distribution("amd-pace").locate_file("pace/lib/libpace_cpp.so")))
pace = torch.ops.pace
BLOCK = 32


def packed(weight: Tensor) -> Tensor:
    """A weight in the blocks that its TPP backend reads."""
    outputs, inputs = weight.shape
    blocks = weight.view(outputs // BLOCK, BLOCK, inputs // 64, 32, 2)
    return blocks.permute(0, 2, 3, 1, 4).contiguous()


def linear(work: given.Linear) -> Callable[[Tensor], dict[str, Any]] | None:
    if work.kind != "bf16":
        return None
    weights = [packed(work.weight) for _ in range(work.copies)]
    return lambda x: {
        "libxsmmlinear_plain": lambda i: pace.libxsmmlinear_plain(
            x[None], weights[i % work.copies], None
        )
    }


def decode(work: given.Decode) -> Callable[[Tensor], dict[str, Any]] | None:
    if work.kind != "bf16":
        return None
    block = pace.slab_autotune_block_size(work.kv_heads, work.head_dim)
    blocks = (work.length + block - 1) // block * work.copies
    pool = torch.classes.pace.SlabPool(blocks, work.kv_heads, work.head_dim, block)
    for sequence in range(work.copies):
        pool.create_sequence(sequence, work.length)
        pool.cache_update([sequence], work.k[None], work.v[None], [work.length])
    no_sinks = torch.tensor([])

    def ways(q: Tensor) -> dict[str, Any]:
        batches = [list(ids.tolist()) for ids in torch.arange(work.copies).split(len(q))]
        ones = [1] * len(q)
        scale = work.head_dim**-0.5

        def way(i: int) -> Tensor:
            ids = batches[i % len(batches)]
            return pool.attention(ids, q[:, None], ones, [], scale, 0, no_sinks, 0)

        return {"SlabPool.attention": way}

    return ways


def rms_norm(work: given.RmsNorm) -> Callable[[list[Tensor]], dict[str, Any]]:
    return lambda x: {"rmsnorm": lambda i: pace.rmsnorm(x[i % work.copies], work.weight, 1e-6)}


def rotary(work: given.Rotary) -> Callable[[list[Any]], dict[str, Any]]:
    """Of [batch, tokens, heads, head_dim]."""

    def ways(x: list[Any]) -> dict[str, Any]:
        batches = [[values[None] for values in each] for each in x]
        return {"fused_rope_apply": lambda i: pace.fused_rope_apply(*batches[i % work.copies], 2)}

    return ways


def mlp(work: given.Mlp) -> Callable[[Tensor], dict[str, Any]]:
    weights = [
        [packed(weight) for weight in (work.gate, work.up, work.down)] for _ in range(work.copies)
    ]
    return lambda x: {
        "libxsmm_fused_mlp": lambda i: pace.libxsmm_fused_mlp(
            x[None], *weights[i % work.copies], None, None, None, "silu"
        )
    }
