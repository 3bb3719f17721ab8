"""zentorch, with weights packed before, as its graph passes pack them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import given
import torch
import zentorch  # noqa: F401 - registers its operators
from torch import Tensor

zen = torch.ops.zentorch


def linear(work: given.Linear) -> Callable[[Tensor], dict[str, Any]]:
    copies = range(work.copies)
    if work.kind == "bf16":
        weights = [zen.zentorch_weight_prepack_for_linear(work.weight) for _ in copies]
        return lambda x: {
            "zentorch_linear_unary": lambda i: zen.zentorch_linear_unary(
                x, weights[i % work.copies], is_weight_prepacked=True
            )
        }
    integers, scales = work.integers()
    if work.kind == "int8":
        weights = [zen.zentorch_weight_prepack_for_dynamic_qlinear(integers) for _ in copies]
        return lambda x: {
            "zentorch_dynamic_qlinear": lambda i: zen.zentorch_dynamic_qlinear(
                x, weights[i % work.copies], scales, is_weight_prepacked=True
            )
        }
    weights = [zen.zentorch_woq_repack_weight(integers) for _ in copies]
    scales = scales.T.contiguous()
    halves = scales.bfloat16()
    return lambda x: {
        "zentorch_dynamic_qlinear": lambda i: zen.zentorch_dynamic_qlinear(
            x, weights[i % work.copies], scales
        ),
        "zentorch_woq_linear": lambda i: zen.zentorch_woq_linear(
            x, weights[i % work.copies].T, halves, None
        ),
    }


def rms_norm(work: given.RmsNorm) -> Callable[[list[Tensor]], dict[str, Any]]:
    return lambda x: {
        "zentorch_rms_norm": lambda i: zen.zentorch_rms_norm(x[i % work.copies], work.weight, 1e-6)
    }


def mlp(work: given.Mlp) -> Callable[[Tensor], dict[str, Any]]:
    pairs = [torch.cat([work.gate, work.up]) for _ in range(work.copies)]
    downs = [work.down.clone() for _ in range(work.copies)]

    def ways(x: Tensor) -> dict[str, Any]:
        def way(i: int) -> Tensor:
            result = torch.empty_like(x)
            zen.zentorch_fused_ffn_concat.out(
                result, x, pairs[i % work.copies], downs[i % work.copies]
            )
            return result

        return {"zentorch_fused_ffn_concat": way}

    return ways
