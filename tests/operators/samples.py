"""The inputs of an operator, drawn on the CPU, the same in every process."""

import random
import zlib
from itertools import islice

import numpy
import torch
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from .exceptions import FACTORIES


def seed_of(operator: str, dtype: str) -> int:
    """One seed per operator and dtype, so that a case alone draws what the whole sweep draws."""
    return zlib.crc32(f"{operator} {dtype}".encode()) & 0x3FFFFFFF


def draw(
    op: OpInfo, dtype: torch.dtype, seed: int, limit: int | None, requires_grad: bool
) -> list[SampleInput]:
    """The first limit samples (all for None). Drawn at once: the checks between would reseed."""
    _seed(seed)
    # Not op.sample_inputs: it sets a seed of its own, and looks for a test through the stack.
    samples = list(islice(op.sample_inputs_func(op, "cpu", dtype, requires_grad), limit))
    if op.full_name in FACTORIES:
        for sample in samples:
            sample.kwargs.setdefault("device", "cpu")
    return samples


def draw_errors(op: OpInfo, seed: int) -> list[SampleInput]:
    """The inputs that the operator must refuse."""
    _seed(seed)
    return [error.sample_input for error in op.error_inputs_func(op, "cpu")]


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)
