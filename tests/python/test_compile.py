"""torch.compile(backend="torchplug"): what a compiled program does is what eager does."""

import os
import threading

import pytest
import torch
from compiling import (
    compiled,
    perceptron,
    reports,
    same_as_eager,
    same_gradients_as_eager,
    total,
    trains_as_eager,
)
from helpers import assert_same
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from torchplug.compile import _backend

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


def sweep(value):
    """A case for test-full."""
    skips = pytest.mark.skipif(
        os.environ.get("TORCHPLUG_TEST_SWEEP") != "all",
        reason="a case for TORCHPLUG_TEST_SWEEP=all",
    )
    return pytest.param(value, marks=skips)


# ---- inference and training ----


def test_inference_is_as_eager(device):
    with torch.no_grad():
        same_as_eager(perceptron().to(device), torch.randn(3, 8, device=device), calls=2)


def test_twenty_steps_of_training_are_as_eager(device):
    trains_as_eager(perceptron, [torch.randn(6, 8)], device, rtol=1e-4, atol=1e-5)


def test_gradients_of_inputs_are_as_eager(device):
    x, y = (torch.randn(5, 4, device=device, requires_grad=True) for _ in range(2))
    same_gradients_as_eager(lambda x, y: (x * y.sigmoid()).softmax(-1), x, y)


@pytest.mark.parametrize("tangent", ["transposed", "expanded", "sliced"])
def test_tangents_need_not_be_contiguous(device, tangent):
    given = {
        "transposed": torch.randn(4, 3).t(),
        "expanded": torch.randn(()).expand(3, 4),
        "sliced": torch.randn(3, 8)[:, ::2],
    }[tangent]
    layer = nn.Linear(4, 4).to(device)
    x = torch.randn(3, 4, device=device, requires_grad=True)
    same_gradients_as_eager(lambda x: F.gelu(layer(x)) * 2, x, tangent=given.to(device))


def test_autocast_is_inside_the_program(device):
    model = perceptron().to(device)

    def fn(x):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            return model(x)

    x = torch.randn(4, 8, device=device, requires_grad=True)
    assert compiled(fn)(x).dtype == torch.bfloat16
    same_gradients_as_eager(fn, x, tolerance={"rtol": 3e-2, "atol": 3e-2})


def test_a_checkpointed_part_has_the_gradients_of_eager(device):
    model = perceptron().to(device)
    x = torch.randn(4, 8, device=device, requires_grad=True)
    same_gradients_as_eager(lambda x: checkpoint(model, x, use_reentrant=False), x)


def test_graph_breaks_divide_a_program(device):
    def fn(x):
        x = x * 2 + 1
        torch._dynamo.graph_break()
        return x.exp() if x.sum() > 0 else x.sin()

    same_as_eager(fn, torch.ones(4, 4, device=device))
    assert len(reports()) >= 2


@pytest.mark.parametrize("cached", [True, False])
def test_the_cache_of_aot_autograd_may_be_on_or_off(device, cached):
    model = perceptron().to(device)
    x = torch.randn(3, 8, device=device, requires_grad=True)
    with torch._functorch.config.patch(enable_autograd_cache=cached):
        for _ in range(2):
            torch._dynamo.reset()
            same_gradients_as_eager(model, x)


# ---- random numbers ----


def test_manual_seed_repeats_dropout(device):
    fn = compiled(lambda x: F.dropout(x + 1, 0.5))
    x = torch.ones(64, 8, device=device)
    torch.manual_seed(3)
    first, second = fn(x), fn(x)
    torch.manual_seed(3)
    assert torch.equal(fn(x), first)
    assert not torch.equal(first, second)
    assert 0.4 < (first == 0).float().mean() < 0.6
    assert total("runs") == 3


def test_backward_has_the_mask_of_dropout(device):
    x = torch.ones(64, 8, device=device, requires_grad=True)
    y = compiled(lambda x: F.dropout(x.exp(), 0.5))(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y.detach())


