"""The kernels of sim: what they compute is the CPU's, whatever the strides, shapes and dtypes, and the ledger says what
they left to it."""

import pytest
import torch
from helpers import assert_equal, assert_same, capture, on, output_of, same_as_cpu, same_gradients
from torch._dynamo.testing import CompileCounterWithBackend

import torchplug

pytestmark = pytest.mark.accelerator("the kernels are sim's", only="sim")

NAN, INF = float("nan"), float("inf")
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


def values(*shape, dtype=torch.float32):
    return (torch.randn(shape) * 40).to(dtype)


def ways(op, fn):
    """The ways that calls of `op` take in fn, and why."""
    torchplug.reset_ledger()
    fn()
    return {entry.way: entry.reason for entry in torchplug.ledger() if entry.op == op}


# ---- pointwise ----

BINARY = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "sliced": lambda x: x[:, ::2],
    "channels_last": lambda x: x[None].to(memory_format=torch.channels_last),
    "expanded": lambda x: x[:, :1].expand(-1, 5, -1),
    "empty": lambda x: x[:0],
}


PARTS = [lambda x: x, lambda x: x[..., :1], lambda x: x[..., :1, :], lambda x: x.flatten()[:1]]


def in_layout(op, layout, part, a, b):
    """Made on each device, since a copy keeps no gaps."""
    return op(layout(a), part(layout(b)))


def swapped(op, a, b):
    return op(b, a)


def with_alpha(op, alpha, a, b):
    return op(a, b, alpha=alpha)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_a_pointwise_kernel_gives_the_cpus_bits(device, op, dtype):
    a, b = values(6, 5, 40, dtype=dtype), values(6, 5, 40, dtype=dtype)
    b = b.where(b != 0, 1)
    for layout, make in LAYOUTS.items():
        for part in PARTS if layout != "empty" else PARTS[:1]:
            same_as_cpu(device, in_layout, op, make, part, a, b, rtol=0, atol=0)
    name = f"aten::{op.__name__}" + (".Tensor" if op in BINARY[:4] else "")
    a, b = on(device, (a, b))
    assert "kernel" in ways(name, lambda: op(a, b))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_numbers_and_mixed_dtypes_are_promoted_as_on_the_cpu(device, dtype):
    a = values(3, 50, dtype=dtype)
    others = [
        values(3, 50, dtype=other)
        for other in (torch.float32, torch.float64, torch.int32, torch.bool)
    ]
    for op in (torch.add, torch.mul, torch.div):
        for other in [*others, 3, -2.7]:
            same_as_cpu(device, op, a, other, rtol=0, atol=0)
        same_as_cpu(device, swapped, op, a, others[1][0, 0], rtol=0, atol=0)
    wide = values(3, 50, dtype=torch.float64)
    if dtype.is_floating_point:
        same_as_cpu(device, lambda x, y: x.clone().add_(y), a, wide, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_alpha_is_applied_as_on_the_cpu(device, dtype):
    a, b = values(7, 33, dtype=dtype), values(7, 33, dtype=dtype)
    for alpha in (1, 2, -0.3, 0.1):
        same_as_cpu(device, with_alpha, torch.add, alpha, a, b, rtol=0, atol=0)
        same_as_cpu(device, with_alpha, torch.sub, alpha, a.t(), b.t(), rtol=0, atol=0)
        same_as_cpu(device, with_alpha, torch.add, alpha, a, b[:, :1], rtol=0, atol=0)


def test_nan_zeros_and_overflow_are_the_cpus(device):
    odd = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0])
    for op in BINARY:
        same_as_cpu(device, op, odd[:, None], odd, rtol=0, atol=0)
    for op in (torch.relu, torch.neg, lambda x: torch.where(x > 0, x, 2.0)):
        actual = same_as_cpu(device, op, odd, rtol=0, atol=0)
        assert_equal(actual.cpu().signbit()[1:], op(odd).signbit()[1:])
    for dtype in (torch.int8, torch.int32, torch.int64):
        edges = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max, -1, 7], dtype=dtype)
        for op in (torch.add, torch.sub, torch.mul):
            same_as_cpu(device, op, edges[:, None], edges)
        same_as_cpu(device, torch.neg, edges)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_where_chooses_elements_of_any_dtype(device, dtype):
    condition, a, b = values(4, 60) > 0, values(4, 60, dtype=dtype), values(60, dtype=dtype)
    same_as_cpu(device, torch.where, condition, a, b, rtol=0, atol=0)
    same_as_cpu(device, torch.where, condition[:, :1], a, b[:1], rtol=0, atol=0)


