"""What the tests of torch.compile share: calls both ways, and what was compiled for them."""

import torch
from helpers import assert_same, map_tensors, on, tensors_in
from torch import nn

from torchplug.compile import _backend


def compiled(fn, **options):
    return torch.compile(fn, backend="torchplug", **options)


def perceptron():
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


def reports():
    """Of every group that the test has made."""
    return [group.engines.report() for program in _backend.programs for group in program.groups]


def total(name):
    """The sum over all groups: engines, compiled, loaded, runs, runs_without."""
    return sum(report[name] for report in reports())


def same_as_eager(fn, *args, calls=1, strides=True, tolerance=None, **options):
    """The compiled fn gives what fn gives, does to its arguments what fn does, and runs in engines."""
    there = compiled(fn, **options)
    device = next(tensor.device for tensor in tensors_in(args) if tensor.device.type != "cpu")
    for _ in range(calls):
        ours, theirs = map_tensors(copy, args), map_tensors(copy, args)
        actual, expected = there(*ours), fn(*theirs)
        assert_same(actual, expected, **(tolerance or {}))
        assert_same(ours, theirs, **(tolerance or {}))
        if strides:
            assert strides_of(actual) == strides_of(expected)
    torch.accelerator.synchronize(device)
    assert total("runs") > 0, "no engine ran"
    return actual


def copy(tensor):
    """With its strides, and a leaf if it is one."""
    made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    memory = tensor.detach().untyped_storage().clone()
    made.set_(memory, tensor.storage_offset(), tensor.shape, tensor.stride())
    return made.requires_grad_(tensor.requires_grad)


def strides_of(value):
    return [tensor.stride() for tensor in tensors_in(value)]


def gradients_of(fn, *args, tangent=None):
    """The result of fn, and the gradients of its arguments and parameters."""
    result = fn(*args)
    wanted = [x for x in tensors_in(args) if x.requires_grad]
    if isinstance(fn, torch.nn.Module):
        wanted += [p for p in fn.parameters() if p.requires_grad]
    return result, torch.autograd.grad(
        result, wanted, torch.ones_like(result) if tangent is None else tangent
    )


def same_gradients_as_eager(fn, *args, tangent=None, tolerance=None, **options):
    actual = gradients_of(compiled(fn, **options), *args, tangent=tangent)
    assert_same(actual, gradients_of(fn, *args, tangent=tangent), **(tolerance or {}))
    assert total("runs") >= 2, "no engine ran forward, or none backward"


def train(model, inputs, steps=20, compiles=False, rate=0.05, **options):
    """The losses of some steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    called = compiled(model, **options) if compiles else model
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = called(*inputs).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu()


def trains_as_eager(
    make, inputs, device, dtype=torch.float32, steps=20, runs=None, options=None, **tolerance
):
    """Losses and weights after some steps are those of eager. `runs`: of engines, at least."""
    torch.manual_seed(5)
    a = make().to(device, dtype)
    b = make().to(device, dtype)
    b.load_state_dict(a.state_dict())
    given = [
        x.to(device, dtype) if x.is_floating_point() else x.to(device) for x in on("cpu", inputs)
    ]
    ours = train(a, given, steps, compiles=True, options=options)
    assert_same(ours, train(b, given, steps), **tolerance)
    assert_same(a.state_dict(), b.state_dict(), **tolerance)
    assert total("runs") >= (2 * steps if runs is None else runs)
    return a, given
