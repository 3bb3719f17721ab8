"""Kernels for operators of which torchplug does a part itself: served where they can be, else said to be of no use."""

import pytest
from helpers import output_of, run_python
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PRELUDE = """
import warnings
import torchplug


def calls_of(op):
    return sum(entry.count for entry in torchplug.ledger() if entry.op == op and entry.way == "kernel")


def same(fn, *args):
    expected = fn(*[arg.clone() for arg in args])
    for _ in range(2):
        result = fn(*[torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device=device).copy_(a)
                      for a in args])
        assert torch.equal(result.cpu(), expected), (result, expected)
        assert result.stride() == expected.stride(), (result.stride(), expected.stride())


def refused_alike(fn):
    for place in ("cpu", device, device):
        try:
            fn(place)
        except RuntimeError as error:
            continue
        raise AssertionError(f"{place} takes it")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    plugin = compile_test_plugin(tmp_path_factory.mktemp("plugin"), "odd_kernels")
    return lambda code: output_of(PRELUDE + code, "odd_kernels", TORCHPLUG_DEVICE=plugin)


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What is said when the plugin is loaded."""
    plugin = compile_test_plugin(tmp_path_factory.mktemp("plugin"), "odd_kernels")
    done = run_python("torch.ones(1, device=device)", "odd_kernels", TORCHPLUG_DEVICE=plugin)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_tensor_that_overlaps_itself_is_filled(run):
    run("""
x = torch.zeros(1, device=device).expand(3)
for value in (1.0, 2.0):
    assert x.fill_(value).tolist() == [value] * 3
assert torch.zeros(2, 1, device=device).expand(2, 3).fill_(4).sum().item() == 24
y = torch.empty(3, device=device)
before = calls_of("aten::fill_.Scalar")
y.fill_(1.0)
assert calls_of("aten::fill_.Scalar") == before + 1
""")


def test_a_filled_copy_of_nothing_has_the_strides_of_the_cpus(run):
    run("""
for x in (torch.empty(0, 3), torch.empty(3, 0).t(), torch.empty(2, 0, 3).permute(2, 0, 1),
          torch.empty_strided((0, 4), (9, 2)), torch.empty_strided((2, 0, 4), (1, 7, 3)),
          torch.empty(0, 2, 3, 4).contiguous(memory_format=torch.channels_last), torch.empty(4, 3).t()):
    assert torch.fill(x.to(device), 1.0).stride() == torch.fill(x, 1.0).stride()
    same(lambda t: torch.fill(t, 1.0), x)
""")


def test_an_output_of_another_dtype_is_what_the_cpu_says(run):
    run("""
whole = torch.arange(4)
refused_alike(lambda d: torch.neg(whole.to(d), out=torch.empty(4, device=d)))
refused_alike(lambda d: torch.neg(whole.float().to(d), out=torch.empty(4, dtype=torch.int64, device=d)))
same(lambda t: torch.neg(t, out=torch.empty_like(t)), whole)
assert calls_of("aten::neg.out") == 2
""")


def test_a_copy_by_a_kernel_stays_on_its_device_and_others_go_where_they_are_sent(run):
    run("""
x = torch.tensor([1.5, 2.5], device=device)
assert x.device.type == device.type and x.tolist() == [1.5, 2.5]
assert torch.tensor([1, 2], dtype=torch.float64, device=device).dtype == torch.float64
wide = x.to(torch.float64)
assert wide.tolist() == [1.5, 2.5] and wide.dtype == torch.float64
assert calls_of("aten::_to_copy") == 1
assert x.to("cpu", torch.float64).device.type == "cpu"
assert torch.ones(2).to(device, torch.float64).device.type == device.type
assert x.to(torch.int32).tolist() == [1, 2]
assert calls_of("aten::_to_copy") == 1
assert x.to("meta").device.type == "meta"
y = torch.randn(3, 4, requires_grad=True)
z = y.detach().to(device).requires_grad_()
for t in (y, z):
    (t.double() ** 2).sum().backward()
assert torch.equal(z.grad.cpu(), y.grad)
""")


def test_an_in_place_operator_that_has_no_functional_form_is_bound_itself(run):
    run("""
for x in (torch.zeros(4, device=device), torch.zeros(4, 4, device=device)[:, 1]):
    before = calls_of("aten::normal_")
    assert x.normal_(3.0, 1.0) is x
    assert x.tolist() == [3.0] * 4
    assert calls_of("aten::normal_") == before + 1
""")


def test_a_kernel_for_one_direction_of_a_cell_goes_with_the_composed_other(run):
    run("""
cells = torch.nn.LSTM(3, 4)
there = torch.nn.LSTM(3, 4)
there.load_state_dict(cells.state_dict())
there.to(device)
x = torch.randn(5, 2, 3)
for model, given in ((cells, x), (there, x.to(device))):
    result, (hidden, cell) = model(given)
    (result.square().sum() + cell.sum()).backward()
torch.testing.assert_close(result.cpu(), cells(x)[0])
for a, b in zip(there.parameters(), cells.parameters()):
    torch.testing.assert_close(a.grad.cpu(), b.grad)
assert calls_of("aten::_thnn_fused_lstm_cell") > 0
""")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("aten::relu_(", "bind the functional operator, aten::relu,"),
        (
            "aten::view(",
            "its result is a view of an argument, which torchplug makes for every device",
        ),
        ("aten::empty.memory_format(", "torchplug does aten::empty.memory_format itself"),
    ],
)
def test_a_kernel_of_no_use_is_named_with_the_reason(complaints, schema, why):
    (line,) = [line for line in complaints.splitlines() if f"for {schema}" in line]
    assert "is not used" in line and why in line


def test_kernels_that_are_used_are_not_complained_about(complaints):
    assert complaints.count("is not used") == 3


def test_dropout_that_the_kernel_declines_draws_from_the_device(run):
    run("""
module = torch.get_device_module(device)
host, drawn = torch.get_rng_state(), []
for _ in range(2):
    module.manual_seed(3)
    x = torch.ones(100, dtype=torch.float64, device=device)
    drawn.append([torch.nn.functional.dropout(x, 0.5).tolist(), torch.native_dropout(x, 0.5, True)[0].tolist()])
assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][1]
assert {*drawn[0][0]} == {0.0, 2.0}
assert torch.equal(torch.get_rng_state(), host)
""")
