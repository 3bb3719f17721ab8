"""What PyTorch builds on autograd: checkpoints, hooks, torch.func, gradcheck, anomaly mode."""

import threading

import pytest
import torch
from helpers import assert_same, on, same_as_cpu, same_gradients
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


def double(*shape, requires_grad=True):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=requires_grad)


def network():
    torch.manual_seed(2)
    layers = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 2))
    return layers.double()


# ---- checkpoints ----


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_changes_neither_result_nor_gradients(device, reentrant):
    model, x = network().to(device), double(3, 4)

    def run(wrap):
        model.zero_grad()
        leaf = on(device, x)
        result = wrap(leaf)
        result.square().sum().backward()
        return [result, leaf.grad, *(p.grad.clone() for p in model.parameters())]

    expected = run(model)
    actual = run(lambda leaf: checkpoint(model, leaf, use_reentrant=reentrant))
    assert all(tensor.device == device for tensor in actual)
    assert_same(actual, expected)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_replays_the_random_numbers(device, reentrant):
    x = torch.ones(200, device=device, requires_grad=True)

    def noisy(leaf):
        return F.dropout(leaf, 0.5) * leaf

    result = checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=True)
    result.sum().backward()
    # y = mask * x * x, so the gradient at x = 1 is twice the y of the same mask.
    assert_same(x.grad, 2 * result)


def test_a_checkpoint_recomputes_in_backward(device):
    calls = []

    def body(leaf):
        calls.append(leaf.device)
        return leaf.sin()

    x = double(3).to(device).detach().requires_grad_()
    checkpoint(body, x, use_reentrant=False).sum().backward()
    assert calls == [device, device]
    assert_same(x.grad, x.detach().cpu().cos())


def test_checkpoint_sequential_gives_the_same_gradients(device):
    model, x = network().to(device), double(3, 4)
    expected = on(device, x)
    model(expected).sum().backward()
    leaf = on(device, x)
    checkpoint_sequential(model, 2, leaf, use_reentrant=False).sum().backward()
    assert_same(leaf.grad, expected.grad)


def test_saved_tensors_can_rest_on_the_cpu(device):
    x = double(3, 4)
    with torch.autograd.graph.save_on_cpu():
        leaf = on(device, x)
        leaf.exp().sin().sum().backward()
    assert leaf.grad.device == device
    assert_same(leaf.grad, (x.exp().cos() * x.exp()))


# ---- hooks ----


def test_a_tensor_hook_sees_and_changes_the_gradient(device):
    seen = []
    x = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    x.register_hook(lambda grad: seen.append(grad.clone()) or grad * 10)
    (x * x).sum().backward()
    assert seen[0].device == device
    assert seen[0].tolist() == [2.0, 4.0, 6.0]
    assert x.grad.tolist() == [20.0, 40.0, 60.0]


