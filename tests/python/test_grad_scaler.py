"""torch.amp.GradScaler on the device, from scale() to update()."""

import copy
import functools
import pickle

import pytest
import torch
from helpers import assert_equal, assert_same
from torch import nn

import torchplug.testing

INFINITY = float("inf")

hold = functools.partial(torchplug.testing.hold, limit=20)


def scaler_for(device, **options):
    return torch.amp.GradScaler(device.type, **options)


def layer_on(device, **options):
    torch.manual_seed(0)
    return nn.Linear(4, 3, **options).to(device)


def backward(net, scaler, device, factor=1.0):
    """One backward pass of a scaled loss; infinite gradients for an infinite factor."""
    x = torch.linspace(-1, 1, 8, device=device).reshape(2, 4)
    scaler.scale((net(x) * factor).square().sum()).backward()


def way_of(op):
    return {entry.way for entry in torchplug.ledger() if entry.op == op}


OPERATORS = ("aten::_amp_foreach_non_finite_check_and_unscale_", "aten::_amp_update_scale_")


# ---- the two operators ----


def test_unscaling_multiplies_gradients_and_finds_what_is_not_finite(device):
    def run(where, value):
        gradients = [torch.tensor([2.0, 4.0]).to(where), torch.tensor([[6.0, value]]).to(where)]
        found = torch.zeros(1).to(where)
        torch._amp_foreach_non_finite_check_and_unscale_(
            gradients, found, torch.tensor(0.5).to(where)
        )
        return gradients, found

    for value in (8.0, INFINITY, -INFINITY, float("nan")):
        for _ in range(2):  # the second call runs by a plan
            actual = run(device, value)
            assert all(tensor.device == device for tensor in [*actual[0], actual[1]])
            assert_equal(actual, run("cpu", value))


def test_the_scale_grows_backs_off_and_stays_finite(device):
    def run(where, scale, tracker, found):
        scale, found = torch.tensor([scale]).to(where), torch.tensor([found]).to(where)
        tracker = torch.tensor([tracker], dtype=torch.int32).to(where)
        torch._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 3)
        return scale, tracker

    for case in ((8.0, 0, 0.0), (8.0, 2, 0.0), (8.0, 2, 1.0), (3e38, 2, 0.0)):
        for _ in range(2):
            assert_equal(run(device, *case), run("cpu", *case))


@pytest.mark.accelerator("has a ledger")
def test_both_run_the_way_of_the_device(device, module):
    torchplug.reset_ledger()
    scaler = scaler_for(device)
    net = layer_on(device)
    backward(net, scaler, device)
    scaler.step(torch.optim.SGD(net.parameters(), lr=0.1))
    scaler.update()
    expected = {"sim": {"borrow"}, "hello": {"stage"}}
    for op in OPERATORS:
        assert way_of(op) == expected[device.type]


# ---- a step ----


def test_a_scaled_step_is_the_step_without_scaling(device):
    plain, scaled = layer_on(device), layer_on(device)
    off, on = scaler_for(device, enabled=False), scaler_for(device, init_scale=2.0**10)
    for net, scaler in ((plain, off), (scaled, on)):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            backward(net, scaler, device)
            scaler.step(optimizer)
            scaler.update()
    assert_same(scaled.state_dict(), plain.state_dict())
    assert on.get_scale() == 2.0**10 and off.get_scale() == 1.0


def test_scale_multiplies_the_loss_and_keeps_containers(device):
    scaler = scaler_for(device, init_scale=4.0)
    scaled = scaler.scale([torch.ones(2, device=device), (torch.ones(1, device=device),)])
    assert scaled[0].device == device and scaled[0].tolist() == [4.0, 4.0]
    assert scaled[1][0].tolist() == [4.0]


@pytest.mark.parametrize("value", [INFINITY, float("nan")], ids=str)
def test_a_step_with_gradients_that_are_not_finite_is_skipped_and_the_scale_halved(device, value):
    net = layer_on(device)
    before = copy.deepcopy(net.state_dict())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = scaler_for(device, init_scale=1024.0)
    backward(net, scaler, device, factor=value)
    scaler.step(optimizer)
    scaler.update()
    assert_equal(net.state_dict(), before)
    assert scaler.get_scale() == 512.0
    optimizer.zero_grad()
    backward(net, scaler, device)
    scaler.step(optimizer)
    assert (net.weight != before["weight"]).any()


