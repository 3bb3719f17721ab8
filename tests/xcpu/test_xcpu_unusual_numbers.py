"""NaN, infinity and huge numbers are seen in the rows and heads that have them, and nowhere else."""

import pytest
import torch
from helpers import assert_equal
from xcpu_weights import KINDS, packed, xcpu

NAN, INF = float("nan"), float("inf")
CACHES = ["fp32", "bf16", "int8"]


def cache_of(kind, k, v, pages=3):
    """The tokens, in pages 0 and on; everything else in memory is whatever it was."""
    cache = xcpu.make_cache(kind, pages, k.size(1), k.size(2)).fill_(-1)
    xcpu.cache_write(cache, torch.arange(k.size(0)), k, v)
    return cache


def attend(q, cache, length, pages=(0, 1), **options):
    return xcpu.paged_attention(q, cache, torch.tensor([length]), torch.tensor([pages]), **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_a_row_that_is_not_finite_is_seen_and_leaves_the_others_alone(kind, number):
    weight, _ = packed(kind, 40, 64)
    x = torch.randn(5, 64)
    broken = x.clone()
    broken[1, 3] = number
    for call in (xcpu.linear, lambda *given: xcpu.lm_head_topk(*given, 3)[0]):
        expected, found = call(x, weight), call(broken, weight)
        assert not found[1].isfinite().any()
        assert_equal(found[[0, 2, 3, 4]], expected[[0, 2, 3, 4]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_huge_and_tiny_inputs_are_scaled(kind, size):
    weight, matrix = packed(kind, 40, 64)
    x = torch.randn(5, 64)
    found = xcpu.linear(x * size, weight).double() / size
    expected = x.double() @ matrix.T
    assert (found - expected).norm() < 0.02 * expected.norm()


@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("size", [1e38, 1e30, 1e15, 1e-15, 1e-30])
def test_weights_of_every_size_are_quantised_alike(kind, size):
    """The error in steps does not depend on the size, though a square of one may be no float."""
    matrix = torch.rand(5, 64) * 2 - 1
    group = 32 if kind == "int4" else 0
    off = [
        (xcpu.unpack(xcpu.pack(matrix * by, kind, group)).double() / by - matrix).norm()
        for by in (1, size)
    ]
    assert off[1] < 1.05 * off[0]


@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("number", [NAN, INF])
def test_a_weight_that_is_not_finite_is_seen(kind, number):
    matrix = torch.randn(4, 64)
    matrix[1, 3] = number
    back = xcpu.unpack(xcpu.pack(matrix, kind, 32 if kind == "int4" else 0))
    assert not back[1, :32].isfinite().any() and back[[0, 2, 3]].isfinite().all()


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("number", [NAN, INF])
def test_a_query_that_is_not_finite_is_seen_in_its_head(kind, number):
    q, (k, v) = torch.randn(1, 4, 16), torch.randn(2, 20, 2, 16)
    cache = cache_of(kind, k, v)
    expected = attend(q, cache, 20)
    q[0, 1, 2] = number
    found = attend(q, cache, 20)
    assert found[0, 1].isnan().all()
    assert_equal(found[0, [0, 2, 3]], expected[0, [0, 2, 3]])


@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("which", ["key", "value"])
def test_a_token_that_is_not_a_number_is_seen_by_those_that_see_it(kind, which):
    q, (k, v) = torch.randn(1, 4, 16), torch.randn(2, 20, 2, 16)
    expected = [attend(q, cache_of(kind, k, v), length) for length in (7, 20)]
    (k if which == "key" else v)[7, 0] = NAN  # heads 0 and 1 of the queries
    cache = cache_of(kind, k, v)
    assert_equal(attend(q, cache, 7), expected[0])
    found = attend(q, cache, 20)
    assert found[0, :2].isnan().all()
    assert_equal(found[0, 2:], expected[1][0, 2:])


@pytest.mark.parametrize("kind", CACHES)
def test_what_lies_beyond_a_sequence_is_not_read(kind):
    """Pages that others had, and rows of the block table beyond the pages that a sequence has."""
    q, (k, v) = torch.randn(1, 4, 16), torch.randn(2, 20, 2, 16)
    expected = attend(q, cache_of(kind, k, v), 20)
    used = xcpu.make_cache(kind, 3, 2, 16)
    xcpu.cache_write(used, torch.arange(48), *torch.full((2, 48, 2, 16), NAN))
    xcpu.cache_write(used, torch.arange(20), k, v)
    assert_equal(attend(q, used, 20, (0, 1, -7, 10**12)), expected)


@pytest.mark.parametrize("kind", CACHES)
def test_huge_scores_give_the_value_of_the_largest(kind):
    q, (k, v) = torch.randn(1, 4, 16), torch.randn(2, 20, 2, 16)
    cache = cache_of(kind, k, v)
    found = attend(q * 1e10, cache, 20)
    scores = torch.einsum("hd,thd->ht", q[0], k.repeat_interleave(2, 1))
    largest = scores.argmax(1)
    expected = v.repeat_interleave(2, 1)[largest, torch.arange(4)]
    assert (found[0] - expected).norm() < 0.02 * expected.norm()