def test_a_large_call_is_shared_among_threads_and_gives_the_same(device):
    a, b = values(300, 400), values(400)
    same_as_cpu(device, torch.add, a, b, rtol=0, atol=0)
    same_as_cpu(device, torch.mul, a, a.double(), rtol=0, atol=0)
    same_as_cpu(device, lambda x: x.clone().relu_(), a, rtol=0, atol=0)


def test_what_pytorch_does_faster_is_declined_with_the_reason(device):
    rows, short = on(device, (values(500, 3), values(3)))
    assert "short" in ways("aten::add.Tensor", lambda: rows + short)["borrow"]
    halves = values(10000, dtype=torch.bfloat16).to(device)
    assert "16 bits" in ways("aten::add.Tensor", lambda: halves + halves)["borrow"]
    matrix = values(200, 200).to(device)
    assert "faster" in ways("aten::mm", lambda: matrix @ matrix)["borrow"]


# ---- reductions ----


@pytest.mark.parametrize(
    "shape", [(6, 5, 700), (), (1,), (3, 0), (0, 3), (3, 40000), (20000, 40)], ids=str
)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32], ids=str
)
def test_a_sum_a_mean_and_a_maximum_are_the_cpus(device, dtype, shape):
    x = values(*shape, dtype=dtype)
    dims = [None, *range(-x.dim(), x.dim())] + ([(0, 1), (0, 2), (2, 1)] if x.dim() == 3 else [])
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 2e-2}.get(dtype, 1e-10)
    exact = x.double()
    for dim in dims:
        for keepdim in (False, True) if dim is not None else (False,):
            options = {"dim": dim, "keepdim": keepdim} if dim is not None else {}
            for given, reference in (x, exact), (x.mT, exact.mT) if x.dim() > 1 else (x, exact):
                there = given.to(device)
                size = reference.abs().sum(**options).max().item() if reference.numel() else 0
                close = {
                    "rtol": tolerance,
                    "atol": tolerance * (1 + size) / 10,
                    "check_dtype": False,
                }
                torch.testing.assert_close(
                    there.sum(**options).cpu().double(), reference.sum(**options), **close
                )
                if dtype.is_floating_point:
                    torch.testing.assert_close(
                        there.mean(**options).cpu().double(),
                        reference.mean(**options),
                        equal_nan=True,
                        **close,
                    )
                if given.numel() and dtype != torch.bfloat16:
                    amax = {"dim": () if dim is None else dim, "keepdim": keepdim}
                    assert_equal(torch.amax(there, **amax), torch.amax(given, **amax))


def test_a_maximum_is_nan_where_one_element_is(device):
    x = values(70, 600)
    x[3, 5] = NAN
    for dim in ((), 0, 1):
        same_as_cpu(device, torch.amax, x, dim)


def test_a_sum_of_many_small_numbers_loses_none(device):
    many = torch.full((1_000_000,), 0.1)
    exact = many.double().sum()
    assert abs(many.to(device).sum().cpu().double() - exact) <= exact * 1e-6


# ---- products of matrices ----


@pytest.mark.parametrize(
    "sizes",
    [(3, 4, 5), (1, 1, 1), (0, 3, 4), (3, 0, 4), (7, 70, 13), (2, 8, 100), (32, 32, 32)],
    ids=str,
)
def test_a_small_product_of_matrices_is_the_cpus(device, sizes):
    m, k, n = sizes
    close = {"rtol": 1e-5, "atol": 1e-4}
    for a in torch.randn(m, k), torch.randn(k, m).t():
        for b in torch.randn(k, n), torch.randn(n, k).t(), torch.randn(k, 2 * n)[:, ::2]:
            same_as_cpu(device, torch.mm, a, b, **close)
            for bias in torch.randn(n), torch.randn(m, 1), torch.randn(m, n):
                same_as_cpu(
                    device,
                    lambda s, a, b: torch.addmm(s, a, b, beta=0.5, alpha=-2),
                    bias,
                    a,
                    b,
                    **close,
                )


