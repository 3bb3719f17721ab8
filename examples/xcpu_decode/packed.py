"""The same decoder on torch.ops.xcpu: packed weights, a paged cache, all sequences' tokens one after the other."""

import torch
from torch import Tensor, nn

from . import plain
from .pages import Step


class Layer(nn.Module):
    def __init__(self, layer: plain.Layer, heads: int, kind: str, group: int):
        super().__init__()
        xcpu, attention = torch.ops.xcpu, layer.attention
        self.heads = heads
        for name, norm in (("norm1", layer.before_attention), ("norm2", layer.before_mlp)):
            self.register_buffer(name, norm.weight.detach().float())
        for name, linear in (("qkv", attention.qkv), ("out", attention.out), ("down", layer.down)):
            self.register_buffer(name, xcpu.pack(linear.weight.detach(), kind, group))
        gate, up = layer.gate.weight.detach(), layer.up.weight.detach()
        self.register_buffer("gate_up", xcpu.pack_pair(gate, up, kind, group))

    def forward(
        self, x: Tensor, residual: Tensor, cos: Tensor, sin: Tensor, cache: Tensor, step: Step
    ) -> tuple[Tensor, Tensor]:
        xcpu = torch.ops.xcpu
        y, residual = xcpu.add_rms_norm(x, residual, self.norm1)
        q = xcpu.qkv(y, self.qkv, None, cos, sin, step.positions, cache, step.slots, self.heads)
        y = xcpu.paged_attention(q, cache, step.lengths, step.block_table, step.starts)
        x = xcpu.linear(y.flatten(1), self.out)
        y, residual = xcpu.add_rms_norm(x, residual, self.norm2)
        return xcpu.mlp(y, self.gate_up, self.down), residual


class Decoder(nn.Module):
    """`kind` is that of the weights, `group` int4's; it tells the `top` largest logits."""

    def __init__(self, model: plain.Decoder, kind: str, group: int = 0, top: int = 1):
        super().__init__()
        self.top = top
        heads = model.shape.heads
        self.kv_heads, self.head_dim = model.shape.kv_heads, model.shape.head_dim
        self.layers = nn.ModuleList(Layer(layer, heads, kind, group) for layer in model.layers)
        self.register_buffer("embedding", model.embedding.weight.detach().float())
        self.register_buffer("norm", model.norm.weight.detach().float())
        self.register_buffer("head", torch.ops.xcpu.pack(model.head.weight.detach(), kind, group))
        cos, sin = plain.rotary_table(model.shape)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    @torch.jit.export
    def make_caches(self, kind: str, pages: int) -> list[Tensor]:
        """One for each layer; the pages of a sequence are the same in all of them."""
        make = torch.ops.xcpu.make_cache
        return [make(kind, pages, self.kv_heads, self.head_dim) for _ in self.layers]

    def forward(
        self,
        caches: list[Tensor],
        tokens: Tensor,
        positions: Tensor,
        slots: Tensor,
        starts: Tensor,
        lengths: Tensor,
        block_table: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The largest logits after the last token of each sequence, and which tokens these are.

        Each layer has one of `caches`; the rest is a pages.Step.
        """
        step = Step(tokens, positions, slots, starts, lengths, block_table)
        residual = torch.nn.functional.embedding(tokens, self.embedding)
        x = torch.zeros_like(residual)
        for i, layer in enumerate(self.layers):
            x, residual = layer(x, residual, self.cos, self.sin, caches[i], step)
        y, _ = torch.ops.xcpu.add_rms_norm(x, residual, self.norm)
        return torch.ops.xcpu.lm_head_topk(y, self.head, self.top, rows=starts[1:] - 1)
