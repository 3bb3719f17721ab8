"""Groups of modules that live on the CPU, on the device: weights are kept there, only inputs and outputs move."""

import pytest
import torch
from helpers import assert_same
from scripting import CALLS, as_eager, engine_runs, script, scripted
from torch import nn

import torchplug
from torchplug import torchscript

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture
def offload():
    torchscript.enable(offload=True)
    yield
    torchscript.disable()


def perceptron():
    return nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8), nn.Softmax(-1)).eval()


def moved():
    return [(one.count, one.bytes) for one in torchplug.ledger() if one.op == "offload"]


def test_a_module_of_the_cpu_runs_on_the_device(offload):
    model = perceptron()
    there = script(model)
    given = torch.randn(3, 64)
    with torch.no_grad():
        for _ in range(CALLS):
            result = there(given)
            assert result.device.type == "cpu"
            assert_same(result, model(given), **CLOSE)
    assert engine_runs() > 0


def test_only_inputs_and_outputs_move(offload):
    there = script(perceptron())
    with torch.no_grad():
        for _ in range(CALLS):
            there(torch.randn(3, 64))
        torchplug.reset_ledger()
        there(torch.randn(3, 64))
    assert moved() == [(1, 4 * (3 * 64 + 3 * 8))]


def test_without_offload_modules_of_the_cpu_stay_there():
    torchscript.enable()
    try:
        f = scripted("def f(x):\n  return torch.relu(x * 2.0) + x")
        for _ in range(CALLS):
            f(torch.randn(3))
        assert "CompilationGroup" not in str(torch.jit.last_executed_optimized_graph())
    finally:
        torchscript.disable()


def test_weights_that_change_count_from_the_next_call_on(offload):
    model = perceptron()
    there = script(perceptron())
    given = torch.randn(3, 64)

    def check():
        model.load_state_dict(there.state_dict())
        assert_same(there(given), model(given), **CLOSE)

    with torch.no_grad():
        for _ in range(CALLS):
            check()
        for weight in there.parameters():
            weight.mul_(1.5)
        check()
        there.load_state_dict(perceptron().state_dict())
        check()
        getattr(there, "0").weight.data = torch.ones(64, 64)
        check()


@pytest.mark.parametrize(
    "kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad]
)
def test_weights_that_a_fused_step_writes_count_from_the_next_call_on(offload, kind):
    model = perceptron()
    there = script(perceptron())
    optimizer = kind(there.parameters(), lr=0.1, fused=True)
    given = torch.randn(3, 64)
    for _ in range(CALLS):
        there(given).sum().backward()
        optimizer.step()
        model.load_state_dict(there.state_dict())
        with torch.no_grad():
            assert_same(there(given), model(given), **CLOSE)


def test_weights_of_modules_that_are_gone_are_not_taken_for_others(offload):
    """New weights may have the address of old ones."""
    given = torch.randn(2, 64)
    for _ in range(6):
        model = perceptron()
        there = script(model)
        with torch.no_grad():
            for _ in range(CALLS):
                assert_same(there(given), model(given), **CLOSE)
        del model, there


def test_views_and_writes_are_those_of_the_cpu(offload):
    f = scripted("""
def f(x):
    y = torch.relu(x + 1.0)
    z = torch.relu(x * 2.0)
    x.mul_(0.5)
    return y, y.t(), z
""")

    def reference(x):
        y, z = torch.relu(x + 1.0), torch.relu(x * 2.0)
        x.mul_(0.5)
        return y, y.t(), z

    as_eager(f, reference, torch.device("cpu"), torch.randn(3, 4), **CLOSE)
    y, transposed, _ = f(torch.randn(3, 4))
    y.zero_()
    assert_same(transposed, torch.zeros(4, 3))


@pytest.mark.parametrize(
    "given",
    [torch.randn(4, 3).t(), torch.randn(4, 6)[:, ::2], torch.randn(1, 3).expand(4, 3)],
    ids=["transposed", "sliced", "expanded"],
)
def test_strides_decide_on_the_device_as_on_the_cpu(offload, given):
    """Whether reshape gives a view, and what is written with it."""
    f = scripted("""
def f(x):
    y = torch.relu(x) + 1.0
    flat = y.reshape(-1)
    return y, flat, x.reshape(-1) * 2.0, torch.empty_like(x).stride()
""")

    def reference(x):
        y = torch.relu(x) + 1.0
        return y, y.reshape(-1), x.reshape(-1) * 2.0, torch.empty_like(x).stride()

    for _ in range(CALLS):
        actual, expected = f(given), reference(given)
        assert_same(actual[:3], expected[:3], **CLOSE)
        assert tuple(actual[3]) == expected[3]
        assert [one.stride() for one in actual[:3]] == [one.stride() for one in expected[:3]]
        assert (actual[1].data_ptr() == actual[0].data_ptr()) == (
            expected[1].data_ptr() == expected[0].data_ptr()
        )


def test_devices_that_a_function_asks_for_are_the_cpu(offload):
    f = scripted("""
def f(x):
    y = torch.relu(x * 2.0) + torch.ones([3], device=x.device)
    z = torch.zeros([3], device="cpu") + y
    return z.to(x.device) * x, x.device, y.is_cpu
""")
    given = torch.randn(3)
    for _ in range(CALLS):
        result, device, is_cpu = f(given)
        assert_same(result, (torch.relu(given * 2.0) + 1.0) * given, **CLOSE)
        assert (device, is_cpu) == (torch.device("cpu"), True)


def test_copies_of_weights_go_with_their_modules(offload, module):
    def run_one():
        there = script(nn.Sequential(nn.LayerNorm(1024), nn.GELU()).eval())
        with torch.no_grad():
            for _ in range(CALLS):
                there(torch.randn(2, 1024))
        module.synchronize()

    run_one()
    run_one()
    before = module.memory_allocated()
    for _ in range(4):
        run_one()
    assert module.memory_allocated() <= before + 2 * 1024 * 4


def test_training_on_the_cpu_goes_on(offload):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
    there = script(model)
    given = torch.randn(4, 8)
    for _ in range(CALLS):
        model.zero_grad()
        there(given).square().mean().backward()
        actual = [weight.grad.clone() for weight in model.parameters()]
        model.zero_grad()
        model(given).square().mean().backward()
        assert_same(actual, [weight.grad for weight in model.parameters()], **CLOSE)


def test_a_lowered_module_runs_on_the_device_and_is_saved_and_loaded(tmp_path):
    model = perceptron()
    lowered = torchscript.lower(script(model))
    lowered.save(tmp_path / "lowered.pt")
    loaded = torch.jit.load(tmp_path / "lowered.pt")
    given = torch.randn(3, 64)
    with torch.no_grad():
        for one in (lowered, loaded):
            before = engine_runs()
            for _ in range(3):
                assert_same(one(given), model(given), **CLOSE)
            assert engine_runs() > before


def test_a_lowered_module_takes_tensors_of_the_device(device):
    model = perceptron()
    lowered = torchscript.lower(script(model.to(device)))
    given = torch.randn(3, 64).to(device)
    with torch.no_grad():
        for _ in range(3):
            result = lowered(given)
            assert result.device == device
            assert_same(result, model(given), **CLOSE)
