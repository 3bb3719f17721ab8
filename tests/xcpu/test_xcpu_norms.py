"""Norms are within rounding of float64, and so are their gradients."""

import pytest
import torch
from helpers import assert_equal, assert_same
from torch.nn import functional
from xcpu_weights import DTYPES, assert_within, xcpu


def rms(x, weight, eps, plus_one=False):
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return x if weight is None else x * (weight + 1 if plus_one else weight)


def layer(x, weight, bias, eps):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def reference(name, given, eps=1e-5):
    """What a norm gives in float64, of arguments by name that may be absent."""
    x, residual = given["x"], given.get("residual")
    total = x if residual is None else x + residual
    if name == "layer":
        normed = layer(total, given.get("weight"), given.get("bias"), eps)
    else:
        normed = rms(total, given.get("weight"), eps, name == "rms_plus_one")
    return (normed,) if residual is None else (normed, total)


def call(name, given, eps=1e-5):
    adds = "add_" if "residual" in given else ""
    if name == "layer":
        results = getattr(xcpu, f"{adds}layer_norm")(**given, eps=eps)
    else:
        plus_one = name == "rms_plus_one"
        results = getattr(xcpu, f"{adds}rms_norm")(**given, eps=eps, plus_one=plus_one)
    return results if adds else (results,)


NAMES = ["rms", "rms_plus_one", "layer"]
GIVEN = [("x",), ("x", "weight"), ("x", "residual"), ("x", "residual", "weight", "bias")]


def arguments(name, names, shape, dtype=torch.float32):
    sizes = {"weight": shape[-1:], "bias": shape[-1:]}
    wanted = [one for one in names if one != "bias" or name == "layer"]
    return {one: torch.randn(sizes.get(one, shape)).to(dtype) for one in wanted}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("names", GIVEN, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(7,), (3, 64), (2, 5, 300)])
def test_a_norm_is_that_of_float64(name, names, dtype, shape):
    given = arguments(name, names, shape, dtype)
    found = call(name, given)
    if len(found) == 2:  # it is normalised as it was rounded
        assert_within(found[1], given["x"].double() + given["residual"].double(), 1e-6)
        rounded = {one: value for one, value in given.items() if one != "residual"}
        rounded["x"] = found[1]
    else:
        rounded = given
    expected = reference(name, {one: value.double() for one, value in rounded.items()})
    assert_within(found[0], expected[0], 1e-5 * (1 + expected[0].abs()))


@pytest.mark.parametrize("names", GIVEN, ids="-".join)
@pytest.mark.parametrize("name", NAMES)
def test_the_gradients_are_those_of_float64(name, names):
    given = arguments(name, names, (2, 5, 72))
    mine = {one: value.clone().requires_grad_() for one, value in given.items()}
    theirs = {one: value.double().requires_grad_() for one, value in given.items()}
    results = call(name, mine)
    grads = [torch.randn(2, 5, 72) for _ in results]
    torch.autograd.backward(results, grads)
    torch.autograd.backward(reference(name, theirs), [grad.double() for grad in grads])
    assert_same(
        {one: value.grad.double() for one, value in mine.items()},
        {one: value.grad for one, value in theirs.items()},
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_result_that_nobody_uses_has_no_part_in_the_gradients():
    given = {one: torch.randn(3, 8, requires_grad=True) for one in ("x", "residual")}
    sums = xcpu.add_rms_norm(**given)[1]
    sums.sum().backward()
    assert_same([value.grad for value in given.values()], [torch.ones(3, 8)] * 2)


def test_the_residual_keeps_its_dtype():
    x, residual = torch.randn(3, 64).bfloat16(), torch.randn(3, 64)
    normed, total = xcpu.add_rms_norm(x, residual)
    assert (normed.dtype, total.dtype) == (torch.bfloat16, torch.float32)
    assert_equal(total, x.float() + residual)
    grads = [x.clone().requires_grad_(), residual.clone().requires_grad_()]
    sum(y.float().sum() for y in xcpu.add_rms_norm(*grads)).backward()
    assert [g.grad.dtype for g in grads] == [torch.bfloat16, torch.float32]


def test_rows_of_any_strides_are_read():
    wide = torch.randn(4, 6, 100)
    for x in (
        wide[:, :, :64],
        wide.transpose(0, 1)[..., :64],
        wide[..., ::2],
        wide[:, :1].expand(4, 5, 100),
    ):
        assert_equal(xcpu.rms_norm(x), xcpu.rms_norm(x.contiguous()))
        assert_equal(xcpu.layer_norm(x), xcpu.layer_norm(x.contiguous()))


@pytest.mark.parametrize("shape", [(0, 8), (3, 0)])
def test_nothing_has_a_norm_of_nothing(shape):
    x, weight = torch.randn(shape, requires_grad=True), torch.randn(shape[-1:], requires_grad=True)
    y = xcpu.rms_norm(x, weight)
    y.sum().backward()
    assert y.shape == x.grad.shape == shape
    assert_equal(weight.grad, torch.zeros(shape[-1:]))


def test_bf16_results_that_are_subnormal_or_no_numbers_stay_what_they_are():
    """Instructions that round to bfloat16 make zeros of subnormal numbers."""
    x = torch.ones(1, 64, dtype=torch.bfloat16)
    weight = torch.tensor([1e-39, -3e-40, 0.0, torch.nan, torch.inf, 1.5, -2.0, 1e-38])
    weight = weight.bfloat16().repeat(8)
    result = torch.ops.xcpu.rms_norm(x, weight, 0.0)
    assert_equal(result.isnan(), weight[None].isnan())
    numbers = ~weight.isnan()
    assert_equal(result[0, numbers].view(torch.int16), weight[numbers].view(torch.int16))
