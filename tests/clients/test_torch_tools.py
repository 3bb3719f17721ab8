"""The tools around a training loop that come with PyTorch: benchmark, data, optimizers, averages."""

import copy
import inspect
import io
import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.optim import lr_scheduler, swa_utils
from torch.utils import benchmark, checkpoint, data

CLOSE = {"rtol": 1e-9, "atol": 1e-11}  # of float64, after a few steps


def network():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()


def batch(device):
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(12, 6, dtype=torch.float64, generator=generator)
    return x.to(device), (x[:, :3] * 2).to(device)


def loss_of(net, device):
    x, y = batch(device)
    return F.mse_loss(net(x), y)


def train(net, optimizer, device, steps=4, after_step=lambda loss: None):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(net, device)
        loss.backward()
        optimizer.step()
        after_step(loss.detach())
        losses.append(loss.item())
    return losses


# Benchmarking


@pytest.mark.parametrize("method", ["timeit", "blocked_autorange", "adaptive_autorange"])
def test_a_timer_measures_finished_work(device, method):
    x = torch.randn(256, 256, device=device) / 16
    timer = benchmark.Timer("for _ in range(8): y = x @ y", "y = x", globals={"x": x})
    arguments = {"number": 3} if method == "timeit" else {"min_run_time": 0.01}
    measurement = getattr(timer, method)(**arguments)
    assert isinstance(measurement, benchmark.Measurement)
    assert measurement.median > 0
    if device.type != "cpu":
        assert torch.accelerator.current_stream(device).query(), "work was left when it stopped"


@pytest.mark.accelerator("there is nothing to wait for")
def test_a_timer_waits_for_the_device_before_and_after(device, monkeypatch):
    calls = []
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda *_: calls.append("wait"))
    scope = {"x": torch.ones(2, device=device), "calls": calls}
    benchmark.Timer("calls.append('work'); x + 1", globals=scope).timeit(2)
    assert calls[-4:] == ["wait", "work", "work", "wait"]


# Data

SAMPLERS = {
    "random": lambda items: data.RandomSampler(items, generator=torch.Generator().manual_seed(1)),
    "with_replacement": lambda items: data.RandomSampler(items, replacement=True, num_samples=30),
    "weighted": lambda items: data.WeightedRandomSampler(torch.arange(len(items)) + 1.0, 25),
    "subset": lambda items: data.SubsetRandomSampler([3, 1, 4, 15, 9, 2, 6]),
    "distributed": lambda items: data.DistributedSampler(items, num_replicas=2, rank=1, seed=3),
}


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_sampler_feeds_the_device_in_the_order_of_the_cpu(device, sampler, workers):
    items = data.TensorDataset(torch.arange(20), torch.arange(20.0).sin())

    def load(**how):
        torch.manual_seed(5)
        return data.DataLoader(items, batch_size=4, sampler=SAMPLERS[sampler](items), **how)

    expected = [[part.tolist() for part in parts] for parts in load()]
    seen = []
    for parts in load(num_workers=workers, pin_memory=device.type != "cpu"):
        moved = [part.to(device, non_blocking=True) for part in parts]
        assert all(part.device == device for part in moved)
        seen.append([part.tolist() for part in moved])
    assert seen == expected
    assert len(seen) > 1


def test_collate_and_padding_work_on_device_tensors(device):
    rows = [torch.arange(n, device=device) for n in (3, 1, 2)]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)
    assert padded.device == device
    assert padded.tolist() == [[0, 1, 2], [0, -1, -1], [0, 1, -1]]
    batched = data.default_collate([{"x": row[:1], "name": "a"} for row in rows])
    assert batched["x"].device == device and batched["x"].tolist() == [[0], [0], [0]]


def test_a_random_split_is_the_cpus(device):
    items = data.TensorDataset(torch.arange(10, device=device))
    parts = data.random_split(items, [0.7, 0.3], torch.Generator().manual_seed(1))
    expected = data.random_split(range(10), [0.7, 0.3], torch.Generator().manual_seed(1))
    for part, reference in zip(parts, expected, strict=True):
        assert [item.item() for (item,) in part] == list(reference)


# Optimizers

ARGUMENTS = {"SparseAdam": None, "LBFGS": None, "Muon": {"lr": 0.02}}  # None: tested apart
OPTIMIZERS = sorted(
    name
    for name, kind in vars(torch.optim).items()
    if inspect.isclass(kind) and issubclass(kind, torch.optim.Optimizer) and name != "Optimizer"
)


def optimizer_of(name, net, **mode):
    kind = getattr(torch.optim, name)
    arguments = {"lr": 0.01, **(ARGUMENTS.get(name) or {}), **mode}
    parameters = [p for p in net.parameters() if p.dim() == 2 or name != "Muon"]
    return kind(parameters, **arguments)


