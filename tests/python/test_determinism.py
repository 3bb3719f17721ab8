"""Deterministic mode and float32 matmul precision: global settings that operators and kernels see."""

import contextlib
import functools
import threading
import warnings
from pathlib import Path

import pytest
import torch
from helpers import assert_equal, error_of, output_of
from vendors import ROOT, compile_plugin

import torchplug.testing

hold = functools.partial(torchplug.testing.hold, limit=20)


@contextlib.contextmanager
def deterministic(**options):
    torch.use_deterministic_algorithms(True, **options)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = True


# ---- memory that nobody has written ----

FACTORIES = {
    "empty": lambda where, dtype: torch.empty(3, dtype=dtype, device=where),
    "empty_strided": lambda where, dtype: torch.empty_strided(
        (2, 2), (1, 2), dtype=dtype, device=where
    ),
    "empty_permuted": lambda where, dtype: torch.empty_permuted(
        (2, 2), (1, 0), dtype=dtype, device=where
    ),
    "empty_like": lambda where, dtype: torch.empty_like(torch.ones(3, dtype=dtype, device=where)),
    "new_empty": lambda where, dtype: torch.ones(2, dtype=dtype, device=where).new_empty(2, 2),
    "resize_": lambda where, dtype: torch.ones(2, dtype=dtype, device=where).resize_(5),
}


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool, torch.complex64], ids=str
)
@pytest.mark.parametrize("name", FACTORIES)
def test_new_memory_is_filled_as_on_the_cpu(device, name, dtype):
    with deterministic():
        actual, expected = FACTORIES[name](device, dtype), FACTORIES[name]("cpu", dtype)
    assert actual.device == device
    assert_equal(actual, expected)
    if dtype == torch.float32:
        assert actual.isnan().any()


def test_the_filling_can_be_turned_off(device):
    torch.full((64,), 7.0, device=device).clone()
    with deterministic():
        torch.utils.deterministic.fill_uninitialized_memory = False
        assert not torch.empty(64, device=device).isnan().all()
        torch.utils.deterministic.fill_uninitialized_memory = True
        assert torch.empty(64, device=device).isnan().all()


# ---- operators that have no deterministic way ----


def put(where):
    x = torch.zeros(4).to(where)
    return x.put_(torch.tensor([1, 2]).to(where), torch.ones(2).to(where))


def unpool(where):
    indices = torch.zeros(1, 1, 1, 1, dtype=torch.int64).to(where)
    return torch.nn.functional.max_unpool2d(torch.ones(1, 1, 1, 1).to(where), indices, 2)


@pytest.mark.parametrize("operation", [put, unpool])
def test_an_operator_without_a_deterministic_way_is_refused_at_the_call(device, operation):
    for _ in range(2):
        assert_equal(operation(device), operation("cpu"))
        with deterministic(), pytest.raises(RuntimeError, match="deterministic implementation"):
            operation(device)


@pytest.mark.parametrize("operation", [put, unpool])
@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_a_call_made_before_the_mode_was_on_is_not_refused(device, module, operation):
    operation(device)
    with hold(module.current_stream()) as gate:
        threading.Timer(0.1, gate.open).start()  # the call itself may wait for the device
        result = operation(device)
        with deterministic():
            assert error_of(lambda: None, device) is None
    assert_equal(result, operation("cpu"))


@pytest.mark.parametrize("operation", [put, unpool])
def test_with_warn_only_every_call_warns_in_python(device, operation, capfd):
    with deterministic(warn_only=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            operation(device)
        torch.get_device_module(device).synchronize()
    assert sum("deterministic implementation" in str(w.message) for w in caught) == 3
    assert "Warning" not in capfd.readouterr().err, "said by another thread"


# ---- operators that have one ----


@pytest.fixture
def overwrite(device):
    """Puts many values into few places: in order, the last one stays."""
    values = torch.arange(100_000.0).to(device)
    places = (torch.arange(100_000) % 4).to(device)
    return lambda: torch.zeros(4, device=device).index_put_((places,), values)


def test_an_operator_with_a_deterministic_way_takes_it(overwrite):
    with deterministic():
        for _ in range(3):
            assert overwrite().tolist() == [99_996.0, 99_997.0, 99_998.0, 99_999.0]


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_it_takes_the_way_of_the_call_by_running_at_once(module, overwrite):
    """The mode is the process's: a kernel that ran later would see what it is by then."""
    stream = module.current_stream()
    overwrite()
    with hold(stream):
        overwrite()
        assert stream.query() is False
    with deterministic():
        overwrite()
        with hold(stream, limit=0.1), pytest.raises(RuntimeError, match="was not opened"):
            overwrite()  # has to wait for its turn


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_other_operators_are_still_enqueued(device, module):
    x = torch.ones(4, 4, device=device)
    with deterministic():
        torch.erfinv(x), x.softmax(0)
        with hold(module.current_stream()):
            torch.erfinv(x), x.softmax(0)
            assert module.current_stream().query() is False


# ---- what a plugin's kernel is told ----

FLAGS = """
import ctypes, os, sys

kernels = ctypes.CDLL(sys.argv[2])
kernels.kernels_seen.restype = ctypes.POINTER(ctypes.c_uint64)
x = torch.ones(3, 3, device=device)

def flags(of=b"aten::mm("):
    x.mm(x), x.relu()
    count, flags, _ = kernels.kernels_seen(of)[:3]
    return flags

DETERMINISTIC, FAST = 1, 2
seen = [flags()]
torch.use_deterministic_algorithms(True)
seen.append(flags())
torch.use_deterministic_algorithms(True, warn_only=True)
seen.append(flags())
torch.use_deterministic_algorithms(False)
assert seen == [0, DETERMINISTIC, DETERMINISTIC], seen

seen = []
for precision in ("highest", "high", "medium", "highest"):
    torch.set_float32_matmul_precision(precision)
    seen.append(flags())
assert seen == [0, FAST, FAST, 0] and flags(b"aten::relu(") == 0, seen
"""

NEW_FLAGS = """
seen = []
for precision in ("tf32", "ieee", "none"):
    torch.backends.fp32_precision = precision
    seen.append(flags())
assert seen == [FAST, 0, 0], seen

torch.backends.cuda.matmul.fp32_precision = "tf32"  # for another device
assert flags() == 0
torch.backends.fp32_precision = "tf32"
assert flags() == FAST
"""


@pytest.fixture(scope="module")
def kernels_plugin(tmp_path_factory):
    code = Path(ROOT, "tests/plugins/kernels.c").read_text()
    return compile_plugin(tmp_path_factory.mktemp("plugin"), "kernels", code)


def test_a_kernel_is_told_of_deterministic_mode_and_of_the_matmul_precision(kernels_plugin):
    output_of(FLAGS, "kernels", kernels_plugin, TORCHPLUG_DEVICE=kernels_plugin)


def test_a_kernel_is_told_of_the_precision_of_the_newer_settings(kernels_plugin):
    """Alone: PyTorch refuses to answer where the older setting was used too."""
    code = FLAGS.split("DETERMINISTIC, FAST")[0] + "FAST = 2\n" + NEW_FLAGS
    output_of(code, "kernels", kernels_plugin, TORCHPLUG_DEVICE=kernels_plugin)
