"""What the tests share: packed weights of every kind, and what calls with them are to give, in float64."""

import torch
from torch.nn import functional

KINDS = ["fp32", "bf16", "int8", "int4"]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
ACTIVATIONS = {
    "none": lambda x: x,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}

xcpu = torch.ops.xcpu


def near_bf16(*sizes):
    """Random numbers that bfloat16 holds, so that rounding to it changes nothing."""
    return torch.randn(sizes).bfloat16().float()


def packed(kind, n, k, group=0):
    """A packed weight, and the matrix that it stands for."""
    weight = xcpu.pack(torch.randn(n, k), kind, group or (32 if kind == "int4" else 0))
    return weight, xcpu.unpack(weight).double()


def packed_pair(kind, n, k, group=0):
    group = group or (32 if kind == "int4" else 0)
    weight = xcpu.pack_pair(torch.randn(n, k), torch.randn(n, k), kind, group)
    return weight, *xcpu.unpack(weight).double()


def linear(x, matrix, bias=None, activation="none", mul=None, residual=None):
    """xcpu.linear in float64 with the matrix that a packed weight stands for."""
    y = functional.linear(x.double(), matrix, None if bias is None else bias.double())
    y = ACTIVATIONS[activation](y)
    if mul is not None:
        y = y * mul.double()
    return y if residual is None else y + residual.double()


def rounding(x, matrix, kind, precision="int8"):
    """How far a sum may be off: by sums of float32, and, of int8 products, by the rounding of `x` to int8."""
    x, matrix = x.double().abs(), matrix.abs()
    slack = 1e-5 * (x @ matrix.T)
    if kind == "int8" or (kind == "int4" and precision == "int8"):
        # Half a step of the row's scale for each input; its largest is 127 steps.
        slack = slack + 0.51 / 127 * x.amax(-1, keepdim=True) * matrix.sum(1)
    return slack + 1e-6


def assert_within(actual, expected, slack):
    """Every element is nearer than its slack, and than what rounding to its dtype takes."""
    slack = slack + expected.abs() * torch.finfo(actual.dtype).eps
    off = (actual.double() - expected).abs()
    worst = (off / slack).max().item() if off.numel() else 0
    assert worst <= 1, f"off by {worst} times what is allowed, {off.max().item()} at most"