def forms():
    """Every optimizer, as it comes and in each form that it has."""
    found = []
    for name in OPTIMIZERS:
        if ARGUMENTS.get(name, {}) is None:
            continue
        accepted = inspect.signature(getattr(torch.optim, name)).parameters
        flags = [flag for flag in ("foreach", "fused", "capturable") if flag in accepted]
        found += [pytest.param(name, flag, id=f"{name}-{flag}") for flag in ["plain", *flags]]
    return found


@pytest.mark.parametrize(("name", "form"), forms())
def test_an_optimizer_takes_the_cpus_path(device, name, form):
    if form == "capturable" and device.type == "cpu":
        pytest.skip("the CPU stands in: PyTorch refuses capturable optimizers there")
    reference, net = network(), network().to(device)
    expected = train(reference, optimizer_of(name, reference), "cpu")
    losses = train(net, optimizer_of(name, net, **{} if form == "plain" else {form: True}), device)
    # A capturable optimizer counts its steps in float32, and corrects its averages with them.
    close = {"rtol": 1e-6, "atol": 0} if form == "capturable" else CLOSE
    torch.testing.assert_close(losses, expected, **close)
    assert expected[-1] < expected[0]


def test_lbfgs_takes_the_cpus_path(device):
    def losses(where):
        net = network().to(where)
        optimizer = torch.optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe", max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = loss_of(net, where)
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(3)]

    torch.testing.assert_close(losses(device), losses("cpu"), rtol=1e-7, atol=1e-9)


def test_sparse_adam_takes_the_cpus_path(device):
    def weights(where):
        torch.manual_seed(2)
        embedding = nn.Embedding(9, 3, sparse=True, dtype=torch.float64).to(where)
        optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            embedding(torch.tensor([1, 4, 4], device=where)).square().sum().backward()
            optimizer.step()
        return embedding.weight.detach().cpu()

    torch.testing.assert_close(weights(device), weights("cpu"), **CLOSE)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adafactor", "RMSprop"])
@pytest.mark.parametrize("direction", ["from_the_device", "to_the_device"])
def test_the_state_of_an_optimizer_crosses_with_map_location(device, name, direction):
    here, there = (device, "cpu") if direction == "from_the_device" else ("cpu", device)
    reference = network()
    expected = train(reference, optimizer_of(name, reference), "cpu", steps=6)

    net = network().to(here)
    optimizer = optimizer_of(name, net)
    losses = train(net, optimizer, here, steps=3)
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, map_location=there)

    net = network().to(there)
    optimizer = optimizer_of(name, net)
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])
    losses += train(net, optimizer, there, steps=3)
    torch.testing.assert_close(losses, expected, **CLOSE)


# Schedules

SCHEDULES = {
    "ConstantLR": {"factor": 0.5, "total_iters": 2},
    "CosineAnnealingLR": {"T_max": 4},
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "CyclicLR": {"base_lr": 0.001, "max_lr": 0.1, "step_size_up": 2},
    "ExponentialLR": {"gamma": 0.5},
    "LambdaLR": {"lr_lambda": lambda step: 1 / (step + 1)},
    "LinearLR": {"total_iters": 3},
    "MultiStepLR": {"milestones": [1, 3]},
    "MultiplicativeLR": {"lr_lambda": lambda step: 0.5},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 8},
    "PolynomialLR": {"total_iters": 4, "power": 2},
    "ReduceLROnPlateau": {"patience": 0, "threshold": 0.5},
    "StepLR": {"step_size": 2},
}
APART = {"LRScheduler", "ChainedScheduler", "SequentialLR", "WarmupLR"}


def test_every_schedule_is_tested():
    kinds = {
        name
        for name, kind in vars(lr_scheduler).items()
        if inspect.isclass(kind) and issubclass(kind, lr_scheduler.LRScheduler)
    }
    assert {name for name in kinds if not name.startswith("_")} <= SCHEDULES.keys() | APART


