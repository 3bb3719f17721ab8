"""torchplug.torchscript: which operators, calls and weights a group is of."""

import copy

import pytest
import torch
from helpers import assert_same, output_of
from scripting import (
    Perceptron,
    as_eager,
    engine_runs,
    frozen,
    graph_of_last,
    group_count,
    script,
    scripted,
    trace,
    x,
)
from torch import nn

import torchplug
from torchplug import torchscript

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("groups"),
]


# ---- what is seen ----


def test_operators_are_one_node_in_the_graphs_that_pytorch_shows(device):
    f = scripted("def f(x, y):\n  return torch.relu(x + y) * y - x")
    as_eager(f, lambda x, y: torch.relu(x + y) * y - x, device, x(4, 5), x(4, 5))
    assert group_count() == 1
    given = x(4, 5).to(device)
    shown = str(f.graph_for(given, given))
    assert f"{device.type}::CompilationGroup" in shown


def test_the_profiler_shows_the_group(device):
    f = scripted("def f(x):\n  return torch.relu(x * 3.0) + x")
    as_eager(f, lambda x: torch.relu(x * 3.0) + x, device, x(3, 3))
    with torch.profiler.profile() as profile:
        f(x(3, 3).to(device))
    names = [event.name for event in profile.events()]
    assert f"{device.type}::CompilationGroup" in names


def test_the_ledger_counts_the_engine(device):
    f = scripted("def f(x):\n  return torch.relu(x * 4.0) + x")
    as_eager(f, lambda x: torch.relu(x * 4.0) + x, device, x(3, 3))
    torchplug.reset_ledger()
    f(x(3, 3).to(device))
    assert [(entry.op, entry.way) for entry in torchplug.ledger()] == [("engine", "engine")]


def test_the_report_says_what_has_become_of_a_group(device):
    f = scripted("def f(x):\n  return torch.sigmoid(x * 5.0) + x")
    as_eager(f, lambda x: torch.sigmoid(x * 5.0) + x, device, x(3, 3))
    group = torchscript.report()[-1]
    assert group.operators == "mul, sigmoid, add"
    assert (group.programs, group.calls, group.interpreted, group.engine_runs) == (1, 3, 0, 2)
    assert group.compiled + group.loaded == 1 and group.why == ()


def test_what_the_compiler_does_not_list_stays_outside(device):
    f = scripted("def f(x):\n  return torch.lgamma(torch.relu(x) + 1.0) * x")
    as_eager(f, lambda x: torch.lgamma(torch.relu(x) + 1.0) * x, device, x(3, 3))
    assert "aten::lgamma" in graph_of_last().split("with ")[0]
    assert group_count() == 2


# ---- which calls share a program ----


def test_another_batch_size_has_an_engine_of_its_own(device):
    f = scripted("def f(x):\n  return torch.relu(x * 6.0) + x")
    for size in (2, 3, 2, 3, 2, 3):
        as_eager(f, lambda x: torch.relu(x * 6.0) + x, device, x(size, 3), calls=2)
    before = engine_runs()
    f(x(3, 3).to(device))
    assert engine_runs() == before + 1


def test_numbers_of_calls_count(device):
    f = scripted("def f(x, n: float, m: int):\n  return torch.relu(x * n) + m")
    for n, m in ((2.0, 1), (3.0, 1), (2.0, 4), (3.0, 4), (2.0, 1)):
        as_eager(f, lambda x, n, m: torch.relu(x * n) + m, device, x(3, 3), n, m, calls=3)


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 2.5])
@pytest.mark.parametrize("compare", [">=", "==", "<", "*", "+"])
def test_numbers_meet_tensors_of_booleans_as_they_do_in_pytorch(device, compare, number):
    kind = type(number).__name__
    f = scripted(f"def f(x, n: {kind}):\n  y = x {compare} n\n  return torch.where(x, y, y)")
    named = {
        ">=": torch.ge,
        "==": torch.eq,
        "<": torch.lt,
        "*": torch.mul,
        "+": torch.add,
    }[compare]

    def reference(x, n):
        y = named(x, n)
        return torch.where(x, y, y)

    as_eager(f, reference, device, torch.tensor([False, True, True]), number)


def test_a_tensor_that_is_given_twice_is_two_inputs(device):
    f = scripted("def f(x, y):\n  return torch.relu(x * 7.0) - y")
    one, other = x(3, 3).to(device), x(3, 3).to(device)
    for _ in range(4):
        assert_same(f(one, one), torch.relu(one * 7.0) - one)
    assert_same(f(one, other), torch.relu(one * 7.0) - other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64])
