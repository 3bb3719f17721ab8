"""What a grouped function does beside its results is what it does without groups."""

import gc
import threading

import pytest
import torch
from helpers import assert_equal, assert_same, capture
from scripting import (
    CALLS,
    Perceptron,
    as_eager,
    graph_of_last,
    script,
    scripted,
    x,
)
from torch import nn
from torch.autograd import forward_ad

from torchplug import torchscript

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("groups"),
]


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


@pytest.mark.parametrize(
    ("written", "other", "said"),
    [
        (torch.ones(3), torch.ones(3, 3), "doesn't match the broadcast shape"),
        (torch.ones(3).long(), torch.ones(3), "can't be cast to the desired output type"),
    ],
    ids=["sizes", "dtype"],
)
def test_what_cannot_be_written_is_told_as_pytorch_does(device, written, other, said):
    f = scripted("""
def f(x, y):
    z = x * 2
    z += y
    return z * x
""")
    as_eager(f, lambda x, y: (x * 2 + y) * x, device, written, written)
    for _ in range(CALLS):
        with pytest.raises(RuntimeError, match=said):
            f(written.to(device), other.to(device))
    as_eager(f, lambda x, y: (x * 2 + y) * x, device, written, written)


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


def test_tangents_are_those_of_eager(device):
    f = scripted("def f(x):\n  return torch.sigmoid(x * 2.0) * x")
    given, direction = x(3, 3), x(3, 3)
    as_eager(f, lambda x: torch.sigmoid(x * 2.0) * x, device, given)
    expected = torch.func.jvp(lambda x: torch.sigmoid(x * 2.0) * x, (given,), (direction,))
    for _ in range(CALLS):
        with forward_ad.dual_level():
            result = f(forward_ad.make_dual(given.to(device), direction.to(device)))
            assert_same(tuple(forward_ad.unpack_dual(result)), expected, rtol=1e-4, atol=1e-5)


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


class Inferred(Perceptron):
    """PyTorch specialises the code of a class by its first calls: where these trained, inference mode fails on the CPU too."""


def test_inference_mode_gives_tensors_of_inference_mode(device):
    model = Inferred().eval().to(device)
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


def test_a_failure_before_a_group_is_raised_by_its_first_call_of_a_kind(device, module):
    f = scripted("def f(x):\n  return torch.tanh(x @ x) + 1.0")
    rows, within = torch.ones(4, 3, device=device), torch.tensor([0, 1], device=device)
    beyond = torch.tensor([0, 99], device=device)
    for _ in range(3):
        f(x(3, 3).to(device))
        rows[within]
    module.synchronize()
    missed = rows[beyond]
    with pytest.raises(RuntimeError, match="index 99 is out of bounds"):
        for _ in range(3):
            f(x(3, 3).double().to(device))
    del missed
    module.synchronize()
    given = x(3, 3).double()
    as_eager(f, lambda x: torch.tanh(x @ x) + 1.0, device, given)


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
