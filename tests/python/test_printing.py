"""A device tensor prints as the CPU's does, with the device's name in it."""

import re

import pytest
import torch

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.float8_e4m3fn,
]


def assert_prints_as_on_the_cpu(device, tensor, make=lambda x: x):
    """The text of make(tensor), lines joined: the CPU's, with the device named once."""
    text = " ".join(repr(make(tensor.to(device))).split())
    expected = " ".join(repr(make(tensor)).split())
    if device.type != "cpu":
        named = f", device='{device}'"
        assert text.count(named) == 1, text
        text = text.replace(named, "")
    assert text == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(device, dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 120]]).to(dtype)
    assert_prints_as_on_the_cpu(device, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_empty_and_0_dim(device, dtype):
    for shape in ((), (0,), (2, 0)):
        assert_prints_as_on_the_cpu(device, torch.ones(shape).to(dtype))


NUMBERS = {
    "fractions": [0.1, -2.25, 3.0],
    "large": [1e9, 1.0],
    "small": [1e-9, 1.0],
    "special": [float("nan"), float("inf"), -float("inf"), 1.0],
    "only_special": [float("nan"), float("inf")],
    "whole": [1.0, 2.0, 1000.0],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_every_format_of_number(device, name, dtype):
    assert_prints_as_on_the_cpu(device, torch.tensor(NUMBERS[name], dtype=dtype))


def test_complex_numbers(device):
    z = torch.tensor([1.5 - 2j, complex("nan"), 1e6 + 1e-6j])
    assert_prints_as_on_the_cpu(device, z)
    assert_prints_as_on_the_cpu(device, z, torch.conj)
    assert_prints_as_on_the_cpu(device, z, lambda x: x.conj().imag)


@pytest.mark.parametrize("shape", [(2000,), (60, 60), (3, 20, 40)], ids=str)
def test_large_tensors_are_summarised(device, shape):
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
    assert "..." in repr(x)
    assert_prints_as_on_the_cpu(device, x)


def test_strided_tensors(device):
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert_prints_as_on_the_cpu(device, x, lambda t: t.permute(2, 0, 1)[1::2])
    assert_prints_as_on_the_cpu(device, x, lambda t: t[0, 0].expand(3, 4))


def test_gradients_are_named(device):
    x = torch.tensor([1.0, 2.0])
    assert_prints_as_on_the_cpu(device, x, lambda t: t.clone().requires_grad_())
    assert_prints_as_on_the_cpu(device, x, lambda t: t.clone().requires_grad_().sin())
    assert_prints_as_on_the_cpu(device, x, lambda t: torch.nn.Parameter(t.clone()))


def test_printing_options_hold(device):
    torch.set_printoptions(precision=2, sci_mode=True, threshold=5, edgeitems=1)
    try:
        assert_prints_as_on_the_cpu(device, torch.linspace(0, 1, 8, dtype=torch.float64))
    finally:
        torch.set_printoptions(profile="default")


def test_str_is_repr(device):
    x = torch.arange(3.0, device=device)
    assert str(x) == repr(x) == f"{x}"


@pytest.mark.accelerator("the CPU is not named")
def test_the_exact_text(device):
    assert repr(torch.arange(3.0, device=device)) == f"tensor([0., 1., 2.], device='{device}')"
    assert repr(torch.tensor(5, device=device)) == f"tensor(5, device='{device}')"
    text = f"tensor([], device='{device}', size=(0, 2), dtype=torch.int64)"
    assert repr(torch.empty(0, 2, dtype=torch.int64, device=device)) == text


@pytest.mark.accelerator("the CPU has no second device")
def test_a_second_device_is_named_by_its_index(other_device):
    assert re.search(r":1'\)$", repr(torch.ones(1, device=other_device)))


def test_modules_lists_and_devices_print(device):
    assert str(torch.ones(1).to(device).device) == str(device)
    assert repr(torch.nn.Linear(2, 3).to(device)) == repr(torch.nn.Linear(2, 3))
    assert repr(device) == f"device(type='{device.type}'" + (
        ")" if device.index is None else f", index={device.index})"
    )


def test_printing_leaves_the_tensor_as_it_was(device):
    x = torch.arange(4.0, device=device)
    version = x._version
    repr(x)
    assert x._version == version and x.tolist() == [0.0, 1.0, 2.0, 3.0]