def test_another_dtype_is_another_kind_of_call(device, dtype):
    f = scripted("def f(x, y):\n  return (x * 2 + y) * x")
    for first in (torch.float32, dtype):
        given = [torch.randint(-4, 5, (3, 3)).to(first), torch.randint(-4, 5, (3, 3)).to(dtype)]
        as_eager(f, lambda x, y: (x * 2 + y) * x, device, *given)


def test_strides_are_kept(device):
    f = scripted("def f(x):\n  return torch.relu(x + 1.0) * 2.0")
    for given in (
        x(3, 4).t(),
        x(2, 3, 4, 4).to(memory_format=torch.channels_last),
        x(4, 6)[:, ::2],
    ):
        for _ in range(3):
            there = f(given.to(device))
            expected = torch.relu(given + 1.0) * 2.0
            assert_same(there, expected)
            assert there.stride() == (torch.relu(given.to(device) + 1.0) * 2.0).stride()


@pytest.mark.parametrize(
    "shapes", [((3,), (3, 5)), ((3,), (3,)), ((4, 3), (3,)), ((3,), (2, 3, 5)), ((2, 4, 3), (3, 5))]
)
def test_products_of_vectors_have_their_shapes(device, shapes):
    f = scripted("def f(x, y):\n  return torch.relu(torch.matmul(x, y)) * 2.0")
    as_eager(f, lambda x, y: torch.relu(x @ y) * 2.0, device, *(x(*shape) for shape in shapes))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 8)])
def test_a_linear_layer_of_any_dimensions_has_its_shape(device, shape, bias):
    model = nn.Sequential(nn.Linear(8, 5, bias=bias), nn.ReLU()).eval()
    module = script(copy.deepcopy(model).to(device))
    with torch.no_grad():
        for given in (x(*shape), x(*shape[::-1]).permute(*range(len(shape))[::-1])):
            as_eager(module, model, device, given, rtol=1e-5, atol=1e-6)


def test_more_kinds_of_calls_than_are_kept_are_right(device):
    torchscript.disable()
    torchscript.enable(engines=2)
    f = scripted("def f(x):\n  return torch.relu(x - 0.5) * x")
    for _ in range(3):
        for size in range(1, 6):
            as_eager(f, lambda x: torch.relu(x - 0.5) * x, device, x(size), calls=1)
    assert torchscript.report()[-1].programs <= 2


def test_none_and_lists_are_inputs(device):
    f = scripted("""
def f(x, y: Optional[Tensor], parts: List[Tensor], dims: List[int]):
    z = torch.relu(torch.cat(parts, 0) * 2.0)
    if y is not None:
        z = z + y
    return z.sum(dims) * x
""")

    def reference(x, y, parts, dims):
        z = torch.relu(torch.cat(parts, 0) * 2.0)
        return ((z if y is None else z + y).sum(dims)) * x

    for y in (None, x(6, 4)):
        as_eager(f, reference, device, x(4), y, [x(2, 4), x(4, 4)], [0], calls=3)
        as_eager(f, reference, device, x(6), y, [x(2, 4), x(4, 4)], [1], calls=3)


def test_numbers_in_tensors_of_the_cpu_are_looked_at_in_each_call(device):
    f = scripted("""
def f(x, mask, value, factor):
    return x.masked_fill(mask, value) * factor + torch.pow(x.abs(), factor)
""")

    def reference(x, mask, value, factor):
        return x.masked_fill(mask, value) * factor + torch.pow(x.abs(), factor)

    mask = torch.tensor([True, False, True])
    for number in (1.0, 2.0, 1.0, 3.0, 4.0):
        value, factor = torch.tensor(number), torch.tensor(number + 1.0)
        given = x(3)
        actual = f(given.to(device), mask.to(device), value, factor)
        assert_same(actual, reference(given, mask, value, factor), rtol=1e-5, atol=1e-6)


# ---- control flow ----


def test_branches_are_each_right(device):
    f = scripted("""
def f(x, flag: bool):
    if flag:
        y = torch.relu(x + 1.0) * x
    else:
        y = torch.sigmoid(x) - x
    return y * 2.0
""")

    def reference(x, flag):
        return (torch.relu(x + 1.0) * x if flag else torch.sigmoid(x) - x) * 2.0

    for flag in (True, True, True, False, False, False, True):
        as_eager(f, reference, device, x(3, 3), flag, calls=1)


def test_loops_run_as_often_as_they_should(device):
    f = scripted("""
def f(x, n: int):
    y = x
    for i in range(n):
        y = torch.tanh(y * 0.5 + x) + float(i)
    return y
""")

    def reference(x, n):
        y = x
        for i in range(n):
            y = torch.tanh(y * 0.5 + x) + float(i)
        return y

    for n in (3, 3, 3, 0, 1, 7):
        as_eager(f, reference, device, x(3, 3), n, calls=1)


