"""torch.compile(backend="torchplug"): programs as people write them, training most of all, do what they do in eager mode."""

import dataclasses

import pytest
import torch
from compiling import (
    compiled,
    gradients_of,
    perceptron,
    same_as_eager,
    same_gradients_as_eager,
    total,
    trains_as_eager,
)
from helpers import assert_equal, assert_same
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from torchplug.compile import _backend

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


# ---- arguments and results ----


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor
    scale: float = 2.0


def of_keywords(x, *, y, scale=3.0, missing=None):
    assert missing is None
    return {"sum": (x + y) * scale, "none": missing, "list": [x.exp(), (y.sin(), 4)]}


def test_arguments_may_have_names_be_none_or_stand_in_lists(device):
    x, y = torch.randn(3, 4, device=device), torch.randn(4, device=device)
    call = compiled(of_keywords, fullgraph=True)
    assert_same(call(x, y=y, scale=1.5), of_keywords(x, y=y, scale=1.5))

    def fn(pairs, table, nothing):
        return [a * b + (1 if nothing is None else nothing) for a, b in pairs] + [table["z"].exp()]

    same_as_eager(fn, [(x, y), (y, y)], {"z": x}, None)


def test_dataclasses_go_in_and_out(device):
    def fn(pair):
        return Pair(pair.first.exp() * pair.scale, pair.second + pair.first)

    given = Pair(torch.randn(3, device=device), torch.randn(3, device=device), 5.0)
    actual, expected = compiled(fn, fullgraph=True)(given), fn(given)
    assert_same(
        (actual.first, actual.second, actual.scale),
        (expected.first, expected.second, expected.scale),
    )


def test_numbers_of_python_may_change(device):
    def fn(x, i, f):
        return (x * i + f).exp()

    call = compiled(fn)
    x = torch.randn(4, device=device)
    for i, f in ((1, 0.5), (2, 0.25), (5, -1.0), (-3, 2.0), (0, 0.0)):
        assert_same(call(x, i, f), fn(x, i, f))


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64, torch.float64])
@pytest.mark.parametrize("shape", [(3, 4), (), (0, 4)], ids=str)
def test_dtypes_and_shapes_are_as_eager(device, dtype, shape):
    def fn(x, y):
        z = torch.where(x == y, x, y) * y
        return z, z.sum(), x.float() if not x.is_complex() else x.abs(), x.to(torch.complex64) * 1j

    x = torch.randn(shape, device=device).mul(3).to(dtype)
    actual = compiled(fn)(x, x.flip(0) if x.dim() else x)
    assert_same(actual, fn(x, x.flip(0) if x.dim() else x))


def test_conjugates_are_not_forgotten(device):
    x = torch.randn(3, 4, device=device, dtype=torch.complex64)
    call = compiled(lambda x: (x * 2, x.conj() + x.real, x.imag.exp(), x.conj()))
    for given in (x, x.conj(), x.t().conj()):
        assert_same(
            call(given), (given * 2, given.conj() + given.real, given.imag.exp(), given.conj())
        )


# ---- modes of autograd ----


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_modes_of_autograd_inside_and_outside(device, mode):
    same_in_mode(device, mode)


@pytest.mark.pytorch("it fails in AOTAutograd, on the CPU too", since=(2, 13))
def test_inference_mode_inside_and_outside(device):
    same_in_mode(device, torch.inference_mode)


def same_in_mode(device, mode):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)

    def inside(x):
        with mode():
            y = model(x)
        return y.exp() * 2

    call = compiled(inside)
    actual, expected = call(x), inside(x)
    assert_same(actual, expected)
    assert actual.requires_grad == expected.requires_grad
    outside = compiled(model)
    with mode():
        actual, expected = outside(x), model(x)
    assert_same(actual, expected)
    assert actual.requires_grad == expected.requires_grad
    assert_same(outside(x), model(x))


def test_a_second_derivative_is_refused_as_by_pytorchs_own_backends(device):
    x = torch.randn(4, device=device, requires_grad=True)
    y = compiled(lambda x: (x.exp() * x).sum())(x)
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    with pytest.raises(
        RuntimeError,
        match=r"aot_autograd does not currently support double backward",
    ):
        torch.autograd.grad(gradient.sum(), x)


