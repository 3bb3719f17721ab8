"""Casts: every pair of types gives the CPU's values, whatever the strides, by the plugin's copy_strided or without."""

import itertools
import warnings

import pytest
import torch
from helpers import assert_equal, output_of
from vendors import compile_test_plugin

WHOLE = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
REAL = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex32, torch.complex64, torch.complex128]
DTYPES = [*WHOLE, *UNSIGNED, *REAL, *COMPLEX, torch.bool]

# Each holds every number of the list that its type can hold, so that a conversion that C leaves open is never asked for.
NUMBERS = [0, 1, 2, 3, 5, 77, 100, 126, 127]
NEGATIVE = [-1, -2, -77, -127]
FRACTIONS = [0.5, 1.5, 2.5, 0.1, 100.25, 3.14159, 1 / 3]
EXTREMES = [float("nan"), float("inf"), -float("inf"), 65504.0, 65520.0, 1e-7, 6e-8, 3e38, -0.0]
LARGE = [2**24 + 1, 2**53 + 1, 2**40 - 1]


def values(source, target):
    """Numbers that C converts from the one type to the other."""
    is_signed = target not in [*UNSIGNED, torch.uint8]
    numbers = list(NUMBERS)
    if (is_signed or source not in [*REAL, *COMPLEX]) and source not in [
        *UNSIGNED,
        torch.uint8,
        torch.bool,
    ]:
        numbers += NEGATIVE
    if source in [*REAL, *COMPLEX]:
        numbers += FRACTIONS
        if target in [*REAL, *COMPLEX, torch.bool]:
            numbers += EXTREMES
    if source in (torch.int64, torch.uint64):
        numbers += LARGE
    if source.is_complex:
        parts = torch.tensor(numbers, dtype=torch.float64)
        made = torch.complex(parts, parts.flip(0))
        return made.to(source)
    if source in (torch.int64, torch.uint64):
        return torch.tensor(numbers).to(source)
    return torch.tensor(numbers, dtype=torch.float64).to(source)


def cast(x, dtype):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casting complex")
        return x.to(dtype)


def bits(x):
    """What can be compared exactly: complex32 and the larger unsigned types have no comparison of their own."""
    if x.dtype == torch.complex32:
        x = torch.view_as_real(x)
    return x.to(torch.int64) if x.dtype in UNSIGNED else x


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_every_type_becomes_every_other_as_on_the_cpu(device, source):
    for target in DTYPES:
        x = values(source, target)
        expected = cast(x, target)
        result = cast(x.to(device), target)
        assert result.dtype == target and result.device == device
        torch.testing.assert_close(
            bits(result.cpu()),
            bits(expected),
            rtol=0,
            atol=0,
            equal_nan=True,
            msg=f"{source} to {target}",
        )


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "with a step": lambda x: x[::2, 1::3],
    "expanded": lambda x: x[:1].expand(6, 8),
    "expanded inside": lambda x: x[:, :1].expand(6, 8),
    "one element": lambda x: x[2, 3],
    "no element": lambda x: x[:0],
    "three dimensions": lambda x: x.reshape(2, 3, 8).permute(2, 0, 1),
}
PAIRS = [
    (torch.float32, torch.bfloat16),
    (torch.bfloat16, torch.float32),
    (torch.float32, torch.float16),
    (torch.float16, torch.float64),
    (torch.int64, torch.float32),
    (torch.bool, torch.float32),
    (torch.float32, torch.bool),
    (torch.complex64, torch.complex128),
    (torch.float64, torch.complex64),
    (torch.uint8, torch.int32),
]


def grid(dtype):
    x = torch.arange(48, dtype=torch.float64).reshape(6, 8) - (
        0 if dtype in (torch.uint8, torch.bool) else 20
    )
    return (x * (1 + 0.5j)).to(dtype) if dtype.is_complex else (x / 2).to(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_source_of_any_layout_is_converted(device, layout):
    for source, target in PAIRS:
        view = LAYOUTS[layout]
        x = grid(source)
        result = view(x.to(device)).to(target)
        expected = view(x).to(target)
        assert result.stride() == expected.stride()
        assert_equal(result, expected)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if not name.startswith("expanded")])
def test_a_destination_of_any_layout_is_written_and_nothing_else(device, layout):
    for source, target in PAIRS:
        view = LAYOUTS[layout]
        whole, expected = torch.full((6, 8), 1, dtype=target), torch.full((6, 8), 1, dtype=target)
        whole = whole.to(device)
        view(whole).copy_(view(grid(source).to(device)))
        view(expected).copy_(view(grid(source)))
        assert_equal(whole, expected)


def lazily(x, conj, neg):
    x = x.conj() if conj else x
    return torch._neg_view(x) if neg else x


BITS = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize("of_source", BITS)
@pytest.mark.parametrize("of_target", BITS)
def test_conjugate_and_negative_views_are_converted_as_what_they_mean(device, of_source, of_target):
    for source, target in itertools.product(
        [torch.complex64, torch.complex128, torch.float32], repeat=2
    ):
        if not target.is_complex and source.is_complex:
            continue  # below: it warns
        x = grid(source)
        whole, expected = (
            torch.zeros(6, 8, dtype=target, device=device),
            torch.zeros(6, 8, dtype=target),
        )
        conj_source, conj_target = (
            of_source[0] and source.is_complex,
            of_target[0] and target.is_complex,
        )
        lazily(whole, conj_target, of_target[1]).copy_(
            lazily(x.to(device), conj_source, of_source[1])
        )
        lazily(expected, conj_target, of_target[1]).copy_(lazily(x, conj_source, of_source[1]))
        assert_equal(whole, expected)


