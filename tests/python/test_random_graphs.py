"""torch.compile(backend="torchplug") of random programs: what eager gives, bit for bit where nothing is rounded."""

import os
import re

import pytest
import torch
from compiling import compiled, total
from random_graphs import DTYPES, Value, make_program, sizes_of

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]

COUNT = 2000 if os.environ.get("TORCHPLUG_TEST_SWEEP") == "all" else 40
EACH = 5


def on_device(tensor, device):
    """A copy with its strides."""
    memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage()).to(device)
    made = torch.empty(0, dtype=tensor.dtype, device=device)
    return made.set_(
        memory.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
    )


# Of two zeros PyTorch gives either.
EXTREMES = re.compile("max|min|clamp|relu|hardtanh")


def assert_exact(actual, expected, signs):
    """The same numbers, NaN where there is NaN, and, where these are known, zeros of the same sign."""
    assert torch.equal(actual.isnan(), expected.isnan())
    if actual.is_floating_point():
        actual, expected = (x.double().nan_to_num(nan=0.0) for x in (actual, expected))
    assert torch.equal(actual, expected)
    assert not signs or torch.equal(actual.signbit(), expected.signbit())


def assert_close(actual, expected, reference):
    """As near as rounding lets it be: eager is compared with float64 too."""
    eps = torch.finfo(expected.dtype).eps
    actual, expected, reference = (x.double() for x in (actual, expected, reference))
    finite = expected.isfinite()
    assert torch.equal(finite, actual.isfinite())
    assert torch.equal(actual[~finite].nan_to_num(nan=7.0), expected[~finite].nan_to_num(nan=7.0))
    if finite.any():
        noise = (expected - reference)[finite].abs().nan_to_num(nan=torch.inf).max()
        most = 16 * (noise + eps * (1 + expected[finite].abs().max()))
        assert (actual - expected)[finite].abs().max() <= most


def assert_same_value(value, actual, expected, reference, signs=True):
    assert expected.dtype == DTYPES[value.dtype], value
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), value
    actual, expected = actual.cpu(), expected.cpu()
    try:
        if value.exact or not value.is_real:
            assert_exact(actual, expected, signs)
        else:
            assert_close(actual, expected, reference)
    except AssertionError as error:
        raise AssertionError(
            f"{value}\ncompiled {actual}\neager {expected}\nfloat64 {reference}"
        ) from error


def check(program, device, call, a, b):
    inputs = program.make_inputs(a, b)
    ours, theirs = ([on_device(x, device) for x in inputs] for _ in range(2))
    wide = [x.double() if x.is_floating_point() else x.clone() for x in inputs]
    actual, expected = call(*ours), program.function()(*theirs)
    reference = program.function(reference=True)(*wide)
    signs = not EXTREMES.search(program.source)
    for value, *found in zip(program.results, actual, expected, reference, strict=True):
        assert_same_value(value, *found, signs)
    for i, found in enumerate(zip(ours, theirs, wide, strict=True)):
        assert_same_value(program.input_value(i), *found, signs)


def run(seed, device):
    program = make_program(seed)
    is_dynamic = seed % 4 == 1
    torch._dynamo.reset()
    call = compiled(program.function(), dynamic=True if is_dynamic else None)
    a, b = sizes_of(seed)
    try:
        check(program, device, call, a, b)
        if is_dynamic:
            check(program, device, call, a + 2, b + 3)
    except Exception as error:
        raise AssertionError(f"seed {seed}, sizes {a}, {b}\n{program.source}") from error


@pytest.mark.parametrize("first", range(0, COUNT, EACH))
def test_a_random_program_gives_what_eager_gives(device, first):
    for seed in range(first, first + EACH):
        run(seed, device)
    assert total("runs") > 0


def test_a_wrong_result_would_be_found(device):
    value = Value("v0", "f32", ("a",), exact=False)
    x = torch.tensor([1.0, 2.0, 3.0])
    assert_same_value(value, x + 1e-7, x, x.double())
    with pytest.raises(AssertionError, match="compiled"):
        assert_same_value(value, x + 1e-4, x, x.double())
    exact = Value("v0", "f32", ("a",))
    with pytest.raises(AssertionError, match="compiled"):
        assert_same_value(exact, torch.tensor([-0.0]), torch.tensor([0.0]), None)