def test_checkpointed_dropout_draws_the_same_mask_again(device):
    x = torch.ones(64, 8, device=device, requires_grad=True)
    fn = compiled(
        lambda x: checkpoint(lambda y: F.dropout(y.exp(), 0.5).exp(), x, use_reentrant=False)
    )
    y = fn(x)
    after = torch.get_device_module(device).get_rng_state()
    (gradient,) = torch.autograd.grad(y.sum(), x)
    inner = y.detach().log()
    assert_same(gradient, y.detach() * inner, rtol=1e-4, atol=1e-4)
    assert torch.equal(torch.get_device_module(device).get_rng_state(), after)


# ---- sizes that change ----


def test_sizes_may_change_when_they_are_dynamic(device):
    fn = compiled(lambda x, y: (x @ y).softmax(-1) + x.sum() * x.shape[0], dynamic=True)
    for size in (2, 7, 5, 1, 0):
        x, y = torch.randn(size, 4, device=device), torch.randn(4, 3, device=device)
        assert_same(fn(x, y), (x @ y).softmax(-1) + x.sum() * size)
    assert total("runs") >= 3


def test_one_engine_serves_all_sizes_of_a_symbol(device):
    model = perceptron().to(device)
    fn = compiled(model)
    for size in (3, 7, 9):
        x = torch.randn(size, 8, device=device)
        torch._dynamo.mark_dynamic(x, 0)
        with torch.no_grad():
            assert_same(fn(x), model(x))
    assert [report["engines"] for report in reports()] == [1] * len(reports())
    assert all(report["runs"] == 3 for report in reports())