@pytest.mark.parametrize("rate", ["number", "tensor"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_takes_the_cpus_path(device, name, rate):
    def run(where):
        net = network().to(where)
        lr = 0.05 if rate == "number" else torch.tensor(0.05, dtype=torch.float64, device=where)
        optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        schedule = getattr(lr_scheduler, name)(optimizer, **SCHEDULES[name])
        takes_loss = name == "ReduceLROnPlateau"
        rates = []

        def after_step(loss):
            schedule.step(*([loss] if takes_loss else []))
            rates.append(float(optimizer.param_groups[0]["lr"]))

        return train(net, optimizer, where, after_step=after_step), rates

    losses, rates = run(device)
    expected, expected_rates = run("cpu")
    torch.testing.assert_close(losses, expected, **CLOSE)
    torch.testing.assert_close(rates, expected_rates, **CLOSE)
    assert len(set(expected_rates)) > 1


def test_schedules_in_sequence_take_the_cpus_path(device):
    def run(where):
        net = network().to(where)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
        warm = lr_scheduler.LinearLR(optimizer, total_iters=2)
        cool = lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        schedule = lr_scheduler.SequentialLR(optimizer, [warm, cool], milestones=[2])
        return train(net, optimizer, where, steps=6, after_step=lambda _: schedule.step())

    torch.testing.assert_close(run(device), run("cpu"), **CLOSE)


# Averages

AVERAGES = {
    "swa": {},
    "ema": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.8)},
    "ema_one_by_one": {"avg_fn": swa_utils.get_ema_avg_fn(0.8)},
    "ema_with_buffers": {
        "multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.8),
        "use_buffers": True,
    },
}


@pytest.mark.parametrize("name", AVERAGES)
def test_an_averaged_model_holds_the_cpus_average(device, name):
    def run(where):
        torch.manual_seed(2)
        net = nn.Sequential(network(), nn.BatchNorm1d(3, dtype=torch.float64)).to(where)
        average = swa_utils.AveragedModel(net, **AVERAGES[name])
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        rates = swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=3)

        def after_step(_):
            average.update_parameters(net)
            rates.step()

        train(net, optimizer, where, after_step=after_step)
        swa_utils.update_bn(batch("cpu")[0].split(4), average, device=where)
        return average.state_dict()

    actual, expected = run(device), run("cpu")
    assert actual.keys() == expected.keys()
    for key, value in actual.items():
        # PyTorch weighs an average over a list of tensors with a float32.
        torch.testing.assert_close(value.cpu(), expected[key], rtol=1e-6, atol=1e-8, msg=key)


# Modules and gradients


@pytest.mark.parametrize("error_if_nonfinite", [False, True])
def test_clipping_gives_the_cpus_norm_and_gradients(device, error_if_nonfinite):
    norms, gradients = [], []
    for where in ("cpu", device):
        net = network().to(where)
        loss_of(net, where).backward()
        norm = nn.utils.clip_grad_norm_(
            net.parameters(), 0.1, error_if_nonfinite=error_if_nonfinite
        )
        norms.append(norm.item())
        gradients.append([parameter.grad.cpu() for parameter in net.parameters()])
        torch.testing.assert_close(
            nn.utils.get_total_norm(gradients[-1]).item(), 0.1, rtol=1e-4, atol=0
        )
    torch.testing.assert_close(norms[1], norms[0], **CLOSE)
    torch.testing.assert_close(gradients[1], gradients[0], **CLOSE)


PARAMETRIZATIONS = {
    "weight_norm": parametrizations.weight_norm,
    "spectral_norm": parametrizations.spectral_norm,
    "orthogonal": parametrizations.orthogonal,
}


@pytest.mark.parametrize("name", PARAMETRIZATIONS)
def test_a_parametrized_network_trains_as_on_the_cpu(device, name):
    torch.manual_seed(2)
    reference = nn.Sequential(PARAMETRIZATIONS[name](nn.Linear(6, 3).double()))
    net = copy.deepcopy(reference).to(device)
    expected = train(reference, torch.optim.SGD(reference.parameters(), lr=0.05), "cpu")
    losses = train(net, torch.optim.SGD(net.parameters(), lr=0.05), device)
    torch.testing.assert_close(losses, expected, rtol=1e-7, atol=1e-9)


def test_a_selective_checkpoint_changes_no_gradient(device):
    saved = [torch.ops.aten.addmm.default, torch.ops.aten.mm.default]
    runs = []

    def policy(context, op, *args, **kwargs):
        save = checkpoint.CheckpointPolicy.MUST_SAVE
        return save if op in saved else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE

    net = network().to(device)
    loss_of(net, device).backward()
    expected = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    net[1].register_forward_hook(lambda *_: runs.append("tanh"))
    x, y = batch(device)
    out = checkpoint.checkpoint(
        net,
        x,
        use_reentrant=False,
        context_fn=lambda: checkpoint.create_selective_checkpoint_contexts(policy),
    )
    F.mse_loss(out, y).backward()
    assert runs == ["tanh", "tanh"], "nothing was computed again"
    torch.testing.assert_close([parameter.grad for parameter in net.parameters()], expected)


def test_gradients_can_be_accumulated_under_several_hooks(device):
    seen = []
    net = network().to(device)
    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device))
    for _ in range(2):
        loss_of(net, device).backward()
    assert seen == list(itertools.repeat(device, 2 * len(list(net.parameters()))))