# ---- weights ----


def test_weights_that_change_count_from_the_next_call_on(device):
    model = script(Perceptron().eval()).to(device)
    given = x(3, 8).to(device)

    def check():
        reference = Perceptron()
        reference.load_state_dict({key: value.cpu() for key, value in model.state_dict().items()})
        assert_same(model(given), reference(given.cpu()), rtol=1e-4, atol=1e-5)

    with torch.no_grad():
        for _ in range(4):
            check()
        model.first.weight.mul_(2.0)
        check()
        model.load_state_dict(
            {key: torch.randn_like(value) for key, value in model.state_dict().items()}
        )
        check()
        model.second.bias.data = torch.ones(4, device=device)
        check()


def test_a_frozen_module_keeps_its_weights(device):
    model = Perceptron().eval()
    constant = frozen(model.to(device))
    given = x(3, 8).to(device)
    with torch.no_grad():
        expected = model(given)
        for _ in range(4):
            assert_same(constant(given), expected, rtol=1e-4, atol=1e-5)
    assert group_count() == 1


def test_lists_of_weights_of_a_frozen_module_are_given_to_its_group(device):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.LSTM(4, 6, 2)

        def forward(self, x):
            return self.cells(x)[0]

    model = Recurrent().eval()
    module = frozen(copy.deepcopy(model).to(device))
    before = engine_runs()
    with torch.no_grad():
        as_eager(module, model, device, x(3, 2, 4), rtol=1e-5, atol=1e-6)
    assert engine_runs() > before
    assert torchscript.report()[-1].why == ()


def test_a_module_optimised_for_inference_is_as_it_was(device):
    model = Perceptron().eval().to(device)
    better = torch.jit.optimize_for_inference(script(model))
    given = x(3, 8).to(device)
    with torch.no_grad():
        for _ in range(4):
            assert_same(better(given), model(given), rtol=1e-4, atol=1e-5)


def test_a_saved_module_has_groups_when_it_is_loaded(device, tmp_path):
    model = Perceptron().eval().to(device)
    script(model).save(tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt")
    given = x(3, 8).to(device)
    with torch.no_grad():
        for _ in range(4):
            assert_same(loaded(given), model(given), rtol=1e-4, atol=1e-5)
    assert group_count() == 1


def test_a_traced_module_has_groups(device):
    model = Perceptron().eval().to(device)
    traced = trace(model, x(3, 8).to(device))
    with torch.no_grad():
        for rows in (3, 5, 3, 5, 3, 5):
            given = x(rows, 8).to(device)
            assert_same(traced(given), model(given), rtol=1e-4, atol=1e-5)
    assert group_count() == 1


WHOLE = """
import torch, warnings
warnings.simplefilter("ignore")
import torchplug
from torchplug import torchscript
torchscript.enable()
model = torch.nn.Conv2d(3, 4, 3).to("{device}")
given = torch.randn(2, 3, 8, 8).to("{device}")
traced = torch.jit.trace(model, given)
with torch.no_grad():
    for _ in range(3):
        result = traced(given)
torchplug.reset_ledger()
with torch.no_grad():
    assert torch.allclose(traced(given).cpu(), model.cpu()(given.cpu()), atol=1e-5)
print([entry.op for entry in torchplug.ledger() if entry.way == "engine"])
"""


def test_a_traced_convolution_alone_runs_in_a_group(device):
    printed = output_of(
        WHOLE.replace("{device}", device.type), device, TORCHPLUG_SIM_COMPILER="whole"
    )
    assert printed == "['engine']"


LINES = """
import torch, warnings
warnings.simplefilter("ignore")
import torchplug
from torchplug import torchscript
torchscript.enable()
for bias in (True, False):
    model = torch.nn.Sequential(torch.nn.Linear(8, 5, bias=bias), torch.nn.ReLU())
    module = torch.jit.script(model).to("{device}")
    with torch.no_grad():
        for shape in ((8,), (3, 8), (2, 3, 8)):
            given = torch.randn(shape)
            found = [module(given.to("{device}")).cpu() for _ in range(4)]
            expected = model.cpu()(given)
            model.to("{device}")
            assert all(one.shape == expected.shape and torch.allclose(one, expected, atol=1e-5) for one in found)
print([group.why for group in torchscript.report()])
"""


def test_a_compiler_of_products_is_given_those_of_vectors(device):
    printed = output_of(
        LINES.replace("{device}", device.type), device, TORCHPLUG_SIM_COMPILER="whole"
    )
    assert printed == "[(), ()]"