def test_expressions_of_sizes_are_worked_out(device):
    def fn(x):
        y = x[: x.shape[0] // 2].reshape(-1, 2) + 1
        return torch.cat([y, y * y.shape[0]]), x.new_zeros(x.shape[0] * 3 + 1) + 2

    call = compiled(fn, dynamic=True)
    for rows in (8, 12, 20):
        x = torch.randn(rows, 6, device=device)
        assert_same(call(x), fn(x))
    assert len({id(report) for report in reports()}) <= 2


def test_sizes_that_depend_on_data_run_operator_by_operator(device):
    def fn(x):
        y = (x * 2)[x > 0]
        return y.sin().sum(), y + 1

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for _ in range(2):
            same_as_eager(fn, torch.randn(20, device=device))


def test_a_backward_may_have_inputs_whose_sizes_depend_on_data(device):
    def fn(x, weight):
        chosen = (x.sum(-1) > 0).nonzero().squeeze(-1)
        return (x.exp() * 2).index_add(0, chosen, F.gelu(x[chosen] * weight))

    x = torch.randn(9, 4, device=device, requires_grad=True)
    weight = torch.randn(4, device=device, requires_grad=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        same_gradients_as_eager(fn, x, weight)


def test_numbers_that_are_read_from_tensors_reach_the_program(device):
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        same_as_eager(lambda x: (x * x.sum().item() + 1).exp(), torch.randn(5, device=device) / 9)


# ---- what is written in place ----


def test_batch_norm_statistics_are_those_of_eager_and_written_by_the_engine(device):
    def make():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())

    model, given = trains_as_eager(
        make, [torch.randn(2, 3, 6, 6)], device, steps=3, rtol=1e-3, atol=1e-5
    )
    assert model[1].num_batches_tracked == 3
    outside = {str(node.target) for program in _backend.programs for node, _ in program.outside}
    assert "aten.copy_.default" not in outside
    model.eval()
    same_as_eager(model, *given)


def swapped(x, y):
    before = x.clone()
    x.copy_(y)
    y.copy_(before).add_(1)
    return x + y


def copied_and_changed(x, y):
    x.copy_(y.t())
    y.add_(1)
    return x.t()


def overwritten_with_other_strides(x, y):
    total = (x + 1).sum()
    x.copy_((y.t().contiguous() * 2).t())
    return total + x


def columns_written(x, y):
    x[:, 1].add_(y[0])
    return x * 2


def converted(x, y):
    x.copy_(y.to(torch.float64))
    return x.exp()


@pytest.mark.parametrize(
    "fn",
    [swapped, copied_and_changed, overwritten_with_other_strides, columns_written, converted],
    ids=lambda fn: fn.__name__,
)
@pytest.mark.parametrize("layout", ["contiguous", sweep("transposed"), "sliced"])
def test_inputs_written_in_place_are_as_eager(device, fn, layout):
    kinds = {
        "contiguous": lambda x: x[:, :4].contiguous(),
        "transposed": lambda x: x[:, :4].contiguous().t(),
        "sliced": lambda x: x[:, ::2],
    }
    x, y = (kinds[layout](torch.randn(4, 8, device=device)) for _ in range(2))
    same_as_eager(fn, x, y, strides=False)


def test_a_cache_is_written_where_it_is(device):
    def fn(cache, new, place):
        cache.index_copy_(1, place, new)
        return (cache * 2).sum(-1).softmax(-1)

    cache, reference = (torch.zeros(2, 8, 4, device=device) for _ in range(2))
    address, call = cache.data_ptr(), compiled(fn)
    for i in range(4):
        new, place = torch.randn(2, 1, 4, device=device), torch.tensor([i], device=device)
        assert_same(call(cache, new, place), fn(reference, new, place))
    assert_same(cache, reference)
    assert cache.data_ptr() == address


def test_what_is_written_in_place_counts_without_an_engine(device):
    def fn(x):
        x.mul_(2)
        return x + 1, x.t()

    same_as_eager(fn, torch.ones(2, 3, device=device), calls=1)
    eager = compiled(fn, options={"background": True})
    ours, theirs = torch.ones(2, 4, device=device), torch.ones(2, 4, device=device)
    for _ in range(3):
        assert_same(eager(ours), fn(theirs))
        assert_same(ours, theirs)


def test_inputs_may_share_memory(device):
    def fn(x, y):
        x.add_(1)
        return x + y

    ours, theirs = torch.arange(10.0, device=device), torch.arange(10.0, device=device)
    for a, b in ((slice(0, 6), slice(4, 10)), (slice(0, 6), slice(0, 6))):
        torch._dynamo.reset()  # its guards do not see how much two slices overlap
        assert_same(compiled(fn)(ours[a], ours[b]), fn(theirs[a], theirs[b]))
        assert_same(ours, theirs)
    assert_same(compiled(fn)(ours, ours), fn(theirs, theirs))
    assert_same(ours, theirs)


# ---- what is returned ----


def test_outputs_that_are_inputs_or_views_share_memory_as_in_eager(device):
    def fn(x):
        y = x * 2
        return x, x.t(), y, y.t(), y[0], y.expand(2, 3, 5), y.split(2), None, 3

    x = torch.randn(3, 5, device=device)
    same_as_eager(fn, x)
    result = compiled(fn)(x)
    assert result[0] is x
    result[1].zero_()
    assert x.abs().sum() == 0
    result[3].fill_(7)
    assert all((y == 7).all() for y in (*result[2:6], *result[6]))


def test_outputs_have_the_strides_of_eager(device):
    x = torch.randn(2, 3, 4, 5, device=device)
    for given in (
        x,
        x.to(memory_format=torch.channels_last),
        x.permute(1, 0, 3, 2),
        x[:, :, ::2],
        x[:, :1].expand(2, 3, 4, 5),
    ):
        same_as_eager(lambda x: (x * 2 + 1).relu(), given)


def test_a_channels_last_model_stays_channels_last(device):
    layers = [nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.SiLU()]
    model = nn.Sequential(*layers).to(device).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 5, 6, device=device).to(memory_format=torch.channels_last)
    result = same_as_eager(model, x)
    assert result.is_contiguous(memory_format=torch.channels_last)


def test_operators_with_lists_of_results_are_compiled(device):
    def fn(x):
        a, b, c = x.split([2, 3, 3], 1)
        p, q = (x * 2).unbind(0)
        return a * b[:, :2] + c[:, 1:], p + q, sum(x.chunk(3, 1)[:2])

    same_as_eager(fn, torch.randn(2, 8, device=device))
    assert len(reports()) == 1


def test_empty_tensors_and_single_numbers_go_through(device):
    for shape in ((0, 4), (4, 0), (), (1, 1)):
        same_as_eager(lambda x: (x * 2).sum() + x.exp(), torch.ones(shape, device=device))


def test_tensors_of_the_host_may_take_part(device):
    def fn(x, number):
        return x * number + number.exp().to(x.device), torch.tensor([1.0, 2.0]) * number

    same_as_eager(fn, torch.randn(3, 2, device=device), torch.tensor(3.0))


