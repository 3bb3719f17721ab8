"""Kernels for operators that PyTorch composes of others: they are used, and their gradients are the CPU's."""

import pytest
from helpers import run_python
from session import Sessions
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PRELUDE = """
import torchplug
from helpers import on, same_as_cpu, same_gradients

F = torch.nn.functional
device = torch.device(device.type, 0)


def by_kernel(op):
    return sum(entry.count for entry in torchplug.ledger() if entry.op == op and entry.way == "kernel")


def leaf(*sizes, dtype=torch.float64):
    return torch.randn(*sizes, dtype=dtype, requires_grad=True)


def trains(op, fn, *args, calls=1, second=True, **tolerance):
    before = by_kernel(op)
    same_gradients(device, fn, *args, **tolerance)
    assert by_kernel(op) - before >= calls, (op, by_kernel(op), before)
    there = on(device, args)
    if second:
        assert torch.autograd.gradgradcheck(fn, there, atol=1e-4)
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "composites")


@pytest.fixture(scope="module")
def run(plugin):
    sessions = Sessions("composites", plugin, PRELUDE)
    yield sessions
    sessions.close()


def test_linear(run):
    run("""
trains("aten::linear", F.linear, leaf(5, 3), leaf(4, 3), leaf(4))
trains("aten::linear", F.linear, leaf(5, 3), leaf(4, 3))
trains("aten::linear", F.linear, leaf(2, 5, 3), leaf(4, 3), leaf(4), second=False)
trains("aten::linear", F.linear, leaf(3), leaf(4, 3), leaf(4), second=False)
trains("aten::linear", F.linear, leaf(5, 3), leaf(3), calls=0, second=False)
trains("aten::linear", F.linear, leaf(5, 3).detach(), leaf(4, 3), leaf(4), second=False)
trains("aten::linear", F.linear, leaf(3, 5).t(), leaf(4, 3), leaf(4), second=False)
trains("aten::linear", F.linear, leaf(0, 3), leaf(4, 3), leaf(4), calls=0, second=False)
trains("aten::linear", F.linear, leaf(5, 3, dtype=torch.float32), leaf(4, 3, dtype=torch.float32), second=False)
""")


def test_matmul(run):
    run("""
for a, b in (((4, 3), (3, 5)), ((3,), (3,)), ((3,), (3, 5)), ((4, 3), (3,)), ((2, 4, 3), (2, 3, 5)),
             ((2, 4, 3), (3, 5)), ((4, 3), (2, 3, 5)), ((2, 4, 3), (3,)), ((3,), (2, 3, 5))):
    trains("aten::matmul", torch.matmul, leaf(*a), leaf(*b), second=len(a) == len(b) == 2)
trains("aten::matmul", torch.matmul, leaf(2, 1, 4, 3), leaf(1, 2, 3, 5), calls=0, second=False)
trains("aten::matmul", torch.matmul, leaf(4, 3), leaf(5, 3).detach().t(), second=False)
out = torch.empty(4, 5, dtype=torch.float64, device=device)
a, b = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)
torch.matmul(a.to(device), b.to(device), out=out)
torch.testing.assert_close(out.cpu(), a @ b)
assert by_kernel("aten::matmul.out") == 1
""")


def test_max_pool2d(run):
    run("""
trains("aten::max_pool2d", lambda x: F.max_pool2d(x, 2), leaf(2, 3, 6, 4))
trains("aten::max_pool2d", lambda x: F.max_pool2d(x, 3, 1), leaf(3, 6, 5), second=False)
trains("aten::max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), leaf(2, 3, 7, 7), calls=0, second=False)
""")


# PyTorch calls the fused form unless the input is channels_last or complex, or the weight is of another dtype.
def test_rms_norm(run):
    run("""
op = "aten::_fused_rms_norm"
for eps in (None, 1e-3):
    trains(op, lambda x, w: F.rms_norm(x, (4,), w, eps), leaf(2, 3, 4), leaf(4))
    trains(op, lambda x: F.rms_norm(x, (3, 4), None, eps), leaf(2, 3, 4), second=False)
trains(op, lambda x, w: F.rms_norm(x, (4,), w), leaf(4), leaf(4), second=False)
trains(op, lambda x, w: F.rms_norm(x, (4,), w), leaf(5, 4).detach(), leaf(4), second=False)
trains(op, lambda x, w: F.rms_norm(x, (4,), w), leaf(2, 4, dtype=torch.float32), leaf(4, dtype=torch.float32),
       second=False)
before = by_kernel(op)
image = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last).requires_grad_()
same_gradients(device, lambda x: F.rms_norm(x, (4,)), image)
same_gradients(device, lambda x, w: F.rms_norm(x, (4,), w), leaf(2, 4), leaf(4, dtype=torch.float32))
assert by_kernel(op) == before
""")


# The CPU has no kernel for the gradient that a plugin's may decline.
def test_a_gradient_that_a_kernel_declines_is_composed(run):
    code = """