def test_what_is_multiplied_by_no_beta_may_be_nan(device):
    a = torch.randn(3, 3)
    same_as_cpu(device, lambda s, a: torch.addmm(s, a, a, beta=0), torch.full((3,), NAN), a)


# ---- a result that the elements shape ----


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_nonzero_finds_what_the_cpu_finds(device, dtype):
    for shape in (5, 7, 9), (), (0, 3), (40000,), (2, 3, 1, 0):
        x = (torch.randn(shape) * 1.3).to(torch.int8).to(dtype)
        for given in (x, x.transpose(0, -1), x[::2]) if x.dim() else (x,):
            actual = same_as_cpu(device, torch.nonzero, given)
            assert actual.stride() == torch.nonzero(given).stride()
    odd = torch.tensor([0.0, -0.0, NAN, 1e-30])
    same_as_cpu(device, torch.nonzero, odd)


def test_nonzero_waits_for_what_its_stream_has_yet_to_do(device, module):
    stream = module.Stream()
    with stream:
        x = torch.zeros(1000, 1000, device=device)
        for _ in range(20):
            x.add_(1)
        x.sub_(20)
        x[17, 4] = 3
        assert torch.nonzero(x).tolist() == [[17, 4]]


# ---- random numbers ----


@pytest.mark.parametrize("draw", ["uniform_", "bernoulli_"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_numbers_follow_their_distribution_and_their_seed(device, module, draw, dtype):
    options = {"uniform_": (-1, 3), "bernoulli_": (0.3,)}[draw]
    fill = lambda: getattr(torch.empty(333, 300, device=device, dtype=dtype), draw)(*options).cpu()
    module.manual_seed(1)
    first, second = fill(), fill()
    module.manual_seed(1)
    assert_equal(fill(), first)
    low, high, mean, var = (-1, 3, 1, 16 / 12) if draw == "uniform_" else (0, 1, 0.3, 0.21)
    assert first.min() >= low and first.max() <= high
    assert abs(first.mean() - mean) < 0.02 and abs(first.var() - var) < 0.03
    for other in second, first.roll(1), first.roll(16), first.roll(64):
        assert abs(torch.corrcoef(torch.stack([first.flatten(), other.flatten()]))[0, 1]) < 0.02
    assert "kernel" in ways(f"aten::{draw}" + (".float" if draw == "bernoulli_" else ""), fill)


def test_a_replay_draws_what_the_eager_call_would(device, module):
    fill = lambda: (
        torch.empty(500, device=device).uniform_(),
        torch.empty(500, device=device).bernoulli_(0.5),
    )
    graph, drawn = capture(module, fill)
    module.manual_seed(7)
    expected = [on("cpu", fill()) for _ in range(2)]
    module.manual_seed(7)
    for one in expected:
        graph.replay()
        assert_equal(drawn, one)


@pytest.mark.parametrize("wrong", [lambda x: x.bernoulli_(1.5), lambda x: x.uniform_(2, 1)])
def test_what_cannot_be_drawn_is_refused_in_pytorchs_words(device, wrong):
    with pytest.raises(RuntimeError, match="expects"):
        wrong(torch.empty(5, device=device))


# ---- lists ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_lists_of_tensors_are_the_cpus(device, dtype):
    xs = [values(*shape, dtype=dtype) for shape in ((3, 4), (), (0,), (50000,), (7, 3))]
    ys = [values(*x.shape, dtype=dtype) for x in xs]
    same = lambda fn, *args: same_as_cpu(device, fn, *args, rtol=0, atol=0)
    same(torch._foreach_add, xs, ys)
    same(lambda a, b: torch._foreach_add(a, b, alpha=-1.7), xs, ys)
    same(torch._foreach_add_, xs, ys)
    same(lambda a: torch._foreach_mul(a, 0.3), xs)
    same(lambda a: torch._foreach_mul_(a, 0.3), xs)
    same(lambda a: torch._foreach_add(a, 2), xs)
    same(lambda a: torch._foreach_add_(a, 2), xs)
    there = on(device, xs)
    assert "kernel" in ways("aten::_foreach_add.List", lambda: torch._foreach_add(there, there))
    assert "kernel" in ways("aten::_foreach_mul_.Scalar", lambda: torch._foreach_mul_(there, 2))


def test_lists_that_do_not_lie_alike_are_left_to_pytorch(device):
    xs, ys = [values(3, 4), values(5)], [values(4, 3).t(), values(1)]
    same_as_cpu(device, torch._foreach_add, xs, ys, rtol=0, atol=0)
    same_as_cpu(device, torch._foreach_add, xs, [y.double() for y in xs], rtol=0, atol=0)
    there = on(device, xs)
    with pytest.raises(RuntimeError, match="same number"):
        torch._foreach_add(there, there[:1])


# ---- operators of its own ----


def axpy(x, y, a=1):
    return torch.ops.sim.axpy(x, y, a)


def test_own_operators_run_on_the_device_and_on_the_cpu(device):
    torch.empty(1, device=device)  # defines them
    for where in device, "cpu":
        x, y = (torch.randn(6, 40).to(where) for _ in range(2))
        assert_same(axpy(x, y, 2.5), 2.5 * x + y)
        assert_same(axpy(x.t(), y.t()), x.t() + y.t())
        z = x.clone()
        assert torch.ops.sim.scale_(z[:, ::2], -2.0) is None
        x[:, ::2] *= -2
        assert_equal(z, x)
        assert_equal(torch.ops.sim.ramp([x, y]), [x, 2 * y])
    with pytest.raises(RuntimeError, match="one shape and dtype"):
        axpy(x, y[0])


def test_own_operators_have_gradients_and_pass_opcheck(device):
    x, y = (torch.randn(3, 4, device=device, requires_grad=True) for _ in range(2))
    actual = torch.autograd.grad((axpy(x, y, 3.0) * y).sum(), (x, y))
    expected = torch.autograd.grad(((3 * x + y) * y).sum(), (x, y))
    assert_same(actual, expected)
    # PyTorch checks the registration of gradients on devices of its own only.
    here = ["test_schema", "test_faketensor", "test_aot_dispatch_dynamic"]
    for place, checks in (device, here), ("cpu", [*here, "test_autograd_registration"]):
        x, y = (torch.randn(3, 4, device=place, requires_grad=True) for _ in range(2))
        for op, args in [
            (torch.ops.sim.axpy.default, (x, y, 2.0)),
            (torch.ops.sim.scale_.default, (x.detach().clone(), 2.0)),
            (torch.ops.sim.ramp.default, ([x.detach(), y.detach()],)),
        ]:
            torch.library.opcheck(op, args, test_utils=checks)


def test_own_operators_compile_once_for_all_lengths(device):
    torch.empty(1, device=device)
    counter = CompileCounterWithBackend("aot_eager")

    @torch.compile(backend=counter, dynamic=True, fullgraph=True)
    def step(x, y):
        z = axpy(x, y, 2.0)
        torch.ops.sim.scale_(z, 3.0)
        return z + 1

    for n in (4, 9, 30):
        x, y = torch.randn(n, device=device), torch.randn(n, device=device)
        assert_same(step(x, y), (2 * x + y) * 3 + 1)
    assert counter.frame_count == 1


def test_own_operators_keep_to_their_stream_and_are_captured(device, module):
    x, y = torch.ones(100, device=device), torch.ones(100, device=device)
    module.synchronize()
    with module.Stream():
        for _ in range(50):
            y = axpy(x, y)
        assert y.tolist() == [51] * 100
    graph, z = capture(module, lambda: axpy(x, y, 2.0))
    x.fill_(4)
    graph.replay()
    assert z.tolist() == [59] * 100


# ---- one kernel for every operator ----

ANY = """
import torchplug
ways = lambda op: {entry.way: entry.reason for entry in torchplug.ledger() if entry.op == op}
x = torch.cat([torch.randn(5, 60) * 3, torch.tensor([[float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 100.0, -100.0,
    -87.5, -95.0, -103.0, 88.0, 1e-8] * 5])])
for name in ("exp", "sqrt", "sigmoid", "tanh"):
    op = getattr(torch, name)
    for given in x, x.t(), x[:, ::2], x[:0]:
        torch.testing.assert_close(op(given.to(device)).cpu(), op(given), equal_nan=True)
    there = x.to(device)
    getattr(there, name + "_")()
    torch.testing.assert_close(there.cpu(), op(x), equal_nan=True)
    torch.testing.assert_close(op(x.to(device), out=torch.empty(6, 60, device=device)).cpu(), op(x), equal_nan=True)
    for way in f"aten::{name}", f"aten::{name}_":
        assert "any" in ways(way), (way, ways(way))
    assert op(x.double().to(device)).dtype == torch.float64
    assert "does not take" in ways(f"aten::{name}")["borrow"]
there = x.to(device)
copied = torch.empty_like(there).copy_(there.clone())
torch.testing.assert_close(copied.cpu(), x, rtol=0, atol=0, equal_nan=True)
torch.testing.assert_close(torch.empty(60, 6, device=device).copy_(there.t()).cpu(), x.t(), equal_nan=True)
line = torch.arange(10.0, device=device)
try:
    line[1:].copy_(line[:-1])
except RuntimeError as error:
    assert "single memory location" in str(error)  # PyTorch's words, since the kernel declined
else:
    raise AssertionError(line)
assert (there.cos().cpu().nan_to_num() - x.cos().nan_to_num()).abs().max() < 1e-5
assert "does not know" in ways("aten::cos")["borrow"]
"""


@pytest.mark.parametrize("layers", ["", "validate"])
def test_a_kernel_for_any_operator_does_some_and_declines_the_rest(layers):
    output_of(ANY, "sim", TORCHPLUG_DEVICE="sim", TORCHPLUG_SIM_ANY="on", TORCHPLUG_LAYERS=layers)


def test_gradients_through_the_kernels_are_the_cpus(device):
    x, w, b = (torch.randn(*shape, requires_grad=True) for shape in ((5, 8), (6, 8), (6,)))
    same_gradients(
        device,
        lambda x, w, b: (torch.nn.functional.linear(x, w, b).relu() / 3 - 1).sum(0).mean(),
        x,
        w,
        b,
    )


# ---- what others found ----


def test_any_byte_but_0_is_true(device):
    x = torch.tensor([0, 1, 2, 255], dtype=torch.uint8).view(torch.bool)
    assert_equal(x.to(device).nonzero(), x.nonzero())


def test_lists_that_share_memory_are_as_on_the_cpu(device):
    def exchange(device):
        a, b = torch.ones(100_000, device=device), torch.full((100_000,), 2.0, device=device)
        torch._foreach_add_([a, b], [b, a])
        return a, b

    assert_equal(exchange(device), exchange("cpu"))
    x = torch.ones(200_000, device=device)
    with pytest.raises(RuntimeError, match=r"overlap|same memory|single memory location"):
        torch._foreach_add_([x[1:]], [x[:-1]])


def test_uniform_numbers_are_below_their_bound(device):
    x = torch.empty(1 << 20, device=device).uniform_(1000, 1000.001).cpu()
    assert x.min() >= 1000 and x.max() < torch.tensor(1000.001)


def test_rare_events_are_as_rare_as_asked_for(device):
    assert torch.empty(1 << 20, device=device).bernoulli_(1e-9).sum().item() <= 1


def test_matrices_that_count_for_nothing_may_be_nan(device):
    a = torch.full((3, 3), NAN)
    same_as_cpu(device, lambda s, a: torch.addmm(s, a, a, alpha=0), torch.ones(3, 3), a)


def test_lists_may_span_devices(device):
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    here, there = a.to(device), b.to(torch.device(device.type, 1))
    for count in (2.0, 3.0):
        torch._foreach_add_([a, b], count)
        torch._foreach_add_([here, there], count)
        assert (here.device.index, there.device.index) == (0, 1)
        assert_equal((here, there), (a, b))


def test_where_takes_conditions_of_bytes(device):
    with pytest.warns(UserWarning, match="uint8 condition"):
        same_as_cpu(device, torch.where, torch.tensor([0, 1, 2], dtype=torch.uint8), *values(2, 3))


def test_lists_written_in_place_have_new_versions(device):
    """So that autograd notices: by kernels for lists, and by operators of other libraries on the CPU."""
    y = torch.ones(3, device=device, requires_grad=True) * 2
    z = y * y
    torch._foreach_mul_([y.detach()], 3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(z.sum(), y)
    with torch.library._scoped_library("versions_of", "DEF") as library:
        library.define("bump(Tensor(a!) x) -> ()")
        library.impl("bump", lambda x: (x.add_(1), None)[1], "CPU")
        x = torch.ones(3, device=device)
        for expected in (1, 2, 3):
            torch.ops.versions_of.bump(x)
            assert x._version == expected
        with torch.inference_mode():
            torch.ops.versions_of.bump(torch.ones(3, device=device))
