"""Queries, keys and values at once, the last linear and embedding bags are what their parts are."""

import pytest
import torch
from helpers import assert_same
from torch.nn import functional
from xcpu_weights import KINDS, packed, xcpu


def table(positions, elements):
    angles = torch.outer(
        torch.arange(positions).float(), 100 ** (-torch.arange(elements) / elements)
    )
    return angles.cos(), angles.sin()


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("cache_kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_keys_and_values_are_linear_rotary_and_write(kind, cache_kind, interleaved):
    q_heads, kv_heads, head_dim = 4, 2, 16
    weight, _ = packed(kind, (q_heads + 2 * kv_heads) * head_dim, 96)
    x, bias = torch.randn(5, 96), torch.randn(8 * head_dim)
    cos, sin = table(30, 6)
    positions, slots = torch.tensor([0, 29, 3, 4, 7]), torch.tensor([40, 2, 3, 16, 47])
    caches = [xcpu.make_cache(cache_kind, 3, kv_heads, head_dim) for _ in range(2)]
    found = xcpu.qkv(
        x, weight, bias, cos, sin, positions, caches[0], slots, q_heads, interleaved=interleaved
    )
    parts = xcpu.linear(x, weight, bias).unflatten(1, (-1, head_dim))
    q, k, v = parts.split([q_heads, kv_heads, kv_heads], 1)
    q, k = xcpu.rotary(q, k, cos, sin, positions, interleaved=interleaved)
    xcpu.cache_write(caches[1], slots, k, v)
    assert_same(found, q)
    one, other = (xcpu.cache_read(cache, slots, head_dim) for cache in caches)
    assert_same(one, other, rtol=0.01, atol=0.05 if cache_kind == "int8" else 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(5, 5), (300, 1), (300, 20)])
def test_the_largest_outputs_of_a_linear_are_found(kind, n, k):
    weight, _ = packed(kind, n, 64)
    x, bias = torch.randn(3, 4, 64), torch.randn(n)
    values, indices = xcpu.lm_head_topk(x, weight, k, bias)
    outputs = xcpu.linear(x, weight, bias)
    assert values.dtype == torch.float32 and indices.dtype == torch.int64
    assert_same(values, outputs.topk(k).values)
    assert_same(outputs.gather(-1, indices), values)
    rows = torch.tensor([11, 0, 7])
    some = xcpu.lm_head_topk(x, weight, k, rows=rows, bias=bias)
    assert_same(some, tuple(t.flatten(0, 1)[rows] for t in (values, indices)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("padding", [-1, 3])
def test_bags_are_those_of_pytorch(dtype, mean, padding):
    rows, indices = torch.randn(20, 24).to(dtype), torch.randint(20, (30,))
    indices[::4] = 3
    starts = torch.tensor([0, 7, 7, 30])
    weights = None if mean else torch.randn(30)
    found = xcpu.embedding_bag(rows, indices, starts, weights, mean=mean, padding=padding)
    expected = functional.embedding_bag(
        indices,
        rows.double(),
        starts,
        mode="mean" if mean else "sum",
        per_sample_weights=None if mean else weights.double(),
        include_last_offset=True,
        padding_idx=None if padding < 0 else padding,
    )
    assert_same(found, expected.to(dtype))


WEIGHT = xcpu.pack(torch.randn(64, 32), "int8")
X, AT = torch.randn(2, 32), torch.tensor([0, 1])
COS, SIN = table(4, 4)
CACHE = xcpu.make_cache("bf16", 1, 2, 8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: xcpu.qkv(X, WEIGHT, None, COS, SIN, AT, CACHE, AT, 5), "weight has 64 outputs"),
        (lambda: xcpu.qkv(X, WEIGHT, None, COS, SIN, AT[:1], CACHE, AT, 4), "positions has the"),
        (lambda: xcpu.qkv(X, WEIGHT, None, COS, SIN, AT + 3, CACHE, AT, 4), "position.* 4"),
        (lambda: xcpu.qkv(X, WEIGHT, None, COS, SIN, AT, CACHE, AT[:1], 4), "slots is int64"),
        (lambda: xcpu.qkv(X, WEIGHT, None, COS, SIN, AT, CACHE, AT + 15, 4), "slot.* 16"),
        (lambda: xcpu.qkv(X, WEIGHT, None, X, X, AT, CACHE, AT, 4), "cos has the sizes"),
        (lambda: xcpu.qkv(X, WEIGHT, None, COS, SIN, AT, X, AT, 4), "cache"),
        (lambda: xcpu.lm_head_topk(X, WEIGHT, 65), "k is 65; it is 1 to 64"),
        (lambda: xcpu.lm_head_topk(X, WEIGHT, 0), "k is 0; it is 1 to 64"),
        (lambda: xcpu.lm_head_topk(X, WEIGHT, 1, rows=AT + 1), "rows has 2, and x has 2 rows"),
        (lambda: xcpu.lm_head_topk(X, WEIGHT, 1, rows=AT - 1), "rows has -1, and x has 2 rows"),
        (lambda: xcpu.lm_head_topk(X[:0], WEIGHT, 1, rows=AT), "rows has 0, and x has 0 rows"),
        (lambda: xcpu.lm_head_topk(X[:, :3], WEIGHT, 1), "x is float32.*weight takes 32"),
        (lambda: xcpu.embedding_bag(X, AT + 1, AT * 2), "indices.* 2"),
        (lambda: xcpu.embedding_bag(X, AT, AT), "starts begins with 0 and ends with 1"),
        (lambda: xcpu.embedding_bag(X[0], AT, AT * 2), "'table' has 1 dimensions"),
        (lambda: xcpu.embedding_bag(X, AT, AT * 2, torch.ones(3)), "weights has the sizes"),
        (lambda: xcpu.embedding_bag(X, AT, AT * 2, torch.ones(2), mean=True), "weights are given"),
    ],
)
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(RuntimeError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