op = "aten::_fused_rms_norm_backward"
for dtype, calls in ((torch.float32, 1), (torch.float64, 0), (torch.bfloat16, 0), (torch.float16, 0)):
    tolerance = dict(rtol=2e-2, atol=2e-2) if dtype.itemsize == 2 else dict(rtol=1e-4, atol=1e-5)
    x, w = leaf(2, 3, 4, dtype=dtype), leaf(4, dtype=dtype)
    trains(op, lambda x, w: F.rms_norm(x, (4,), w), x, w, calls=calls, second=False, **tolerance)
    trains(op, lambda x: F.rms_norm(x, (4,)), x, calls=0, second=False, **tolerance)
assert by_kernel(op) == 1
"""
    run(code, TORCHPLUG_COMPOSITES_GRADIENTS="1")


def test_gradients_that_pytorch_composes_are_served_too(run):
    run("""
trains("aten::silu_backward", F.silu, leaf(5), second=False)
""")


def test_gradients_and_reorderings_that_pytorch_composes(run):
    run("""
trains("aten::mish_backward", F.mish, leaf(5), second=False)
trains("aten::mish_backward", F.mish, leaf(4, 3).t(), second=False)
before = by_kernel("aten::native_channel_shuffle")
for shape in ((2, 6, 2, 2), (2, 6, 2, 2), (1, 6, 1)):
    same_as_cpu(device, lambda x: torch.native_channel_shuffle(x, 3), torch.randn(shape))
assert by_kernel("aten::native_channel_shuffle") - before == 3
for keepdim in (False, True):
    for dim in (0, 1, -1):
        trains("aten::value_selecting_reduction_backward", lambda x: x.max(dim, keepdim)[0], leaf(3, 4, 2),
               second=False)
trains("aten::value_selecting_reduction_backward", lambda x: x.median(1)[0], leaf(3, 5).t(), second=False)
""")


def test_a_fused_optimizer_steps_as_the_cpus(run):
    run("""
before = by_kernel("aten::_fused_adamw_")
starts = [torch.randn(3, 4), torch.randn(5)]
gradients = [[torch.randn_like(start) for start in starts] for _ in range(3)]

def trained(place, **options):
    mine = [torch.nn.Parameter(start.clone().to(place)) for start in starts]
    optimizer = torch.optim.AdamW(mine, lr=0.1, weight_decay=0.3, **options)
    for step in gradients:
        for parameter, grad in zip(mine, step):
            parameter.grad = grad.to(place)
        optimizer.step()
    state = [optimizer.state[p][name] for p in mine for name in ("exp_avg", "exp_avg_sq", "step")]
    return [t.detach().cpu() for t in (*mine, *state)]

torch.testing.assert_close(trained(device, fused=True), trained("cpu"), rtol=1e-4, atol=1e-6)
assert by_kernel("aten::_fused_adamw_") - before == 3
torch.testing.assert_close(trained(device, fused=True, maximize=True), trained("cpu", maximize=True),
                           rtol=1e-4, atol=1e-6)
assert by_kernel("aten::_fused_adamw_") - before == 3
""")


def test_an_operator_with_an_out_form_alone(run):
    run("""
for n in range(1, 3):
    assert torch.arange(2, 12, 3, device=device).tolist() == [2, 5, 8, 11]
    assert by_kernel("aten::arange.start_out") == n
out = torch.empty(8, dtype=torch.float64, device=device)[::2]
torch.arange(0, 4, 1, out=out)
assert out.tolist() == [0.0, 1.0, 2.0, 3.0]
""")


def test_what_cannot_be_bound_says_why(plugin):
    done = run_python("torch.ones(1, device=device)", "composites", TORCHPLUG_DEVICE=plugin)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "is not used" in line]
    assert len(lines) == 2, done.stderr
    assert any("_efficient_attention_forward" in line and "bind that too" in line for line in lines)
    assert any("aten::narrow" in line and "view of an argument" in line for line in lines)
