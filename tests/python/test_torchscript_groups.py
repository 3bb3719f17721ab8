"""torchplug.torchscript: what a grouped function does is what it does without groups."""

import gc
import threading

import pytest
import torch
from helpers import assert_equal, assert_same, capture, output_of
from scripting import (
    as_eager,
    engine_runs,
    frozen,
    graph_of_last,
    group_count,
    script,
    scripted,
    trace,
)
from torch import nn
from torch.nn import functional as F

import torchplug
from torchplug import torchscript

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")


@pytest.fixture(autouse=True)
def groups(compiling_afresh):
    torchscript.enable()
    yield
    torchscript.disable()


def x(*shape):
    return torch.randn(*shape)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(F.gelu(self.norm(self.first(x))) * 2.0) + 1.0


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


# ---- who writes what ----


def test_writing_in_place_is_seen_by_the_caller(device):
    f = scripted("""
def f(x, y):
    z = torch.relu(x * 2.0)
    x.add_(1.0)
    y[0].mul_(3.0)
    return z + x * y
""")

    def reference(x, y):
        z = torch.relu(x * 2.0)
        x.add_(1.0)
        y[0].mul_(3.0)
        return z + x * y

    as_eager(f, reference, device, x(3, 3), x(3, 3))


def test_writing_what_is_new_is_done_in_groups_and_keeps_its_dtype(device):
    f = scripted("""
def f(x, y):
    z = x * 2
    z += y
    z.relu_()
    return z * x
""")

    def reference(x, y):
        z = x * 2
        z += y
        z.relu_()
        return z * x

    as_eager(f, reference, device, x(3, 3), x(3, 3))
    assert "relu_" not in graph_of_last()
    as_eager(f, reference, device, x(3, 3).half(), x(3, 3), rtol=1e-2, atol=1e-2)


def test_results_that_are_views_are_views(device):
    f = scripted("""
def f(x):
    y = torch.relu(x + 1.0)
    return y, y.t(), x.view(-1), y[0]
""")
    for _ in range(4):
        given = x(3, 4).to(device)
        y, transposed, flat, row = f(given)
        flat.zero_()
        row.fill_(7.0)
        assert_equal(given, torch.zeros(3, 4))
        assert_equal(transposed, y.t())
        assert_equal(y[0].cpu(), torch.full((4,), 7.0))


def test_a_view_that_is_written_writes_what_it_is_of(device):
    f = scripted("""
def f(x):
    y = torch.relu(x + 1.0) * 2.0
    z = y[1:]
    z.zero_()
    return y + 1.0
""")

    def reference(x):
        y = torch.relu(x + 1.0) * 2.0
        y[1:] = 0
        return y + 1.0

    as_eager(f, reference, device, x(3, 4))


def test_what_gives_its_input_without_saying_so_is_written_with_it(device):
    f = scripted("""
def f(x):
    y = torch.dropout(x, 0.5, False)
    z = torch.relu(x * 2.0)
    y.add_(1.0)
    return y, torch.relu(x * 3.0) + z
""")

    def reference(x):
        z = torch.relu(x * 2.0)
        x.add_(1.0)
        return x, torch.relu(x * 3.0) + z

    as_eager(f, reference, device, x(3, 3))


def test_results_of_one_call_are_not_those_of_the_next(device):
    f = scripted("def f(x):\n  return torch.relu(x * 8.0) + 1.0")
    given = [x(3, 3).to(device) for _ in range(5)]
    results = [f(one) for one in given]
    for one, result in zip(given, results, strict=True):
        assert_same(result, torch.relu(one * 8.0) + 1.0)


def test_a_batch_norm_that_trains_writes_its_statistics(device):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    there = script(model).to(device)
    reference = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    reference.load_state_dict({key: value.cpu() for key, value in there.state_dict().items()})
    with torch.no_grad():
        for _ in range(4):
            given = x(2, 3, 6, 6)
            assert_same(there(given.to(device)), reference(given), rtol=1e-4, atol=1e-5)
    for name, value in reference.state_dict().items():
        assert_same(there.state_dict()[name], value, rtol=1e-4, atol=1e-5)


def test_statistics_are_written_once_a_call_whatever_their_operator_is_called(device):
    f = scripted("""
def f(x, mean, variance):
    y = torch.native_batch_norm(x * 1.0, None, None, mean, variance, True, 0.5, 1e-5)[0]
    return torch.relu(y) + 1.0
""")

    def reference(x, mean, variance):
        y = torch.native_batch_norm(x * 1.0, None, None, mean, variance, True, 0.5, 1e-5)[0]
        return torch.relu(y) + 1.0

    as_eager(f, reference, device, x(4, 3, 5), torch.zeros(3), torch.ones(3), rtol=1e-4, atol=1e-5)


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


