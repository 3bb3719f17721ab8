"""A host number beside a device tensor: the result stays on the device, in the CPU's dtype."""

import math
import operator

import numpy
import pytest
import torch
from helpers import assert_equal, same_outcome

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")

ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
COMPARISON = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]

IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
    operator.iand,
    operator.ior,
    operator.ixor,
]

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
]

SCALARS = {
    "int": 3,
    "negative_int": -2,
    "large_int": 1 << 40,
    "float": 2.5,
    "bool": True,
    "complex": 1 + 2j,
    "float32_tensor": torch.tensor(2.5),
    "float64_tensor": torch.tensor(2.5, dtype=torch.float64),
    "int64_tensor": torch.tensor(3),
    "uint8_tensor": torch.tensor(3, dtype=torch.uint8),
    "bool_tensor": torch.tensor(True),
    "complex_tensor": torch.tensor(1 + 2j),
    "numpy_float32": numpy.float32(2.5),
    "numpy_float64": numpy.float64(2.5),
    "numpy_int64": numpy.int64(3),
    "numpy_int32": numpy.int32(3),
    "numpy_bool": numpy.bool_(True),
}


def values(dtype):
    return torch.tensor([0, 1, 2, 3, 5]).to(dtype)


def name_of(fn):
    return fn.__name__.strip("_")


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("fn", ARITHMETIC + COMPARISON + BITWISE, ids=name_of)
def test_a_scalar_on_the_right(device, fn, scalar):
    for dtype in DTYPES:
        same_outcome(device, lambda x: fn(x, SCALARS[scalar]), values(dtype))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("fn", ARITHMETIC + COMPARISON + BITWISE, ids=name_of)
def test_a_scalar_on_the_left(device, fn, scalar):
    for dtype in DTYPES:
        same_outcome(device, lambda x: fn(SCALARS[scalar], x), values(dtype))


@pytest.mark.parametrize("scalar", ["int", "float", "bool", "float64_tensor", "int64_tensor"])
@pytest.mark.parametrize("fn", IN_PLACE, ids=name_of)
def test_a_scalar_in_place(device, fn, scalar):
    for dtype in DTYPES:
        same_outcome(device, lambda x: fn(x, SCALARS[scalar]), values(dtype))


@pytest.mark.parametrize("fn", ARITHMETIC + COMPARISON, ids=name_of)
def test_a_scalar_beside_a_0_dim_device_tensor(device, fn):
    """A 0-dim tensor counts as a tensor in promotion; a Python number beside it does not."""
    for dtype in (torch.float32, torch.int64, torch.bool):
        for scalar in (3, 2.5, torch.tensor(2.5, dtype=torch.float64)):
            same_outcome(device, lambda x, s=scalar: fn(x[2], s), values(dtype))
            same_outcome(device, lambda x, s=scalar: fn(s, x[2]), values(dtype))


@pytest.mark.parametrize("other", DTYPES, ids=str)
@pytest.mark.parametrize("fn", ARITHMETIC + COMPARISON, ids=name_of)
def test_two_device_tensors_promote_as_on_the_cpu(device, fn, other):
    for dtype in DTYPES:
        same_outcome(device, fn, values(dtype), values(other) + values(other))