def test_constants_inside_a_function_are_kept(device):
    def fn(x):
        return x * torch.tensor([1.0, 2.0, 3.0], device=x.device) + torch.arange(3, device=x.device)

    same_as_eager(fn, torch.randn(5, 3, device=device))


def results_of_groups():
    """The names of what the groups give to others."""
    groups = [group for program in _backend.programs for group in program.groups]
    return [str(node.target).removesuffix(".default") for group in groups for node in group.outputs]


def test_views_of_inputs_are_no_results_of_engines(device):
    layer = nn.Linear(4, 4, bias=False).to(device)

    def fn(x):
        return layer(x.exp()).exp() + layer.weight.t()

    with torch.no_grad():
        same_as_eager(fn, torch.randn(4, 4, device=device))
    assert "aten.t" not in results_of_groups()


def shown_twice(x):
    y = x.exp()
    return y.t() @ y, y.sum(), y.reshape(-1, 1) @ y.reshape(1, -1)


def seen_inside_too(x):
    y = x.exp()
    z = y.t()
    return z @ y, (z * 2).sum()


def three_parts(x):
    y = (x * 2).reshape(4, 6)
    a, b, c = y[:, :2], y[:, 2:4], y[:, 4:]
    return a @ b.t() @ c


def most_parts(x):
    y = (x * 2).reshape(4, 6)
    return y[:, :1].sum(), y[:, 1:3] @ y[:, 3:5].t()


def part_of_what_is_returned(x):
    y = x.exp()
    return y, y[:, 1:3] @ y[:, :2].t()


@pytest.mark.parametrize(
    ("fn", "results"),
    [
        (shown_twice, ["aten.exp", "aten.sum"]),
        (seen_inside_too, ["aten.exp", "aten.sum"]),
        (three_parts, ["aten.mul.Tensor"]),
        (most_parts, ["aten.mul.Tensor", "aten.sum"]),
        (part_of_what_is_returned, ["aten.exp"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_group_gives_no_copy_of_what_a_view_could_show(device, fn, results):
    same_as_eager(fn, torch.randn(4, 6, device=device))
    assert sorted(results_of_groups()) == results


def test_a_group_gives_a_part_if_nobody_needs_the_rest(device):
    def fn(x, y):
        return x.exp()[:, :2] @ y

    same_as_eager(fn, torch.randn(4, 6, device=device), torch.randn(2, 3, device=device))
    (program,) = _backend.programs
    sizes = [tuple(node.meta["val"].shape) for group in program.groups for node in group.outputs]
    assert sizes == [(4, 2)]


@pytest.mark.parametrize("options", [{}, {"check": True}, {"background": True}], ids=str)
def test_what_chooses_keeps_its_dtype_in_engines_and_node_by_node(device, options):
    def fn(x, y, mask):
        return torch.where(mask, x, y).masked_fill(mask.t(), 2), y.masked_fill(~mask, x[0, 0].int())

    given = torch.randn(4, 4), torch.arange(16).view(4, 4), torch.randn(4, 4) > 0
    same = compiled(fn, options=options)(*(x.to(device) for x in given))
    assert_same(same, fn(*given))


# ---- weights ----


def test_changed_weights_count_from_the_next_call(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = compiled(model)

    def assert_current():
        with torch.no_grad():
            assert_same(call(x), model(x))

    assert_current()
    with torch.no_grad():
        model[0].weight.mul_(2)
    assert_current()
    model.load_state_dict(perceptron().state_dict())
    assert_current()
    model[0].weight.data = torch.randn(16, 8, device=device)
    assert_current()
    model(x).sum().backward()
    torch.optim.AdamW(model.parameters(), lr=0.1).step()
    assert_current()
    model[0] = nn.Linear(8, 16).to(device)
    assert_current()


# ---- threads ----


@pytest.mark.pytorch("threads cannot compile at once, on the CPU neither", since=(2, 13))
def test_threads_may_call_one_compiled_model(device):
    model = perceptron().to(device)
    call = compiled(model, dynamic=True)
    failed = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        try:
            for size in (2, 5, 3):
                x = torch.randn(size, 8, generator=generator).to(device)
                assert_same(call(x), model(x))
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)

    with torch.no_grad():
        call(torch.randn(4, 8, device=device))
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