# ---- gradients ----


def gradients(function, *given):
    leaves = [one.detach().clone().requires_grad_() for one in given]
    result = function(*leaves)
    (result * result).sum().backward()
    return [result, *(leaf.grad for leaf in leaves)]


def test_gradients_are_those_of_eager(device):
    f = scripted("def f(x, y):\n  return (torch.sigmoid(x * y) + torch.tanh(x)) * y")

    def reference(x, y):
        return (torch.sigmoid(x * y) + torch.tanh(x)) * y

    for _ in range(5):
        given = x(3, 4), x(3, 4)
        actual = gradients(f, *(one.to(device) for one in given))
        assert_same(actual, gradients(reference, *given), rtol=1e-4, atol=1e-5)
    assert any("sigmoid" in group.operators and group.engine_runs for group in torchscript.report())


def test_training_is_as_eager(device):
    torch.manual_seed(0)
    reference = Perceptron()
    model = Perceptron()
    model.load_state_dict(reference.state_dict())
    model = script(model.to(device))
    optimizers = [torch.optim.SGD(one.parameters(), 0.05) for one in (reference, model)]
    for _ in range(8):
        given = x(6, 8)
        for one, at, optimizer in zip((reference, model), ("cpu", device), optimizers, strict=True):
            optimizer.zero_grad()
            one(given.to(at)).square().mean().backward()
            optimizer.step()
    for here, there in zip(reference.parameters(), model.parameters(), strict=True):
        assert_same(there, here, rtol=1e-4, atol=1e-5)


def test_a_call_that_wants_gradients_after_calls_that_did_not_has_them(device):
    f = scripted("def f(x):\n  return torch.relu(x * 9.0) * x")
    as_eager(f, lambda x: torch.relu(x * 9.0) * x, device, x(3, 3))
    given = x(3, 3)
    actual, expected = (
        gradients(f, given.to(device)),
        gradients(lambda x: torch.relu(x * 9.0) * x, given),
    )
    assert_same(actual, expected, rtol=1e-4, atol=1e-5)


# ---- what PyTorch has beside ----


def test_random_numbers_repeat_with_the_seed_and_are_those_without_groups(device):
    source = (
        "def f(x):\n  return torch.relu(torch.dropout(x * 2.0, 0.5, True)) + torch.rand_like(x)"
    )
    f = scripted(source)
    given = x(16, 16).to(device)

    def draw():
        torch.manual_seed(3)
        return f(given)

    results = [draw() for _ in range(4)]
    torchscript.disable()
    results.append(draw())
    torchscript.enable()
    for result in results[1:]:
        assert_equal(result, results[0])
    assert not torch.equal(f(given), results[0])


def test_autocast_is_that_of_the_call(device):
    model = Perceptron().eval().to(device)
    there = script(model)
    given = x(3, 8).to(device)
    with torch.no_grad():
        for _ in range(3):
            assert_same(there(given), model(given), rtol=1e-4, atol=1e-5)
        for _ in range(3):
            with torch.autocast(device.type, torch.bfloat16):
                assert_same(there(given), model(given), rtol=2e-2, atol=2e-2)
        assert_same(there(given), model(given), rtol=1e-4, atol=1e-5)


def test_inference_mode_gives_tensors_of_inference_mode(device):
    model = Perceptron().eval().to(device)
    there = script(model)
    given = x(3, 8).to(device)
    with torch.inference_mode():
        for _ in range(4):
            result = there(given)
            assert_same(result, model(given), rtol=1e-4, atol=1e-5)
            assert result.is_inference()


def test_several_threads_call_one_function(device):
    f = scripted("def f(x, n: float):\n  return torch.relu(x * n) + x")
    as_eager(f, lambda x, n: torch.relu(x * n) + x, device, x(3, 3), 1.0)
    wrong = []

    def work(seed):
        for i in range(20):
            given = torch.full((3, 1 + (seed + i) % 3), float(seed + 1), device=device)
            if not torch.equal(
                f(given, float(i % 2)).cpu(), (torch.relu(given * (i % 2)) + given).cpu()
            ):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_group_can_be_captured_and_replayed(device, module):
    f = scripted("def f(x):\n  return torch.relu(x * 2.5) + x")
    as_eager(f, lambda x: torch.relu(x * 2.5) + x, device, x(3, 3))
    given = x(3, 3).to(device)
    graph, result = capture(module, lambda: f(given))
    fresh = x(3, 3)
    given.copy_(fresh)
    graph.replay()
    assert_same(result, torch.relu(fresh * 2.5) + fresh)