def test_backward_may_run_twice_with_retain_graph(device):
    x = torch.randn(4, device=device, requires_grad=True)
    y = compiled(lambda x: (x.exp() * x).sum())(x)
    first = torch.autograd.grad(y, x, retain_graph=True)
    assert_equal(torch.autograd.grad(y, x), first)


def test_some_inputs_need_gradients_and_some_results_have_none(device):
    def fn(x, y, mask):
        return (x * y).exp(), mask & (x > 0), y.detach() * 2, (x * 3).long()

    x = torch.randn(5, device=device, requires_grad=True)
    y, mask = (
        torch.randn(5, device=device),
        torch.tensor([True, False, True, True, False], device=device),
    )
    actual, expected = compiled(fn)(x, y, mask), fn(x, y, mask)
    assert_same(actual, expected)
    assert [t.requires_grad for t in actual] == [t.requires_grad for t in expected]
    assert_same(torch.autograd.grad(actual[0].sum(), x), torch.autograd.grad(expected[0].sum(), x))


def test_results_that_are_views_have_the_gradients_of_eager(device):
    def fn(x):
        y = x.exp()
        return y, y.t(), y[0], x.view(-1), x

    x = torch.randn(3, 4, device=device, requires_grad=True)
    weights = [torch.randn(t.shape, device=device) for t in fn(x)]

    def loss(results):
        return sum((a * b).sum() for a, b in zip(results, weights, strict=True))

    assert_same(torch.autograd.grad(loss(compiled(fn)(x)), x), torch.autograd.grad(loss(fn(x)), x))


