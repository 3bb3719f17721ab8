"""A call of every operator, for tests of what holds of all of them, and for the table in docs/xcpu.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

xcpu = torch.ops.xcpu


@dataclass
class Weight:
    """An argument that is a packed weight, of any kind."""

    n: int
    k: int
    is_pair: bool = False

    def packed(self, kind: str) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.n)
        group = 32 if kind == "int4" else 0
        first, second = torch.randn(2, self.n, self.k, generator=generator)
        if self.is_pair:
            return xcpu.pack_pair(first, second, kind, group)
        return xcpu.pack(first, kind, group)


@dataclass
class Sample:
    """A call by the names of its arguments."""

    name: str
    arguments: dict[str, Any]
    differentiable: tuple[str, ...] = ()
    """The arguments that have gradients."""
    kind: str = "int8"
    """That of the packed weights."""
    results: int = 1
    overload: str = "default"

    @property
    def operator(self):
        return getattr(getattr(xcpu, self.name), self.overload)

    def values(self) -> dict[str, Any]:
        """The arguments of one call; tensors are new ones."""
        return {name: self.value(argument) for name, argument in self.arguments.items()}

    def value(self, argument):
        if isinstance(argument, Weight):
            return argument.packed(self.kind)
        if isinstance(argument, torch.Tensor):
            return argument.clone()
        return argument

    def __call__(self):
        return self.operator(**self.values())

    def has_weight(self):
        return any(isinstance(value, Weight) for value in self.arguments.values())

    def __str__(self):
        words = [value for value in self.arguments.values() if isinstance(value, str)]
        words += [name for name, value in self.arguments.items() if value is True]
        return "-".join([self.name, *([self.kind] if self.has_weight() else []), *words])


def randn(*sizes):
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randn(sizes, generator=generator)


def linear_samples():
    x = randn(2, 3, 64)
    everything = {
        "x": x,
        "weight": Weight(40, 64),
        "bias": randn(40),
        "mul": randn(2, 3, 40),
        "residual": randn(2, 3, 40) + 1,
    }
    differentiable = ("x", "bias", "mul", "residual")
    for kind in ("fp32", "bf16", "int8", "int4"):
        yield Sample("linear", {"x": x, "weight": Weight(40, 64)}, ("x",), kind)
    for activation in ("none", "relu", "gelu", "gelu_tanh", "silu"):
        arguments = {**everything, "activation": activation}
        yield Sample("linear", arguments, differentiable, "fp32")
    yield Sample("linear", {**everything, "precision": "bf16"}, differentiable, "int4")
    yield Sample(
        "linear_grad",
        {
            "grad": randn(2, 3, 40),
            "x": x,
            "weight": Weight(40, 64),
            "bias": randn(40),
            "mul": randn(2, 3, 40),
            "activation": "silu",
            "precision": "int8",
        },
    )
    yield Sample(
        "gate_up",
        {
            "x": x,
            "weight": Weight(40, 64, is_pair=True),
            "bias": randn(80),
            "residual": randn(2, 3, 40),
        },
    )
    for is_pair in (False, True):
        yield Sample(
            "mlp",
            {
                "x": x,
                "up": Weight(96, 64, is_pair),
                "down": Weight(40, 96),
                "up_bias": randn(192 if is_pair else 96),
                "down_bias": randn(40),
                "residual": randn(2, 3, 40),
            },
        )


def packing_samples():
    for kind, group in (("fp32", 0), ("bf16", 0), ("int8", 0), ("int4", 32)):
        options = {"kind": kind, "group": group}
        yield Sample("pack", {"weight": randn(5, 64), **options})
        yield Sample("pack_pair", {"gate": randn(5, 64), "up": randn(5, 64), **options})
        yield Sample("unpack", {"packed": Weight(5, 64)}, kind=kind)
        yield Sample("unpack", {"packed": Weight(5, 64, is_pair=True)}, kind=kind)


def norm_samples():
    x, residual, weight, bias = randn(2, 3, 72), randn(2, 3, 72) * 2, randn(72), randn(72) * 3
    for plus_one in (False, True):
        scaled = {"weight": weight, "eps": 1e-6, "plus_one": plus_one}
        yield Sample("rms_norm", {"x": x, **scaled}, ("x", "weight"))
        given = ("x", "residual", "weight")
        yield Sample("add_rms_norm", {"x": x, "residual": residual, **scaled}, given, results=2)
        given = {"grad": residual, "x": x, **scaled, "wanted": [True, True]}
        yield Sample("rms_norm_backward", given, results=2)
        sums = {"grad": residual, "grad_sum": bias + x, "sum": x}
        given = {**sums, **scaled, "wanted": [True, True, True]}
        yield Sample("add_rms_norm_backward", given, results=3)
    scaled = {"weight": weight, "bias": bias, "eps": 1e-5}
    yield Sample("layer_norm", {"x": x, **scaled}, ("x", "weight", "bias"))
    given = ("x", "residual", "weight", "bias")
    yield Sample("add_layer_norm", {"x": x, "residual": residual, **scaled}, given, results=2)
    given = {"grad": residual, "x": x, **scaled, "wanted": [True, True, True]}
    yield Sample("layer_norm_backward", given, results=3)
    sums = {"grad": residual, "grad_sum": bias + x, "sum": x}
    given = {**sums, **scaled, "wanted": [True, True, True, True]}
    yield Sample("add_layer_norm_backward", given, results=4)
    yield Sample("rms_norm", {"x": x}, ("x",))
    yield Sample("layer_norm", {"x": x}, ("x",))


def rotary_samples():
    angles = torch.outer(torch.arange(16.0), 10000 ** (-torch.arange(8) / 8))
    table = {"cos": angles.cos(), "sin": angles.sin()}
    q, k = randn(2, 5, 4, 16), randn(2, 5, 2, 16)
    for name in ("rotary", "rotary_inverse"):
        yield Sample(name, {"q": q, "k": k, **table}, ("q", "k"), results=2)
        places = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
        options = {"positions": places, "interleaved": True}
        yield Sample(name, {"q": q, "k": k, **table, **options}, ("q", "k"), results=2)


def attention_samples():
    q, k, v = randn(9, 4, 16), randn(9, 2, 16), randn(9, 2, 16) + 1
    slots = torch.tensor([0, 1, 2, 16, 17, 18, 19, 33, -1])
    for kind in ("fp32", "bf16", "int8"):
        sizes = {"pages": 3, "kv_heads": 2, "head_dim": 16}
        yield Sample("make_cache", {"kind": kind, **sizes})
        cache = xcpu.make_cache(kind, **sizes)
        yield Sample("cache_write", {"cache": cache, "slots": slots, "k": k, "v": v}, results=0)
        cache = cache.clone()
        xcpu.cache_write(cache, slots, k, v)
        read = {"cache": cache, "slots": slots, "head_dim": 16}
        yield Sample("cache_read", read, results=2)
        paged = {
            "cache": cache,
            "lengths": torch.tensor([3, 4]),
            "block_table": torch.tensor([[0, 2], [1, 0]]),
        }
        yield Sample("paged_attention", {"q": q[:2], **paged})
        starts = {"q_starts": torch.tensor([0, 2, 3]), "window": 2, "softcap": 20.0}
        numbers = {"alibi": randn(4).abs(), "sinks": randn(4)}
        yield Sample("paged_attention", {"q": q[:3], **paged, **starts, **numbers})
    batch = {"q": randn(2, 5, 4, 16), "k": randn(2, 5, 2, 16), "v": randn(2, 5, 2, 16)}
    yield Sample("attention", batch, ("q", "k", "v"))
    starts, numbers = torch.tensor([0, 4, 9]), {"alibi": randn(4).abs(), "sinks": randn(4)}
    options = {"causal": False, "scale": 0.3, "softcap": 20.0, "window": 3, **numbers}
    given = {"q": q, "k": k, "v": v, "q_starts": starts, "k_starts": starts}
    yield Sample("attention", {**given, **options}, ("q", "k", "v", "sinks"))
    given = {"grad": q + 1, **given, "wanted": [True, True, True, True]}
    yield Sample("attention_backward", {**given, **options}, results=4)


def decoding_samples():
    x, angles = randn(2, 3, 64), torch.outer(torch.arange(9.0), torch.tensor([1.0, 0.1, 0.01]))
    caches = {"fp32": "fp32", "bf16": "bf16", "int8": "int8", "int4": "int8"}
    for kind, cache_kind in caches.items():
        arguments = {
            "x": x,
            "weight": Weight(64, 64),
            "bias": randn(64),
            "cos": angles.cos(),
            "sin": angles.sin(),
            "positions": torch.tensor([[0, 1, 2], [6, 7, 8]]),
            "cache": xcpu.make_cache(cache_kind, 2, 2, 8),
            "slots": torch.tensor([0, 1, 2, 16, -1, 18]),
            "q_heads": 4,
        }
        yield Sample("qkv", arguments, kind=kind)
        top = {"x": x, "weight": Weight(40, 64), "k": 3, "bias": randn(40)}
        yield Sample("lm_head_topk", top, kind=kind, results=2)
        rows = {"rows": torch.tensor([2, 5])}
        yield Sample("lm_head_topk", {**top, **rows}, kind=kind, results=2, overload="rows")
    bags = {
        "table": randn(20, 24),
        "indices": torch.tensor([0, 19, 3, 3, 7]),
        "starts": torch.tensor([0, 2, 2, 5]),
    }
    yield Sample("embedding_bag", {**bags, "weights": randn(5)})
    yield Sample("embedding_bag", {**bags, "mean": True, "padding": 3})


SAMPLES = [
    *packing_samples(),
    *linear_samples(),
    *norm_samples(),
    *rotary_samples(),
    *attention_samples(),
    *decoding_samples(),
]


def operators() -> list[str]:
    """The names of all operators there are, "linear.default"."""
    names = torch._C._dispatch_get_all_op_names()
    own = (name.removeprefix("xcpu::") for name in names if name.startswith("xcpu::"))
    return sorted(name if "." in name else f"{name}.default" for name in own)
