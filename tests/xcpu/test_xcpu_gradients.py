"""The gradients are those of the same mathematics in PyTorch; a packed weight is frozen."""

import pytest
import torch
from helpers import assert_same
from xcpu_samples import SAMPLES, Sample, Weight, randn
from xcpu_weights import ACTIVATIONS, KINDS, near_bf16, packed, packed_pair, xcpu


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_those_of_a_linear_are_those_of_its_matrix(kind, activation):
    weight, matrix = packed(kind, 20, 64)
    given = [near_bf16(2, 3, 64), torch.randn(20), *torch.randn(2, 2, 3, 20)]
    mine = [t.clone().requires_grad_() for t in given]
    theirs = [t.double().requires_grad_() for t in given]
    x, bias, mul, residual = mine
    grad = torch.randn(2, 3, 20)
    y = xcpu.linear(x, weight, bias, activation=activation, mul=mul, residual=residual)
    y.backward(grad)
    x, bias, mul, residual = theirs
    y = ACTIVATIONS[activation](torch.nn.functional.linear(x, matrix, bias)) * mul + residual
    y.backward(grad.double())
    assert_same([t.grad.double() for t in mine], [t.grad for t in theirs], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(64,), (1, 64), (0, 64), (2, 3, 64)])
def test_every_kind_and_shape_has_them(kind, shape):
    weight, matrix = packed(kind, 20, 64)
    x = torch.randn(shape, requires_grad=True)
    y = xcpu.linear(x, weight)
    grad = torch.randn_like(y)
    y.backward(grad)
    assert_same(x.grad.double(), grad.double() @ matrix, rtol=1e-5, atol=1e-5)


def test_only_what_is_asked_for_is_computed():
    weight, _ = packed("int8", 20, 64)
    bias = torch.zeros(20, requires_grad=True)
    xcpu.linear(torch.randn(5, 64), weight, bias).sum().backward()
    assert_same(bias.grad, torch.full((20,), 5.0))
    x = torch.randn(5, 64)
    assert not xcpu.linear(x, weight, bias.detach()).requires_grad
    with torch.no_grad():
        assert not xcpu.linear(x, weight, bias).requires_grad


FLOATING = {str(sample): sample for sample in SAMPLES if sample.differentiable}


@pytest.mark.parametrize("sample", FLOATING.values(), ids=list(FLOATING))
def test_each_gradient_alone_is_what_it_is_with_the_others(sample):
    def gradients(names):
        values = sample.values()
        for name in names:
            values[name].requires_grad_()
        results = sample.operator(**values)
        results = results if isinstance(results, tuple) else (results,)
        sum((result.square().sum() for result in results), torch.zeros(())).backward()
        return [values[name].grad for name in names]

    together = gradients(sample.differentiable)
    for name, expected in zip(sample.differentiable, together, strict=True):
        assert_same(gradients([name]), [expected])


@pytest.mark.parametrize("wanted", [[False] * 4, [False, False, False, True]])
def test_what_is_not_wanted_is_not_there(wanted):
    q = torch.randn(5, 2, 16)
    options = (True, None, 0, 0.0, None, torch.randn(2), wanted)
    found = xcpu.attention_backward(q, q, q, q, None, None, *options)
    assert [gradient is not None for gradient in found] == wanted


def test_a_gradient_has_the_dtype_of_its_argument():
    weight, _ = packed("bf16", 20, 64)
    x = torch.randn(5, 64).bfloat16().requires_grad_()
    bias = torch.randn(20, requires_grad=True)
    xcpu.linear(x, weight, bias, dtype=torch.float32).sum().backward()
    assert (x.grad.dtype, bias.grad.dtype) == (torch.bfloat16, torch.float32)


def test_a_packed_weight_cannot_be_trained():
    weight, _ = packed("int8", 20, 64)
    with pytest.raises(RuntimeError, match="floating point"):
        weight.requires_grad_()
    frozen = torch.nn.Parameter(weight, requires_grad=False)
    assert not xcpu.linear(torch.randn(5, 64), frozen).requires_grad


def test_a_compiled_program_has_them_too():
    weight, _ = packed("int8", 20, 64)
    bias = torch.randn(20)

    def loss(x, bias):
        return xcpu.linear(x, weight, bias, activation="silu").square().sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (3, 5):
        x = torch.randn(rows, 64)
        mine, theirs = ([t.clone().requires_grad_() for t in (x, bias)] for _ in range(2))
        compiled(*mine).backward()
        loss(*theirs).backward()
        assert_same([t.grad for t in mine], [t.grad for t in theirs])


def floating(sample: Sample) -> list[str]:
    found = sample.arguments.items()
    return [
        name
        for name, value in found
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]


WITHOUT = {
    sample.name: sample for sample in SAMPLES if not sample.differentiable and floating(sample)
}


@pytest.mark.parametrize("sample", WITHOUT.values(), ids=list(WITHOUT))
def test_what_has_none_raises_where_one_is_needed(sample):
    values = sample.values()
    for name in floating(sample):
        values[name].requires_grad_()
    result = sample.operator(**values)
    result = result[0] if isinstance(result, tuple) else result
    if result is None or not result.is_floating_point():
        assert result is None or not result.requires_grad  # a cache, a packed weight
        return
    with pytest.raises(NotImplementedError, match=rf"xcpu::{sample.name}(\.rows)? has no"):
        result.sum().backward()


def test_none_is_asked_for_without_a_gradient():
    pair, *_ = packed_pair("int8", 20, 64)
    assert not xcpu.gate_up(torch.randn(2, 64), pair).requires_grad
    weight = Weight(20, 64).packed("int8")
    assert not xcpu.linear(randn(2, 64), weight).requires_grad
