"""A packed weight is a tensor of integers whose dtype and sizes say what it is."""

import pytest
import torch
from xcpu_weights import DTYPES, KINDS, xcpu

ELEMENTS = {"fp32": torch.int32, "bf16": torch.int16, "int8": torch.int8, "int4": torch.uint8}


SIZES = pytest.mark.parametrize(("n", "k"), [(1, 32), (7, 64), (33, 160), (64, 32)])


@SIZES
def test_what_is_unpacked_of_int4_is_no_worse_than_by_the_largest_of_a_group(n, k):
    matrix = torch.randn(n, k)
    weight = xcpu.pack(matrix, "int4", 32)
    assert weight.dtype == ELEMENTS["int4"] and weight.shape == (n, k // 32, 18)
    groups, back = matrix.reshape(-1, 32), xcpu.unpack(weight).reshape(-1, 32)
    step = groups.abs().amax(1, keepdim=True) / 7
    plain = (groups / step).round() * step
    error, allowed = (back - groups).norm(dim=1), (plain - groups).norm(dim=1)
    assert (error <= 1.01 * allowed).all()  # a scale is rounded to bfloat16
    assert error.norm() < 0.95 * allowed.norm() or n == 1


@SIZES
@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
def test_what_is_unpacked_is_the_matrix_rounded(kind, n, k):
    matrix = torch.randn(n, k)
    weight = xcpu.pack(matrix, kind)
    assert weight.dtype == ELEMENTS[kind] and weight.shape[:2] == (n, 1)
    back = xcpu.unpack(weight)
    if kind == "int8":  # the largest of an output is 127 steps
        step = matrix.abs().amax(1, keepdim=True) / 127
        assert ((back - matrix).abs() <= 0.501 * step).all()
    else:
        assert torch.equal(back, matrix if kind == "fp32" else matrix.bfloat16().float())


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("k", range(1, 10))
def test_sizes_tell_every_number_of_inputs(kind, k):
    assert xcpu.unpack(xcpu.pack(torch.randn(3, k), kind)).shape == (3, k)


@pytest.mark.parametrize("group", [32, 64, 128])
def test_sizes_tell_the_group(group):
    matrix = torch.randn(5, 256)
    weight = xcpu.pack(matrix, "int4", group)
    assert xcpu.unpack(weight).shape == (5, 256)
    pair = xcpu.pack_pair(matrix, -matrix, "int4", group)
    assert xcpu.unpack(pair).shape == (2, 5, 256)
    assert len({tuple(tensor.shape) for tensor in (weight, pair)}) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_is_both_matrices(kind):
    gate, up = torch.randn(2, 40, 128)
    both = xcpu.unpack(xcpu.pack_pair(gate, up, kind))
    assert torch.equal(both[0], xcpu.unpack(xcpu.pack(gate, kind)))
    assert torch.equal(both[1], xcpu.unpack(xcpu.pack(up, kind)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_matrices_of_any_strides_and_dtype_are_packed_as_they_are_meant(kind, dtype):
    matrix = torch.randn(40, 128).to(dtype)
    expected = xcpu.pack(matrix.float(), kind)
    assert torch.equal(xcpu.pack(matrix, kind), expected)
    assert torch.equal(xcpu.pack(matrix.T.contiguous().T, kind), expected)
    wide = torch.zeros(80, 256, dtype=dtype)
    wide[::2, ::2] = matrix
    assert torch.equal(xcpu.pack(wide[::2, ::2], kind), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_dtype_of_what_is_unpacked_may_be_chosen(dtype):
    weight = xcpu.pack(torch.randn(4, 64), "int8")
    back = xcpu.unpack(weight, dtype)
    assert back.dtype == dtype
    assert torch.equal(back, xcpu.unpack(weight).to(dtype))


def test_the_package_packs_parameters_without_a_gradient():
    import torchplug_xcpu

    linear = torch.nn.Linear(128, 40)
    assert torch.equal(
        torchplug_xcpu.pack(linear.weight, "int4", group=64),
        xcpu.pack(linear.weight.detach(), "int4", 64),
    )
    pair = torchplug_xcpu.pack_pair(linear.weight, linear.weight, "bf16")
    assert torch.equal(pair, xcpu.pack_pair(*[linear.weight.detach()] * 2, "bf16"))
    assert not pair.requires_grad