def test_gradients_add_up_over_several_calls(device):
    a, b = perceptron().to(device), perceptron().to(device)
    b.load_state_dict(a.state_dict())
    call = compiled(a)
    for rows in (3, 3, 5):
        x = torch.randn(rows, 8, device=device)
        call(x).square().sum().backward()
        b(x).square().sum().backward()
    for ours, theirs in zip(a.parameters(), b.parameters(), strict=True):
        assert_same(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


# ---- inputs that are written or shared ----


def test_a_leafs_inputs_written_under_gradients_are_as_eager(device):
    def fn(x, y):
        x.mul_(y)
        return x.exp().sum()

    ours, theirs = (torch.ones(4, device=device) for _ in range(2))
    weight = torch.randn(4, device=device, requires_grad=True)
    actual, expected = compiled(fn)(ours, weight), fn(theirs, weight)
    assert_same(actual, expected)
    assert_same(ours, theirs)
    assert_same(torch.autograd.grad(actual, weight), torch.autograd.grad(expected, weight))


def test_one_tensor_may_be_several_arguments(device):
    def fn(x, y, z):
        x.add_(z.sum())
        return x * y + z

    base, other = (torch.arange(12.0, device=device).reshape(3, 4) for _ in range(2))
    for view in (
        lambda t: (t, t, t),
        lambda t: (t[:2], t[1:], t[:2]),
        lambda t: (t.t(), t.t(), t.t()),
    ):
        torch._dynamo.reset()
        assert_same(compiled(fn)(*view(base)), fn(*view(other)))
        assert_same(base, other)


# ---- autocast and checkpoints ----


@pytest.mark.parametrize("outside", [False, True])
def test_autocast_inside_and_outside_of_the_program(device, outside):
    model = perceptron().to(device)
    x = torch.randn(4, 8, device=device, requires_grad=True)

    def cast(fn):
        def run(x):
            with torch.autocast(device.type, dtype=torch.bfloat16):
                return fn(x)

        return run

    call = cast(compiled(model)) if outside else compiled(cast(model))
    actual, expected = gradients_of(call, x), gradients_of(cast(model), x)
    assert actual[0].dtype == torch.bfloat16
    assert_same(actual, expected, rtol=3e-2, atol=3e-2)
    assert total("runs") >= 2
    if outside:  # without autocast the program is another
        plain = compiled(model)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            plain(x)
        assert plain(x).dtype == torch.float32


class Block(nn.Module):
    """A checkpointed part with dropout, between others."""

    def __init__(self, use_reentrant):
        super().__init__()
        self.use_reentrant = use_reentrant
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def part(self, x):
        return F.dropout(F.gelu(self.second(x)), 0.5)

    def forward(self, x):
        return checkpoint(self.part, self.first(x).exp(), use_reentrant=self.use_reentrant) * 2


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpointed_block_with_dropout_has_one_mask(device, use_reentrant):
    model = Block(use_reentrant).to(device)
    nn.init.zeros_(model.second.weight)
    nn.init.ones_(model.second.bias)  # the part is then one number, dropped or not
    x = torch.randn(64, 8, device=device, requires_grad=True)
    for _ in range(2):
        y = compiled(model)(x)
        dropped = y.detach() == 0
        assert 0.4 < dropped.float().mean() < 0.6
        (gradient,) = torch.autograd.grad(y.sum(), model.second.bias)
        number = torch.ones((), requires_grad=True)
        (slope,) = torch.autograd.grad(F.gelu(number) * 4, number)
        expected = (~dropped).sum(0) * slope.to(device)
        assert_same(gradient, expected, rtol=1e-4, atol=1e-4)


def test_a_checkpoint_on_a_device_that_is_not_current_has_one_mask(device, other_device):
    x = torch.ones(64, 8, device=other_device, requires_grad=True)
    fn = compiled(
        lambda x: checkpoint(lambda y: F.dropout(y.exp(), 0.5).exp(), x, use_reentrant=False)
    )
    y = fn(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert_same(gradient, y.detach() * y.detach().log(), rtol=1e-4, atol=1e-4)


def test_dropout_repeats_after_manual_seed_in_training(device):
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.GELU(), nn.Dropout(0.25)).to(device)
    call = compiled(model)
    x = torch.randn(16, 8, device=device)

    def step():
        model.zero_grad()
        result = call(x)
        result.square().sum().backward()
        return result.detach(), model[0].weight.grad.clone()

    torch.manual_seed(11)
    first, second = step(), step()
    torch.manual_seed(11)
    assert_equal([step(), step()], [first, second])
    assert not torch.equal(first[0], second[0])


# ---- PyTorch's own caches and graph breaks ----


@pytest.mark.parametrize("cached", [True, False])
def test_the_cache_of_aot_autograd_does_not_mix_programs_up(device, cached):
    with torch._functorch.config.patch(enable_autograd_cache=cached):
        for factor in (2.0, 3.0, 2.0):
            torch._dynamo.reset()
            x = torch.randn(5, device=device, requires_grad=True)
            same_gradients_as_eager(lambda x, f=factor: (x * f).exp(), x)


class Broken(nn.Module):
    """Breaks the graph between its layers and looks at a result."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = F.gelu(self.first(x))
        torch._dynamo.graph_break()
        if x.sum().item() > 1e9:
            x = x * 0
        print(end="")
        return self.second(x.exp()).tanh()


def test_gradients_go_through_graph_breaks(device):
    model = Broken().to(device)
    same_gradients_as_eager(model, torch.randn(3, 8, device=device, requires_grad=True))
    assert len(_backend.programs) >= 4


NORMS = [
    "aten::native_layer_norm",
    "aten::_native_batch_norm_legit_functional",
    "aten::_native_batch_norm_legit",
    "aten::native_batch_norm",
]


@pytest.mark.parametrize(
    "options",
    [
        {"eager": NORMS},
        {"eager": [f"{name}_backward" for name in ("aten::native_layer_norm", NORMS[-1])]},
        {"background": True},
        {"check": True},
    ],
    ids=["their forward", "their backward", "until engines are there", "beside engines"],
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_norms_of_half_precision_may_run_one_by_one_among_engines(device, options, dtype):
    def make():
        return nn.Sequential(
            nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 8), nn.BatchNorm1d(8)
        )

    inputs = (torch.randn(6, 8),)
    trains_as_eager(
        make, inputs, device, dtype, steps=3, runs=0, options=options, rtol=6e-2, atol=6e-2
    )


def test_norms_of_half_precision_may_be_where_streams_are_used(device, module):
    side = module.Stream()
    norm = nn.LayerNorm(8).to(device, torch.bfloat16)

    def fn(x):
        y = norm(x)
        side.wait_stream(module.current_stream())
        with module.stream(side):
            y = y * 2
        module.current_stream().wait_stream(side)
        return y

    x = torch.randn(4, 8, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        assert_same(compiled(fn)(x), fn(x), rtol=6e-2, atol=6e-2)


# ---- sizes ----


def test_training_with_open_sizes_has_one_program(device):
    model = perceptron().to(device)
    call = compiled(model, dynamic=True)
    for rows in (2, 7, 4):
        x = torch.randn(rows, 8, device=device, requires_grad=True)
        ours, theirs = gradients_of(call, x), gradients_of(model, x)
        assert_same(ours, theirs, rtol=1e-4, atol=1e-5)
    assert len(_backend.programs) == 2


def test_marked_sizes_are_open_and_others_are_not(device):
    def fn(x):
        return (x * x.shape[0]).softmax(-1) + x.shape[1]

    call = compiled(fn, fullgraph=True)
    for rows in (3, 5, 8):
        x = torch.randn(rows, 6, device=device)
        torch._dynamo.mark_dynamic(x, 0)
        assert_same(call(x), fn(x))
    assert len(_backend.programs) == 1


# ---- streams ----

STREAMS = {
    "torch.device": lambda module: (module.current_stream, module.synchronize, module.stream),
    "torch.accelerator": lambda _: (
        torch.accelerator.current_stream,
        torch.accelerator.synchronize,
        lambda stream: stream,
    ),
}


@pytest.mark.parametrize("names", STREAMS)
def test_the_current_stream_and_synchronize_are_in_the_program(device, module, names):
    current, wait, _ = STREAMS[names](module)

    def fn(x):
        stream = current()
        y = x * 2
        wait()
        stream.synchronize()
        return y + 1

    x = torch.randn(4, device=device)
    call = compiled(fn, fullgraph=True)
    assert_same(call(x), fn(x))
    with module.stream(module.Stream()):
        assert_same(call(x), fn(x))


@pytest.mark.parametrize("names", STREAMS)
def test_work_goes_to_the_stream_it_was_written_for(device, module, names):
    current, _, on = STREAMS[names](module)
    side = module.Stream()

    def fn(x):
        main = current()
        y = x * 2
        side.wait_stream(main)
        with on(side):
            z = y.exp() + 1
        main.wait_stream(side)
        return z * y

    x = torch.randn(4, 4, device=device)
    call = compiled(fn, fullgraph=True)
    for _ in range(3):
        assert_same(call(x), fn(x))


def test_events_are_in_the_program(device, module):
    side = module.Stream()

    def fn(x):
        ready = module.Event()
        done = torch.Event()
        y = x * 2
        ready.record()
        with module.stream(side):
            ready.wait()
            z = y.exp()
            done.record()
        done.wait()
        return z + y

    x = torch.randn(4, 4, device=device)
    call = compiled(fn, fullgraph=True)
    for _ in range(3):
        assert_same(call(x), fn(x))


def test_gradients_of_work_on_another_stream_are_those_of_eager_or_one_sentence(device, module):
    side = module.Stream()

    def by_streams(x):
        y = x.exp()
        side.wait_stream(module.current_stream())
        with module.stream(side):
            z = y.sin()
        module.current_stream().wait_stream(side)
        return (z * y).sum()

    def without_waiting(x):
        with module.stream(module.current_stream()):
            y = x.exp()
        return (y * x).sum()

    x = torch.randn(5, device=device, requires_grad=True)
    actual = torch.autograd.grad(compiled(without_waiting, fullgraph=True)(x), x)
    assert_same(actual, torch.autograd.grad(without_waiting(x), x))
    try:
        result = compiled(by_streams, fullgraph=True)(x)
    except torch._dynamo.exc.BackendCompilerFailed as error:
        assert "PyTorch cannot divide this function, which uses streams" in str(error)
    else:  # PyTorch 2.11 can
        expected = torch.autograd.grad(by_streams(x), x)
        assert_same(torch.autograd.grad(result, x), expected)
    with torch.no_grad():
        assert_same(compiled(by_streams, fullgraph=True)(x), by_streams(x))


def test_the_backend_is_listed():
    assert "torchplug" in torch._dynamo.list_backends()