def test_groups_go_with_their_functions(device):
    f = scripted("def f(x):\n  return torch.relu(x * 5.5) + x")
    as_eager(f, lambda x: torch.relu(x * 5.5) + x, device, x(3, 3))
    before = len(torchscript.report())
    del f
    gc.collect()
    other = scripted("def f(x):\n  return x")  # PyTorch keeps the last graph that it has run
    for _ in range(3):
        other(x(1).to(device))
    assert len(torchscript.report()) == before - 1


# ---- bad input ----


def test_enabling_twice_is_refused():
    with pytest.raises(RuntimeError, match=r"enabled already. Call disable\(\) first\."):
        torchscript.enable()


def test_disabling_twice_is_nothing_and_groups_are_interpreted_from_then_on(device):
    f = scripted("def f(x):\n  return torch.relu(x * 3.5) + x")
    as_eager(f, lambda x: torch.relu(x * 3.5) + x, device, x(3, 3))
    torchscript.disable()
    torchscript.disable()
    assert not torchscript.is_enabled()
    before = engine_runs()
    as_eager(f, lambda x: torch.relu(x * 3.5) + x, device, x(3, 3))
    assert engine_runs() == before
    torchscript.enable()
    as_eager(f, lambda x: torch.relu(x * 3.5) + x, device, x(3, 3))
    assert engine_runs() > before


def test_disabling_while_groups_run_is_safe(device):
    f = scripted("def f(x):\n  return torch.relu(x * 4.5) + x")
    as_eager(f, lambda x: torch.relu(x * 4.5) + x, device, x(3, 3))
    given = x(3, 3).to(device)
    expected = (torch.relu(given * 4.5) + given).cpu()
    wrong = []
    done = threading.Event()

    def work():
        while not done.is_set():
            if not torch.equal(f(given).cpu(), expected):
                wrong.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):
        torchscript.disable()
        torchscript.enable()
    done.set()
    thread.join()
    assert wrong == []


def test_what_pytorch_cannot_run_gives_its_error(device):
    f = scripted("def f(x, y):\n  return torch.relu(x) @ y")
    as_eager(f, lambda x, y: torch.relu(x) @ y, device, x(3, 4), x(4, 2), rtol=1e-4, atol=1e-5)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            f(x(3, 4).to(device), x(3, 2).to(device))
    as_eager(f, lambda x, y: torch.relu(x) @ y, device, x(3, 4), x(4, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_error": "never"}, "Option 'on_error' is 'never'. It may be \"raise\" or \"eager\"."),
        ({"engines": 0}, "Option 'engines' is 0. Give at least 1."),
        ({"min_nodes": 0}, "Option 'min_nodes' is 0. Give at least 1."),
    ],
)
def test_an_option_that_is_none_is_refused_in_one_sentence(options, said):
    with pytest.raises(ValueError) as raised:
        torchscript.enable(**options)
    assert str(raised.value) == said


FAILING = """
import torch, warnings
warnings.simplefilter("ignore")
from torchplug import _C, torchscript
_C.set_faults("compile:1+")
f = torch.jit.CompilationUnit("def f(x):\\n  return torch.relu(x * 2.0) + x\\n").f
x = torch.ones(3, device="{device}")
for on_error in ("raise", "eager"):
    torchscript.enable(on_error=on_error)
    for _ in range(4):
        try:
            print(f(x).tolist())
        except RuntimeError as error:
            print([line for line in str(error).splitlines() if "compile failed" in line])
    torchscript.disable()
    f = torch.jit.CompilationUnit("def f(x):\\n  return torch.relu(x * 2.0) + x\\n").f
"""


def test_a_compile_that_fails_is_an_error_or_leaves_operators_one_by_one(device, tmp_path):
    said = output_of(
        FAILING.replace("{device}", device.type),
        device,
        TORCHPLUG_LAYERS="fault",
        TORCHPLUG_CACHE_DIR=str(tmp_path),
    )
    right = "[3.0, 3.0, 3.0]"
    wrong = "sim:0: compile failed (internal error): the fault layer was told 'compile:1+'."
    wrong = str([f"RuntimeError: {wrong}"])
    assert said.splitlines() == [right, right, wrong, wrong, *[right] * 4]


REFUSED = """
import torch
from torchplug import torchscript
try:
    torchscript.enable()
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


def test_a_device_without_a_compiler_is_told_so_in_one_sentence(device):
    said = output_of(REFUSED, device, TORCHPLUG_SIM_COMPILER="off")
    assert said == (
        "Plugin 'sim' has no compiler (plug_module.compiler), so that there is nothing to run groups with. "
        "Run scripted modules as they are."
    )


def test_nothing_of_it_is_loaded_until_it_is_asked_for(device):
    said = output_of(
        'import torch\nimport torchplug\nprint("torchplug_torchscript" in open("/proc/self/maps").read())',
        device,
    )
    assert said == "False"
