"""PyTorch's own operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import given
import torch
from torch import Tensor
from torch.nn import functional as F

aten = torch.ops.aten


def linear(work: given.Linear) -> Callable[[Tensor], dict[str, Any]]:
    if work.kind == "bf16":
        weights = [work.weight.clone() for _ in range(work.copies)]
        return lambda x: {"linear": lambda i: F.linear(x, weights[i % work.copies])}
    integers, scales = work.integers()
    if work.kind == "int8":
        weights = [integers.clone() for _ in range(work.copies)]
        scales = scales.flatten().bfloat16()
        return lambda x: {
            "_weight_int8pack_mm": lambda i: aten._weight_int8pack_mm(
                x, weights[i % work.copies], scales
            )
        }
    # From 0 to 15, of which 8 stands for zero.
    weights = [
        aten._convert_weight_to_int4pack_for_cpu(integers.to(torch.int32) + 8, 2)
        for _ in range(work.copies)
    ]
    pairs = torch.stack([scales, torch.zeros_like(scales)], dim=-1)
    pairs = pairs.transpose(0, 1).contiguous().bfloat16()
    return lambda x: {
        "_weight_int4pack_mm_for_cpu": lambda i: aten._weight_int4pack_mm_for_cpu(
            x, weights[i % work.copies], work.group, pairs
        )
    }


def decode(work: given.Decode) -> Callable[[Tensor], dict[str, Any]] | None:
    if work.kind != "bf16":
        return None
    k, v = (
        [x.transpose(0, 1)[None].contiguous() for _ in range(work.copies)] for x in (work.k, work.v)
    )

    def ways(q: Tensor) -> dict[str, Any]:
        """One sequence after the other: a batch would be a copy of the caches."""

        def way(i: int) -> Tensor:
            return torch.cat(
                [
                    F.scaled_dot_product_attention(
                        q[None, row, :, None],
                        k[(i * len(q) + row) % work.copies],
                        v[(i * len(q) + row) % work.copies],
                        enable_gqa=True,
                    )
                    for row in range(len(q))
                ]
            )

        return {"scaled_dot_product_attention": way}

    return ways


def rms_norm(work: given.RmsNorm) -> Callable[[list[Tensor]], dict[str, Any]]:
    shape = (work.columns,)
    return lambda x: {
        "rms_norm": lambda i: F.rms_norm(x[i % work.copies], shape, work.weight, 1e-6)
    }


def mlp(work: given.Mlp) -> Callable[[Tensor], dict[str, Any]]:
    weights = [
        [weight.clone() for weight in (work.gate, work.up, work.down)] for _ in range(work.copies)
    ]

    def ways(x: Tensor) -> dict[str, Any]:
        def way(i: int) -> Tensor:
            gate, up, down = weights[i % work.copies]
            return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)

        return {"linear, silu, mul": way}

    return ways