def test_the_scale_grows_after_the_interval_and_a_bad_step_starts_it_anew(device):
    net = layer_on(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    scaler = scaler_for(
        device, init_scale=8.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=2
    )
    seen = []
    for factor in (1.0, 1.0, 1.0, INFINITY, 1.0, 1.0):
        optimizer.zero_grad()
        backward(net, scaler, device, factor)
        scaler.step(optimizer)
        scaler.update()
        seen.append(scaler.get_scale())
    assert seen == [8.0, 32.0, 32.0, 8.0, 8.0, 32.0]


def test_update_takes_a_scale_of_ones_own(device):
    scaler = scaler_for(device)
    net = layer_on(device)
    backward(net, scaler, device)
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0
    scaler.update(torch.tensor(32.0, device=device))
    assert scaler.get_scale() == 32.0


def test_gradients_can_be_clipped_after_unscaling(device):
    net = layer_on(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = scaler_for(device, init_scale=2.0**12)
    backward(net, scaler, device)
    scaled = net.weight.grad.clone()
    scaler.unscale_(optimizer)
    assert_same(net.weight.grad, scaled / 2.0**12)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.01)
    assert norm > 0.01
    clipped = torch.cat([p.grad.flatten() for p in net.parameters()]).norm()
    assert_same(clipped.cpu(), torch.tensor(0.01))
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    before = net.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert_same(net.weight.detach(), before - 0.1 * net.weight.grad)


def test_gradients_of_half_precision_are_refused(device):
    net = layer_on(device, dtype=torch.float16)
    scaler = scaler_for(device)
    scaler.scale(net.weight.sum()).backward()
    with pytest.raises(ValueError, match="FP16 gradients"):
        scaler.step(torch.optim.SGD(net.parameters(), lr=0.1))


def test_gradients_of_several_types_and_layouts_are_unscaled_together(device):
    scaler = scaler_for(device, init_scale=4.0)
    parameters = [
        nn.Parameter(torch.ones(2, 3, dtype=dtype, device=device))
        for dtype in (torch.float32, torch.float64, torch.float32, torch.bfloat16)
    ]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    scaler.scale(sum((p * 2).sum().float() for p in parameters)).backward()
    parameters[2].grad = parameters[2].grad.t().contiguous().t()
    scaler.unscale_(optimizer)
    for parameter in parameters:
        assert_equal(parameter.grad, torch.full((2, 3), 2.0, dtype=parameter.dtype))


def test_sparse_gradients_are_unscaled(device):
    table = nn.Embedding(5, 2, sparse=True).to(device)
    optimizer = torch.optim.SGD(table.parameters(), lr=1.0)
    scaler = scaler_for(device, init_scale=8.0)
    scaler.scale(table(torch.tensor([1, 3, 1], device=device)).sum()).backward()
    scaler.unscale_(optimizer)
    assert_equal(table.weight.grad.to_dense()[:, 0], torch.tensor([0.0, 2.0, 0.0, 1.0, 0.0]))
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0


# ---- several optimizers, state ----


def test_each_of_several_optimizers_steps_or_is_skipped_on_its_own(device):
    good, bad = layer_on(device), layer_on(device)
    before = good.weight.detach().clone()
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (good, bad)]
    scaler = scaler_for(device, init_scale=64.0)
    backward(good, scaler, device)
    backward(bad, scaler, device, factor=INFINITY)
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    assert (good.weight != before).any()
    assert_equal(bad.weight.detach(), before)
    assert scaler.get_scale() == 32.0, "one bad optimizer lowers the scale they share"


def test_a_state_that_was_saved_goes_on(device):
    def run(interrupted):
        net = layer_on(device)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        scaler = scaler_for(device, init_scale=8.0, growth_interval=3)
        seen = []
        for step in range(7):
            if interrupted and step == 2:
                state = pickle.loads(pickle.dumps(scaler.state_dict()))
                scaler = scaler_for(device)
                scaler.load_state_dict(state)
            optimizer.zero_grad()
            backward(net, scaler, device)
            scaler.step(optimizer)
            scaler.update()
            seen.append(scaler.get_scale())
        return seen, scaler.state_dict()

    assert run(interrupted=True) == run(interrupted=False)
    assert run(interrupted=True)[0] == [8.0, 8.0, 16.0, 16.0, 16.0, 32.0, 32.0]


