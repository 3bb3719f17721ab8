"""Rotary embedding is that of float64, for both ways to pair elements, parts of a head and any positions."""

import pytest
import torch
from helpers import assert_equal, assert_same
from xcpu_weights import DTYPES, assert_within, xcpu


def table(positions, elements):
    angles = torch.outer(
        torch.arange(positions).double(), 10000 ** (-torch.arange(elements) / elements)
    )
    return angles.cos().float(), angles.sin().float()


def turned(x, cos, sin, positions, interleaved):
    """In float64."""
    x = x.double()
    places = torch.arange(x.size(-3)) if positions is None else positions
    cos, sin = (t.double()[places].unsqueeze(-2) for t in (cos, sin))
    part, rest = x[..., : 2 * cos.size(-1)], x[..., 2 * cos.size(-1) :]
    a, b = (part[..., ::2], part[..., 1::2]) if interleaved else part.chunk(2, -1)
    a, b = a * cos - b * sin, b * cos + a * sin
    part = torch.stack([a, b], -1).flatten(-2) if interleaved else torch.cat([a, b], -1)
    return torch.cat([part, rest], -1)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rotary_dim", [16, 6, 64])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leading", [(5,), (2, 5), (1, 1)])
def test_queries_and_keys_turn_by_their_positions(interleaved, rotary_dim, dtype, leading):
    q, k = torch.randn(*leading, 4, 64).to(dtype), torch.randn(*leading, 2, 64).to(dtype)
    cos, sin = table(20, rotary_dim // 2)
    for positions in (None, torch.randint(20, leading)):
        found = xcpu.rotary(q, k, cos, sin, positions, interleaved=interleaved)
        for one, given in zip(found, (q, k), strict=True):
            assert one.dtype == dtype
            expected = turned(given, cos, sin, positions, interleaved)
            assert_within(one, expected, 1e-5)
        back = xcpu.rotary_inverse(*found, cos, sin, positions, interleaved=interleaved)
        assert_same(back, (q, k), rtol=0.02, atol=0.02)


def test_heads_and_tokens_may_lie_in_any_order():
    cos, sin = table(8, 8)
    base = torch.randn(2, 4, 6, 48)  # batch, heads, tokens
    q, k = base[..., :16].transpose(1, 2), base[:, :2, :, 16:32].transpose(1, 2)
    for one in (slice(None), slice(1, 2)):
        expected = xcpu.rotary(q[one].contiguous(), k[one].contiguous(), cos, sin)
        assert_equal(xcpu.rotary(q[one], k[one], cos, sin), expected)
    qkv = torch.randn(6, (4 + 2 + 2) * 16)
    q, k, _ = (part.unflatten(-1, (-1, 16)) for part in qkv.split([64, 32, 32], -1))
    assert_equal(xcpu.rotary(q, k, cos, sin), xcpu.rotary(q.contiguous(), k.contiguous(), cos, sin))


def test_the_gradients_are_those_of_float64():
    cos, sin = table(8, 8)
    q, k = torch.randn(2, 5, 4, 16), torch.randn(2, 5, 2, 16)
    mine = [t.clone().requires_grad_() for t in (q, k)]
    theirs = [t.double().requires_grad_() for t in (q, k)]
    found = xcpu.rotary(*mine, cos, sin)
    grads = [torch.randn_like(t) for t in found]
    torch.autograd.backward(found, grads)
    expected = [turned(t, cos, sin, None, False) for t in theirs]
    torch.autograd.backward(expected, [grad.double() for grad in grads])
    assert_same([t.grad.double() for t in mine], [t.grad for t in theirs])


def test_nothing_turns_into_nothing():
    cos, sin = table(8, 8)
    for sizes in ((0, 4, 16), (2, 0, 4, 16)):
        q, k = torch.randn(sizes), torch.randn(sizes)
        assert [t.shape for t in xcpu.rotary(q, k, cos, sin)] == [q.shape, k.shape]