def test_a_negative_view_of_integers_is_converted(device):
    x = torch.arange(-3, 4)
    for target in (torch.float32, torch.int8, torch.complex64):
        assert_equal(torch._neg_view(x.to(device)).to(target), torch._neg_view(x).to(target))


DISCARDS = """
import warnings
x = torch.tensor([1 + 2j, 3 - 4j], device=device)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    real, truth = x.to(torch.float32), x.to(torch.bool)
    x.to(torch.int64)
    torch.get_device_module(device).synchronize()
print(len([w for w in caught if "discards the imaginary part" in str(w.message)]), real.tolist(), truth.tolist())
"""


def test_what_a_real_type_loses_of_a_complex_one_is_warned_of_once(device):
    said = output_of(DISCARDS, device.type, TORCHPLUG_DEVICE=device.type)
    assert said == "1 [1.0, 3.0] [True, True]"


def test_a_copy_onto_a_part_of_itself_converts_nothing_but_is_right(device):
    """Views of one storage that interleave cannot be told apart by where they begin and end."""
    for dtype in (torch.float32, torch.int64):
        x = torch.arange(24).to(dtype)
        y = x.to(device)
        y[::2].copy_(y[1::2])
        x[::2].copy_(x[1::2])
        y.as_strided((3, 2), (4, 1), 1).copy_(y.as_strided((3, 2), (4, 1), 12).clone())
        x.as_strided((3, 2), (4, 1), 1).copy_(x.as_strided((3, 2), (4, 1), 12).clone())
        assert_equal(y, x)
    # Of another type: the same memory, seen as floats and as integers.
    x = torch.arange(16, dtype=torch.float32)
    y = x.to(device)
    y.view(torch.int32)[:8].copy_(y[8:])
    x.view(torch.int32)[:8].copy_(x[8:])
    assert_equal(y, x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_large_casts_are_right_to_the_last_element(device, dtype):
    """Several threads share them, and vectors do not divide them."""
    x = torch.randn(3, 400003, generator=torch.Generator().manual_seed(0))
    there = x.to(device)
    assert_equal(there.to(dtype), x.to(dtype))
    assert_equal(there.to(dtype).to(torch.float32), x.to(dtype).to(torch.float32))
    assert_equal(there.t().to(dtype), x.t().to(dtype))
    assert_equal(x.to(device, dtype), x.to(dtype))
    assert_equal(there.to("cpu", dtype), x.to(dtype))
    small = (x * 10).to(torch.int8)
    assert_equal(small.to(device).to(torch.float32), small.to(torch.float32))
    assert_equal(small.to(device, torch.float32), small.to(torch.float32))


@pytest.mark.accelerator("the CPU has no ledger", only="sim")
def test_the_plugin_converts_what_autocast_casts(device, module):
    import torchplug

    x = torch.ones(8, 8, device=device)
    with torch.autocast(device.type, torch.bfloat16):
        x @ x
    module.synchronize()
    torchplug.reset_ledger()
    with torch.autocast(device.type, torch.bfloat16):
        y = torch.full((8, 8), 2.0, device=device) @ x
    module.synchronize()
    assert y.dtype == torch.bfloat16
    assert not [entry for entry in torchplug.ledger() if entry.op == "aten::copy_"]


CAPTURED = """
module = torch.get_device_module(device)
x = torch.linspace(-4, 4, 64, device=device)
y = torch.linspace(0, 5, 64, device=device).to(torch.float8_e5m2)
body = lambda: (x.view(8, 8).t().to(torch.bfloat16).to(torch.int32), y.to(torch.float32))
with module.stream(module.graphs.own_stream()):
    body()
module.synchronize()
graph = module.Graph()
with module.graph(graph):
    a, b = body()
x.mul_(3)
module.synchronize()
graph.replay()
module.synchronize()
assert torch.equal(a.cpu(), x.cpu().view(8, 8).t().to(torch.bfloat16).to(torch.int32))
assert torch.equal(b.cpu(), y.cpu().to(torch.float32))
"""


@pytest.mark.accelerator("the CPU captures nothing", only="sim")
@pytest.mark.parametrize("capture", ["on", "off"])
def test_conversions_are_captured_those_that_the_plugin_declines_too(capture):
    output_of(CAPTURED, "sim", TORCHPLUG_DEVICE="sim", TORCHPLUG_SIM_CAPTURE=capture)


@pytest.mark.accelerator("the CPU has no plugin", only="sim")
def test_a_device_without_addresses_converts_too(tmp_path):
    plugin = compile_test_plugin(tmp_path, "handles")
    names = [
        "test_every_type_becomes_every_other_as_on_the_cpu",
        "test_a_source_of_any_layout_is_converted",
        "test_conjugate_and_negative_views_are_converted_as_what_they_mean",
    ]
    code = f"""
import sys
sys.path.insert(0, {__file__.rsplit("/", 1)[0]!r})
import test_conversions as t
device = torch.device(device.type, 0)
for source in t.DTYPES: t.{names[0]}(device, source)
for layout in t.LAYOUTS: t.{names[1]}(device, layout)
for a in t.BITS:
    for b in t.BITS: t.{names[2]}(device, a, b)
"""
    output_of(code, "handles", TORCHPLUG_DEVICE=plugin)
