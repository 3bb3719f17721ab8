"""Linears with packed weights are within rounding of float64."""

import pytest
import torch
from xcpu_weights import (
    ACTIVATIONS,
    DTYPES,
    KINDS,
    assert_within,
    linear,
    near_bf16,
    packed,
    packed_pair,
    rounding,
    xcpu,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 5, 33])
@pytest.mark.parametrize(("n", "k"), [(1, 32), (48, 64), (100, 160)])
def test_the_product_is_that_of_float64(kind, rows, n, k):
    weight, matrix = packed(kind, n, k)
    x = near_bf16(rows, k)
    assert_within(xcpu.linear(x, weight), linear(x, matrix), rounding(x, matrix, kind))


@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("precision", ["int8", "bf16"])
def test_activations_of_int4_weights_are_int8_or_bf16(group, precision):
    weight, matrix = packed("int4", 40, 256, group)
    x = near_bf16(3, 256)
    y = xcpu.linear(x, weight, precision=precision)
    assert_within(y, linear(x, matrix), rounding(x, matrix, "int4", precision))
    other = xcpu.linear(x, weight, precision="bf16" if precision == "int8" else "int8")
    assert not torch.equal(y, other)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_bias_activation_mul_and_residual_come_in_this_order(kind, activation):
    weight, matrix = packed(kind, 20, 64)
    x, bias = near_bf16(2, 3, 64), torch.randn(20)
    mul, residual = torch.randn(2, 2, 3, 20)
    y = xcpu.linear(x, weight, bias, activation=activation, mul=mul, residual=residual)
    expected = linear(x, matrix, bias, activation, mul, residual)
    # No activation is steeper than 1.13.
    slack = 1.13 * rounding(x, matrix, kind) * mul.double().abs() + 1e-5 * (1 + mul.abs())
    assert_within(y, expected, slack + 1e-6 * residual.abs())


@pytest.mark.parametrize("given", DTYPES)
@pytest.mark.parametrize("asked", [None, *DTYPES])
@pytest.mark.parametrize("kind", KINDS)
def test_every_dtype_goes_in_and_comes_out(kind, given, asked):
    weight, matrix = packed(kind, 40, 64)
    x, bias = near_bf16(3, 64).to(given), torch.randn(40).to(given)
    y = xcpu.linear(x, weight, bias, dtype=asked)
    assert y.dtype == (asked or given)
    assert_within(y, linear(x, matrix, bias), rounding(x, matrix, kind))


def test_arguments_may_have_dtypes_of_their_own():
    weight, matrix = packed("bf16", 40, 64)
    x, bias = near_bf16(3, 64).bfloat16(), torch.randn(40)
    residual = torch.randn(3, 40).half()
    y = xcpu.linear(x, weight, bias, residual=residual, dtype=torch.float32)
    assert_within(y, linear(x, matrix, bias, residual=residual), rounding(x, matrix, "bf16"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "look",
    [
        lambda x: x[:, :, 3:67],
        lambda x: x.transpose(0, 1)[:, :, :64],
        lambda x: x[:, :1, :64].expand(4, 5, 64),
        lambda x: x[:, :, ::2][:, :, :64],
        lambda x: x[:1, 2, :64],
        lambda x: x[1, 2, :64],
        lambda x: x[::2, :, :64],
    ],
)
def test_rows_of_any_strides_are_read_where_they_are_or_copied(kind, look):
    weight, _ = packed(kind, 40, 64)
    x = look(torch.randn(4, 5, 160))
    expected = xcpu.linear(x.contiguous(), weight)
    assert expected.shape == (*x.shape[:-1], 40)
    assert torch.equal(xcpu.linear(x, weight), expected)
    beside = torch.randn(*x.shape[:-1], 80)[..., 40:]
    assert torch.equal(
        xcpu.linear(x, weight, residual=beside),
        xcpu.linear(x.contiguous(), weight, residual=beside.contiguous()),
    )


@pytest.mark.parametrize("shape", [(0, 64), (2, 0, 64), (64,)])
def test_no_rows_and_one_vector_are_calls_too(shape):
    weight, matrix = packed("int8", 40, 64)
    x = torch.randn(shape)
    y = xcpu.linear(x, weight)
    assert y.shape == (*shape[:-1], 40)
    assert_within(y, linear(x, matrix), rounding(x, matrix, "int8") if x.numel() else 1)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_is_two_products_one_times_the_other(kind, activation):
    weight, gate, up = packed_pair(kind, 40, 64)
    x, bias, residual = near_bf16(3, 64), torch.randn(80), torch.randn(3, 40)
    y = xcpu.gate_up(x, weight, bias, activation=activation, residual=residual)
    first = linear(x, gate, bias[:40], activation)
    second = linear(x, up, bias[40:])
    slack = 1.13 * rounding(x, gate, kind) + 1e-5
    slack = slack * (second.abs() + rounding(x, up, kind)) + first.abs() * rounding(x, up, kind)
    assert_within(y, first * second + residual, slack + 1e-5)


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_mlp_is_its_two_linears(kind, is_pair):
    make = packed_pair if is_pair else packed
    up, *_ = make(kind, 64, 96)
    down, matrix = packed(kind, 40, 64)
    x, residual = near_bf16(5, 96), torch.randn(5, 40)
    up_bias, down_bias = torch.randn(128 if is_pair else 64), torch.randn(40)
    first = xcpu.gate_up if is_pair else xcpu.linear
    inner = first(x, up, up_bias, activation="silu")
    y = xcpu.mlp(x, up, down, up_bias, down_bias, residual=residual)
    slack = rounding(inner, matrix, kind)
    if kind == "bf16":  # what lies between is rounded to it
        slack = slack + 2**-8 * inner.double().abs() @ matrix.abs().T
    assert_within(y, linear(inner, matrix, down_bias, residual=residual), slack)
