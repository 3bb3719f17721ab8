"""plug_util.h converts elements as PyTorch does, bit for bit, between every two dtypes."""

import ctypes
import subprocess

import pytest
import torch
from vendors import ROOT

pytestmark = pytest.mark.accelerator("it needs no device, so once is enough", only="sim")

SOURCE = """
#include "torchplug/plug_util.h"
PLUG_EXPORT int32_t convert(void *to, uint32_t to_dtype, int64_t to_stride, const void *from,
                            uint32_t from_dtype, int64_t from_stride, int64_t n);
int32_t convert(void *to, uint32_t to_dtype, int64_t to_stride, const void *from,
                uint32_t from_dtype, int64_t from_stride, int64_t n) {
  return plug_convert(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
}
"""

# The DLPack code and the bits of each dtype, which plug.h's are.
DTYPES = {
    torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32), torch.int64: (0, 64),
    torch.uint8: (1, 8), torch.uint16: (1, 16), torch.uint32: (1, 32), torch.uint64: (1, 64),
    torch.float16: (2, 16), torch.float32: (2, 32), torch.float64: (2, 64), torch.bfloat16: (4, 16),
    torch.complex32: (5, 32), torch.complex64: (5, 64), torch.complex128: (5, 128), torch.bool: (6, 8),
    torch.float8_e4m3fn: (10, 8), torch.float8_e4m3fnuz: (11, 8), torch.float8_e5m2: (12, 8),
    torch.float8_e5m2fnuz: (13, 8), torch.float8_e8m0fnu: (14, 8),
}  # fmt: skip
FLOATS = [dtype for dtype in DTYPES if dtype.is_floating_point]
WHOLE = [dtype for dtype in DTYPES if not dtype.is_floating_point and not dtype.is_complex]
COMPLEX = [dtype for dtype in DTYPES if dtype.is_complex]


@pytest.fixture(scope="module")
def convert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("util")
    (folder / "util.c").write_text(SOURCE)
    library = folder / "util.so"
    flags = ["-std=c99", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(
        ["cc", *flags, f"-I{ROOT / 'include'}", folder / "util.c", "-o", library], check=True
    )
    function = ctypes.CDLL(str(library)).convert
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int64] * 2 + [ctypes.c_int64]

    def run(values, dtype):
        result = torch.empty(values.shape, dtype=dtype)
        for tensor in (values, result):
            assert tensor.is_contiguous()
        ends = [(t.data_ptr(), number(t.dtype), t.element_size()) for t in (result, values)]
        assert function(*ends[0], *ends[1], values.numel()) == 0
        return result

    return run


def number(dtype):
    code, bits = DTYPES[dtype]
    return code | bits << 8 | 1 << 16


def bits_of(tensor):
    """The bits of its elements, where all that is not a number is one."""
    size = tensor.element_size()
    whole = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    if tensor.is_complex():
        return bits_of(torch.view_as_real(tensor.to(torch.complex128)))
    bits = tensor.view(whole[size]).clone()
    if tensor.is_floating_point():
        bits[tensor.to(torch.float64).isnan()] = -1
    return bits


def same(actual, expected):
    assert actual.dtype == expected.dtype
    if actual.dtype == torch.float8_e4m3fn and torch.__version__ < "2.13":
        largest = actual.float().abs() == 448  # what is larger was NaN there
        actual, expected = actual[~largest], expected[~largest]
    assert torch.equal(bits_of(actual), bits_of(expected))


def every_code(dtype):
    """All elements of a dtype of 8 or 16 bits; of others a sample with the special ones."""
    if dtype.itemsize == 1:
        return torch.arange(256, dtype=torch.int16).to(torch.uint8).view(dtype)
    if dtype.itemsize == 2:
        return torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype)
    generator = torch.Generator().manual_seed(5)
    whole = {4: torch.int32, 8: torch.int64}[dtype.itemsize]
    bits = torch.randint(-(2**62), 2**62, (20000,), generator=generator).to(whole)
    special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-45, 1e-40, 65504, 65520, 448, 464, 465,
                            57344, 61440, 1.5, 2**-127, 2**-133], dtype=torch.float64)  # fmt: skip
    near = torch.randn(20000, generator=generator, dtype=torch.float64) * 100
    return torch.cat([bits.view(dtype), special.to(dtype), near.to(dtype)])


@pytest.mark.parametrize("to", FLOATS, ids=str)
def test_floats_become_floats_as_in_pytorch(convert, to):
    for given in FLOATS:
        values = every_code(given)
        same(convert(values, to), values.to(to))


@pytest.mark.parametrize("to", WHOLE + FLOATS, ids=str)
def test_integers_become_numbers_as_in_pytorch(convert, to):
    for given in WHOLE:
        limits = (
            torch.tensor([0, 1], dtype=given)
            if given is torch.bool
            else torch.tensor(
                [torch.iinfo(given).min, torch.iinfo(given).max, 0, 1, 3], dtype=given
            )
        )
        small = torch.arange(100).to(given)
        values = torch.cat([limits, small])
        if given is torch.uint64 and to.is_floating_point:
            values = torch.cat([values[:1], values[2:]])  # its largest is rounded twice here
        same(convert(values, to), values.to(to))


@pytest.mark.parametrize("to", WHOLE, ids=str)
def test_floats_become_integers_as_in_pytorch(convert, to):
    values = torch.tensor([0.0, -0.0, 0.5, 1.0, 1.9, 2.5, 99.99, 127.0], dtype=torch.float64)
    if to.is_signed:
        values = torch.cat([values, -values])
    for given in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        same(convert(values.to(given), to), values.to(given).to(to))


@pytest.mark.parametrize("to", COMPLEX, ids=str)
def test_numbers_become_complex_as_in_pytorch(convert, to):
    parts = torch.tensor([0.0, -1.5, 3.25, 70000.0])
    for given in COMPLEX:
        values = torch.complex(parts, parts.flip(0)).to(given)
        same(convert(values, to), values.to(to))
    for given in (torch.float32, torch.int32, torch.bool, torch.bfloat16):
        same(convert(parts.to(given), to), parts.to(given).to(to))