FUNCTIONS = {
    "rsub": lambda x, s: torch.rsub(x, s),
    "add_alpha": lambda x, s: torch.add(x, s, alpha=3),
    "sub_alpha": lambda x, s: torch.sub(x, s, alpha=2),
    "maximum": lambda x, s: torch.maximum(x, torch.tensor(s)),
    "where_left": lambda x, s: torch.where(x > 1, s, x),
    "where_right": lambda x, s: torch.where(x > 1, x, s),
    "where_cpu_tensor": lambda x, s: torch.where(x > 1, x, torch.tensor(s)),
    "clamp": lambda x, s: x.clamp(max=s),
    "lerp": lambda x, s: torch.lerp(x, x + 1, s),
    "addcmul": lambda x, s: torch.addcmul(x, x, x, value=s),
    "fill": lambda x, s: x.fill_(s),
    "fill_cpu_tensor": lambda x, s: x.fill_(torch.tensor(s)),
    "div_floor": lambda x, s: torch.div(x, s, rounding_mode="floor"),
    "div_trunc": lambda x, s: torch.div(x, s, rounding_mode="trunc"),
    "remainder_left": lambda x, s: torch.remainder(s, x + 1),
    "fmod": lambda x, s: torch.fmod(x, s),
    "atan2": lambda x, s: torch.atan2(x, torch.tensor(s)),
    "pow_left": lambda x, s: torch.pow(s, x),
    "float_power": lambda x, s: torch.float_power(x, s),
    "xlogy": lambda x, s: torch.xlogy(s, x + 1),
    "isin": lambda x, s: torch.isin(x, s),
    "heaviside": lambda x, s: torch.heaviside(x - 2, torch.tensor(s)),
    "copysign": lambda x, s: torch.copysign(x, -s),
    "logical_and": lambda x, s: torch.logical_and(x, torch.tensor(s)),
    "mul_out": lambda x, s: torch.mul(x, s, out=torch.empty_like(x)),
    "sub_cpu_scalar_out": lambda x, s: torch.sub(torch.tensor(s), x, out=torch.empty_like(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_tensor_and_a_scalar(device, name):
    same_outcome(device, lambda x: FUNCTIONS[name](x, 2.5), values(torch.float32))
    same_outcome(device, lambda x: FUNCTIONS[name](x, 2), values(torch.int64))


def test_windows_stay_on_the_device(device):
    windows = (torch.hann_window, torch.hamming_window, torch.bartlett_window, torch.kaiser_window)
    for window in windows:
        for length in (9, 9, 1, 0):
            made = window(length, device=device)
            assert made.device == device
            torch.testing.assert_close(made.cpu(), window(length))
            symmetric = window(length, periodic=False, dtype=torch.float64, device=device)
            expected = window(length, periodic=False, dtype=torch.float64)
            torch.testing.assert_close(symmetric.cpu(), expected)
    wide = torch.kaiser_window(6, True, 4.5, device=device)
    torch.testing.assert_close(wide.cpu(), torch.kaiser_window(6, True, 4.5))


@pytest.mark.accelerator("the CPU may be mixed with itself")
def test_only_0_dim_cpu_tensors_count_as_scalars(device):
    x = torch.ones(3, device=device)
    assert (x + torch.tensor(1.0)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="cpu"):
        x + torch.ones(3)
    with pytest.raises(RuntimeError, match="cpu"):
        torch.ones(1) + x


# ---- numbers out of tensors ----


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_item_and_tolist(device, dtype):
    expected = values(dtype)
    x = expected.to(device)
    assert x.tolist() == expected.tolist()
    assert x[3].item() == expected[3].item()
    assert type(x[3].item()) is type(expected[3].item())
    assert x.reshape(5, 1).tolist() == expected.reshape(5, 1).tolist()
    assert x[2].tolist() == expected[2].tolist()


def test_item_of_a_strided_and_of_a_conjugated_element(device):
    x = torch.arange(12.0).reshape(3, 4).to(device)
    assert x.t()[1:2, 2].item() == 9.0
    z = torch.tensor([1 + 2j, 3 - 1j]).to(device)
    assert z.conj()[0].item() == 1 - 2j
    assert z.conj().imag[1].item() == 1.0


def test_item_of_many_elements_is_refused(device):
    with pytest.raises(RuntimeError, match="2 elements"):
        torch.zeros(2, device=device).item()


def test_there_is_no_number_in_an_empty_tensor(device):
    """The operator itself: item() refuses before."""
    for _ in range(2):
        with pytest.raises(RuntimeError, match="0 elements cannot be converted to Scalar"):
            torch.ops.aten._local_scalar_dense(torch.empty(0, device=device))


def test_python_numbers(device):
    x = torch.tensor(2.75, device=device)
    assert float(x) == 2.75 and int(x) == 2 and complex(x) == 2.75
    assert round(x.item(), 1) == 2.8 and math.floor(x) == 2 and math.ceil(x) == 3
    assert math.isclose(math.sin(x), math.sin(2.75))
    assert -x == -2.75 and abs(-x) == 2.75 and +x == 2.75


def test_truth(device):
    assert bool(torch.tensor([3], device=device)) is True
    assert not torch.tensor(0.0, device=device)
    assert (torch.ones(3, device=device) == 1).all()
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(2, device=device))


def test_use_as_an_index(device):
    two = torch.tensor(2, device=device)
    assert ["a", "b", "c"][two] == "c"
    assert list(range(two)) == [0, 1]
    assert operator.index(two) == 2
    assert torch.arange(5)[two].item() == 2
    assert torch.zeros(two, two + 1).shape == (2, 3)
    with pytest.raises(TypeError, match="integer"):
        operator.index(torch.tensor(2.5, device=device))


def test_formatting(device):
    x = torch.tensor(3.14159, device=device)
    assert f"{x:.2f}" == "3.14"
    assert f"{torch.tensor(7, device=device):03d}" == "007"
    assert f"{x:8.3f}" == "   3.142"
    assert format(torch.tensor(True, device=device)) == "True"


def test_numpy_gets_a_copy(device):
    x = torch.arange(3.0, device=device)
    assert x.cpu().numpy().tolist() == [0.0, 1.0, 2.0]
    assert x.numpy(force=True).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.accelerator("the host may use the CPU's memory")
def test_numpy_does_not_get_device_memory(device):
    x = torch.arange(3.0, device=device)
    with pytest.raises(TypeError, match=f"can't convert {device}"):
        x.numpy()
    with pytest.raises(TypeError, match=f"can't convert {device}"):
        numpy.asarray(x)


def test_tensors_from_host_data(device):
    array = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
    for made in (
        torch.tensor(array, device=device),
        torch.as_tensor(array, device=device),
        torch.asarray(array, device=device),
        torch.from_numpy(array).to(device),
    ):
        assert made.device == device and made.dtype == torch.int16
        assert made.tolist() == [[0, 1, 2], [3, 4, 5]]
    ones = [torch.tensor(1.0, device=device), torch.tensor(2.0, device=device)]
    assert torch.tensor(ones).tolist() == [1.0, 2.0]
    assert_equal(torch.tensor([1.5, 2], device=device), torch.tensor([1.5, 2]))


def test_a_scalar_tensor_is_read_when_the_operator_is_called(device):
    scalar = torch.tensor(2.0)
    result = torch.ones(1000, device=device) * scalar
    scalar.fill_(50.0)
    assert result.sum().item() == 2000.0
