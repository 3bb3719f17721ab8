"""Operators that PyTorch composes of others by looking for a kernel of the device's in tables of its own."""

import pytest
import torch
from helpers import assert_same

# float32's and float16's range ends before 2**n does: x * 2**n would be infinite.
EXPONENTS = [
    (torch.tensor([1e-30, -3e-38, 0.0, 5.0]), torch.tensor([150, 200, 7, -160])),
    (torch.tensor([1e-3, 6e-8], dtype=torch.half), torch.tensor([20, 24])),
    (torch.tensor([[1.5], [3.0]]), torch.tensor([2, -3, 0], dtype=torch.int32)),
    (torch.tensor([1.5, 3.0]), torch.tensor([2.0, 0.5])),
    (torch.tensor([1, 3]), torch.tensor([2, 1])),
]


@pytest.mark.parametrize(
    ("x", "n"), EXPONENTS, ids=["float32", "float16", "shapes", "floats", "ints"]
)
def test_ldexp_is_the_cpus(device, x, n):
    expected = torch.ldexp(x, n)
    for _ in range(2):
        assert_same(torch.ldexp(x.to(device), n.to(device)), expected)
        out = torch.empty(0, dtype=expected.dtype, device=device)
        assert_same(torch.ldexp(x.to(device), n.to(device), out=out), expected)
        if x.shape == expected.shape and x.dtype == expected.dtype:
            assert_same(x.to(device).ldexp_(n.to(device)), expected)


def test_ldexp_has_its_gradient(device):
    x, n = torch.tensor([1e-30, 2.0]), torch.tensor([100, 3])
    here, there = x.clone().requires_grad_(), x.to(device).requires_grad_()
    torch.ldexp(here, n).sum().backward()
    torch.ldexp(there, n.to(device)).sum().backward()
    assert_same(there.grad, here.grad)


def test_grid_sampler_that_falls_back_on_the_cpu(device):
    x, grid = torch.randn(1, 2, 4, 5), torch.rand(1, 3, 3, 2) * 2 - 1
    expected = torch.ops.aten._grid_sampler_2d_cpu_fallback(x, grid, 0, 0, True)
    for _ in range(2):
        result = torch.ops.aten._grid_sampler_2d_cpu_fallback(
            x.to(device), grid.to(device), 0, 0, True
        )
        assert_same(result, expected)


def test_batch_norm_without_an_update(device):
    args = torch.randn(2, 3, 4), torch.rand(3), torch.rand(3), torch.rand(3), torch.rand(3)
    expected = torch.ops.aten._batch_norm_no_update(*args, 0.1, 1e-5)
    for _ in range(2):
        result = torch.ops.aten._batch_norm_no_update(*(a.to(device) for a in args), 0.1, 1e-5)
        assert_same(result[0], expected[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("periodic", [True, False])
def test_kaiser_windows(device, periodic):
    for length in (0, 1, 2, 9):
        for dtype in (torch.float32, torch.float64):
            made = torch.kaiser_window(length, periodic, 4.5, dtype=dtype, device=device)
            assert made.device == device
            assert_same(made, torch.kaiser_window(length, periodic, 4.5, dtype=dtype))