def test_a_hook_after_accumulation_sees_the_gradient(device):
    x = torch.ones(2, device=device, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (3 * x).sum().backward()
    assert seen == [[3.0, 3.0]]


def test_module_hooks_run_with_device_tensors(device):
    layer = nn.Linear(3, 2).to(device)
    seen = []
    layer.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    layer.register_forward_hook(lambda m, args, result: seen.append(result.device) or result + 1)
    layer.register_full_backward_hook(lambda m, into, out: seen.append(out[0].tolist()))
    x = torch.randn(1, 3)
    result = layer(x.to(device).requires_grad_())
    assert_same(result, F.linear(2 * x, layer.weight.cpu(), layer.bias.cpu()) + 1)
    result.sum().backward()
    assert seen == [device, [[1.0, 1.0]]]


def test_hooks_on_the_graph_see_each_node(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.sin().sum()
    names = []
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(lambda into, out: names.append((node.name(), out[0].tolist())))
    y.backward()
    assert names == [("SinBackward0", [1.0, 1.0])]


# ---- torch.func ----


def energy(x):
    return (x.sin() * x.pow(2)).sum()


def test_func_grad(device):
    same_as_cpu(device, torch.func.grad(energy), double(4, requires_grad=False))


def test_func_grad_of_grad(device):
    second = torch.func.grad(lambda x: torch.func.grad(energy)(x).pow(3).sum())
    same_as_cpu(device, second, double(4, requires_grad=False))


def test_vmap_of_a_matrix_product_and_a_reduction(device):
    a, b = double(5, 3, 4, requires_grad=False), double(4, 2, requires_grad=False)
    mapped = torch.func.vmap(lambda row: (row @ b.to(row.device)).softmax(-1).sum(0))
    same_as_cpu(device, mapped, a)


def test_vmap_with_dimensions_and_randomness(device):
    x = torch.randn(3, 5).to(device)
    mapped = torch.func.vmap(lambda a, b: a * b, in_dims=(1, None), out_dims=1)
    assert_same(mapped(x, x[:, 0]), (x.cpu() * x.cpu()[:, :1]))
    draw = torch.func.vmap(lambda a: a + torch.rand_like(a), randomness="different")
    drawn = draw(torch.zeros(4, 100, device=device))
    assert drawn.device == device
    assert len({tuple(row) for row in drawn.tolist()}) == 4


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("transform", [torch.func.jacrev, torch.func.jacfwd, torch.func.hessian])
def test_func_jacobians(device, transform):
    def fn(x):
        return x.outer(x).sin().sum(0) if transform is not torch.func.hessian else energy(x)

    same_as_cpu(device, transform(fn), double(4, requires_grad=False))


def test_func_vjp_and_jvp(device):
    x, v = double(4, requires_grad=False), double(4, requires_grad=False)
    same_as_cpu(device, lambda x, v: torch.func.vjp(torch.sin, x)[1](v)[0], x, v)
    same_as_cpu(device, lambda x, v: torch.func.jvp(torch.sin, (x,), (v,)), x, v)


def test_functional_call_uses_the_given_parameters(device):
    model = network().to(device)
    x = double(3, 4, requires_grad=False)
    doubled = {name: 2 * p.detach() for name, p in model.named_parameters()}
    reference = network()
    with torch.no_grad():
        for p in reference.parameters():
            p.mul_(2)
    assert_same(torch.func.functional_call(model, doubled, (x.to(device),)), reference(x))


def test_gradients_per_sample(device):
    model = network().to(device)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x = double(3, 4, requires_grad=False).to(device)

    def loss(parameters, row):
        return torch.func.functional_call(model, parameters, (row,)).square().sum()

    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    for i in range(3):
        expected = torch.func.grad(loss)(parameters, x[i])
        assert_same({name: g[i] for name, g in per_sample.items()}, expected)


def test_forward_mode_dual_numbers(device):
    x, tangent = double(4, requires_grad=False), double(4, requires_grad=False)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.to(device), tangent.to(device))
        primal, derivative = torch.autograd.forward_ad.unpack_dual(dual.exp())
    assert_same(primal, x.exp())
    assert_same(derivative, x.exp() * tangent)


# ---- gradcheck ----

SMOOTH = {
    "sin_mul": lambda x: x.sin() * x,
    "matmul": lambda x: x @ x.t(),
    "softmax": lambda x: x.softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "logsumexp": lambda x: x.logsumexp(1),
    "view_chain": lambda x: x.t().reshape(2, 6)[:, ::2].exp(),
    "index": lambda x: x[:, [0, 2, 2]].tanh(),
    "cumsum": lambda x: x.cumsum(0),
    "solve": lambda x: torch.linalg.solve(x @ x.t() + torch.eye(3).to(x), x),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradcheck_and_gradgradcheck(device, name):
    x = on(device, double(3, 4))
    assert torch.autograd.gradcheck(SMOOTH[name], (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(SMOOTH[name], (x,))


def test_gradcheck_of_complex_functions(device):
    x = on(device, torch.randn(3, dtype=torch.complex128, requires_grad=True))
    assert torch.autograd.gradcheck(lambda z: (z * z.conj()).real + z.abs(), (x,))


def test_gradcheck_of_a_convolution(device):
    x, w = on(device, (double(1, 2, 5), double(3, 2, 3)))
    assert torch.autograd.gradcheck(F.conv1d, (x, w))
    assert torch.autograd.gradgradcheck(F.conv1d, (x, w))


# ---- autograd itself ----


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


class AddOneInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return 7 * grad


def test_a_custom_function_has_its_own_gradient(device):
    same_gradients(device, Cube.apply, double(4))
    assert torch.autograd.gradgradcheck(Cube.apply, (on(device, double(4)),))


def test_a_custom_function_may_work_in_place(device):
    x = torch.ones(3, device=device, requires_grad=True)
    y = AddOneInPlace.apply(x * 1)
    assert y.tolist() == [2.0, 2.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0, 7.0]


def test_double_backward(device):
    def second(x):
        (first,) = torch.autograd.grad(energy(x), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)

    same_as_cpu(device, second, double(4))


def test_retain_graph_allows_a_second_backward_and_its_absence_forbids_it(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    once = x.grad.clone()
    y.backward()
    assert_same(x.grad, 2 * once)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_names_the_function_that_made_nan(device):
    x = torch.zeros(2, device=device, requires_grad=True)
    with (
        torch.autograd.detect_anomaly(check_nan=True),
        pytest.warns(UserWarning, match="sqrt"),
        pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"),
    ):
        (0 * x.sqrt()).sum().backward()


def test_a_saved_tensor_changed_in_place_is_detected(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_no_grad_inference_mode_and_detach_stop_the_graph(device):
    x = torch.ones(2, device=device, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
    with torch.inference_mode():
        assert (x * 2).is_inference()
    assert not (x * 2).detach().requires_grad
    assert (x * 2).requires_grad


def test_in_place_through_a_view_reaches_the_gradient(device):
    def fn(x):
        y = x * 1
        y[1:].mul_(3)
        y.t()[0].add_(x[:, 1])
        return y

    same_gradients(device, fn, double(3, 3))


def test_backward_from_several_threads(device):
    weight = torch.ones(4, device=device, requires_grad=True)
    errors = []

    def work(factor):
        for _ in range(20):
            (grad,) = torch.autograd.grad((weight * weight * factor).sum(), weight)
            if grad.tolist() != [2.0 * factor] * 4:
                errors.append(factor)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_graph_across_cpu_and_device_has_gradients_on_both(device):
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y = on(device, x)
    (x.sin().to(device) * y).sum().backward()
    assert x.grad.device == torch.device("cpu") and y.grad.device == device
    assert_same(x.grad, x.detach().cos() * x.detach())
    assert_same(y.grad, x.detach().sin())


def test_a_graph_across_two_devices_has_gradients_on_both(device, other_device):
    x = on(device, torch.randn(3, dtype=torch.float64, requires_grad=True))
    w = on(other_device, torch.randn(3, dtype=torch.float64, requires_grad=True))
    (x.sin().to(other_device) * w).sum().backward()
    assert x.grad.device == device and w.grad.device == other_device
    assert_same(x.grad, x.detach().cpu().cos() * w.detach().cpu())
