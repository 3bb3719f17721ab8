"""torch.compile as programs from outside use it: masks, conversions, overlapping and captured inputs, odd options."""

import pytest
import torch
from compiling import compiled, same_as_eager
from helpers import assert_same
from torch.nn import functional as F

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")


@pytest.fixture(autouse=True)
def compiling(compiling_afresh):
    pass


def masked(x, mask):
    return (x * 2).masked_fill(mask, -1.0).exp()


def test_a_mask_is_heeded_in_an_engine(device):
    x = torch.randn(4, 6, device=device)
    same_as_eager(masked, x, x > 0, calls=2)


@pytest.mark.parametrize("options", [{"min_nodes": 9}, {"check": True}], ids=str)
def test_a_mask_stays_boolean_where_nodes_run_one_by_one(device, options):
    x = torch.randn(4, 6, device=device)
    assert_same(compiled(masked, options=options)(x, x > 0), masked(x, x > 0))


@pytest.mark.parametrize("options", [{}, {"capture": True}], ids=str)
def test_dropout_gives_gradients_to_what_it_kept(device, options):
    fn = compiled(lambda x: F.dropout(x.exp().log(), 0.3, True), options=options)
    for _ in range(4):
        x = torch.ones(50, device=device, requires_grad=True)
        y = fn(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        assert_same(gradient, y.detach(), rtol=1e-5, atol=1e-5)


def test_a_number_that_is_a_size_is_that_of_the_call(device):
    fn = compiled(lambda x: (x * x.shape[0]).view(x.shape[0], 2, -1) + x.numel(), dynamic=True)
    for rows in (2, 3, 7):
        x = torch.randn(rows, 6, device=device)
        assert_same(fn(x), (x * rows).view(rows, 2, 3) + 6 * rows, rtol=1e-5, atol=1e-5)


def test_captured_calls_write_the_cache_they_are_given(device):
    def step(cache, x, place):
        cache.index_copy_(0, place, x)
        return cache.sum(0)

    fn = compiled(step, options={"capture": True})
    with torch.no_grad():
        for caches in range(2):
            cache, expected = torch.full((2, 5, 3), float(caches), device=device)
            for i in range(5):
                x, place = torch.randn(1, 3, device=device), torch.tensor([i], device=device)
                assert_same(fn(cache, x, place), step(expected, x, place), rtol=1e-5, atol=1e-5)
                assert_same(cache, expected)


@pytest.mark.parametrize("option", ["min_nodes", "engines"])
def test_an_enormous_number_is_refused_in_one_sentence(device, option):
    fn = compiled(torch.relu, options={option: 10**30})
    with pytest.raises(Exception, match=f"Option '{option}' is 10+"):
        fn(torch.ones(3, device=device))