def test_a_scaler_can_be_pickled_between_iterations(device):
    scaler = scaler_for(device, init_scale=8.0)
    net = layer_on(device)
    backward(net, scaler, device)
    scaler.step(torch.optim.SGD(net.parameters(), lr=0.1))
    scaler.update()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()


# ---- optimizers' own ways ----

MAKERS = {
    "sgd": lambda parameters, **how: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, **how),
    "adam": lambda parameters, **how: torch.optim.Adam(parameters, lr=0.1, **how),
    "adamw": lambda parameters, **how: torch.optim.AdamW(parameters, lr=0.1, amsgrad=True, **how),
    "adagrad": lambda parameters, **how: torch.optim.Adagrad(parameters, lr=0.1, **how),
}


@pytest.mark.parametrize("how", ["foreach", "fused", "for_loop"])
@pytest.mark.parametrize("name", MAKERS)
def test_optimizers_step_and_skip_under_a_scaler_as_on_the_cpu(device, name, how):
    options = {"foreach": False} if how == "for_loop" else {how: True}

    def run(where):
        where = torch.device(where)
        net = layer_on(where)
        optimizer = MAKERS[name](net.parameters(), **options)
        scaler = scaler_for(where, init_scale=256.0)
        for factor in (1.0, INFINITY, 1.0, 1.0):
            optimizer.zero_grad()
            backward(net, scaler, where, factor)
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 128.0
        return {key: value.cpu() for key, value in net.state_dict().items()}

    assert_same(run(device), run("cpu"), rtol=1e-5, atol=1e-6)


def test_a_fused_optimizer_is_given_the_scale_and_the_finding(device):
    """With unscale_() before it and without, which differ in what the optimizer still has to do."""

    def run(unscale):
        net = layer_on(device)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, fused=True)
        scaler = scaler_for(device, init_scale=512.0)
        for factor in (1.0, INFINITY, 1.0):
            optimizer.zero_grad()
            backward(net, scaler, device, factor)
            if unscale:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        steps = [state["step"].item() for state in optimizer.state.values()]
        assert steps == [2.0, 2.0], "a skipped step is not counted"
        return net.state_dict()

    assert_same(run(True), run(False))


# ---- two devices ----


def test_infinite_gradients_on_one_device_skip_the_step_on_both(device, other_device):
    nets = [layer_on(device), layer_on(other_device)]
    before = copy.deepcopy([net.state_dict() for net in nets])
    optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.1)
    scaler = scaler_for(device, init_scale=16.0)
    for factors in ((1.0, INFINITY), (INFINITY, 1.0)):
        optimizer.zero_grad()
        for net, where, factor in zip(nets, (device, other_device), factors, strict=True):
            backward(net, scaler, where, factor)
        scaler.step(optimizer)
        scaler.update()
        assert_equal([net.state_dict() for net in nets], before)
    assert scaler.get_scale() == 4.0
    optimizer.zero_grad()
    for net, where in zip(nets, (device, other_device), strict=True):
        backward(net, scaler, where)
    scaler.step(optimizer)
    scaler.update()
    assert_same(nets[1].state_dict(), nets[0].state_dict())
    assert (nets[0].weight.cpu() != before[0]["weight"].cpu()).any()


# ---- nothing waits that does not have to ----


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_an_iteration_with_a_fused_optimizer_never_waits(device, module):
    net = layer_on(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, fused=True)
    scaler = scaler_for(device, init_scale=16.0)

    def iterate():
        optimizer.zero_grad()
        backward(net, scaler, device)
        scaler.step(optimizer)
        scaler.update()

    for _ in range(2):  # the first call of an operator may wait
        iterate()
        module.synchronize()
    with hold(module.current_stream()):
        iterate()
        assert module.current_stream().query() is False


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_unscaling_and_updating_do_not_wait(device, module):
    """Only step() asks whether anything infinite was found, as it does on every device."""
    net = layer_on(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = scaler_for(device, init_scale=16.0)

    def unscale_and_update():
        optimizer.zero_grad()
        backward(net, scaler, device)
        scaler.unscale_(optimizer)
        scaler.update()
        scaler._per_optimizer_states.clear()

    for _ in range(2):  # the first call of an operator may wait
        unscale_and_update()
        module.synchronize()
    with hold(module.current_stream()):
        unscale_and_update()
        assert module.current_stream().query() is False
