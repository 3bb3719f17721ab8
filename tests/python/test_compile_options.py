"""torch.compile(backend="torchplug"): what freeze, capture, check and background change, and what they do not."""

import copy
import threading
import warnings

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
from helpers import assert_equal, assert_same
from torch import nn
from torch.nn import functional as F

from torchplug.compile import _backend, _check

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


def sentence(raised):
    """What the backend said, without what PyTorch adds."""
    return str(raised.value).splitlines()[1]


ALONE = (
    "Option 'capture' cannot be used with '{}', which needs the engines to be called each time. "
    "Leave one of them out."
)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"freeze": 1}, "Option 'freeze' is 1. It is True or False."),
        ({"capture": "yes"}, "Option 'capture' is 'yes'. It is True or False."),
        ({"check": None}, "Option 'check' is None. It is True or False."),
        ({"capture": True, "background": True}, ALONE.format("background")),
        ({"capture": True, "check": True}, ALONE.format("check")),
    ],
    ids=str,
)
def test_wrong_values_get_one_sentence(device, options, expected):
    with pytest.raises(Exception, match="ption") as raised:
        compiled(lambda x: x + 1, options=options)(torch.ones(3, device=device))
    assert sentence(raised) == f"ValueError: {expected}"


# ---- freeze ----


@torch.no_grad()
def test_frozen_weights_are_constants_and_give_what_eager_gives(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = compiled(model, options={"freeze": True})
    assert_same(call(x), model(x))
    groups = [group for program in _backend.programs for group in program.groups]
    inputs = [node for group in groups for node in group.inputs]
    assert not [
        node for node in inputs if node.op in ("get_attr", "placeholder") and "weight" in node.name
    ]
    assert any("constant" in str(group.engines.graph) for group in groups)


@torch.no_grad()
def test_what_depends_on_frozen_weights_alone_is_worked_out_once(device):
    layer = nn.Linear(8, 8).to(device)

    def fn(x):
        return x @ layer.weight.t().exp() + layer.bias.sigmoid()

    x = torch.randn(3, 8, device=device)
    assert_same(compiled(fn, options={"freeze": True})(x), fn(x))
    (program,) = _backend.programs
    nodes = [node for group in program.groups for node in group.nodes]
    nodes += [node for node, _ in program.outside]
    names = {str(node.target) for node in nodes}
    assert not names & {"aten.exp.default", "aten.sigmoid.default", "aten.t.default"}


@torch.no_grad()
def test_a_frozen_weight_that_changes_is_noticed(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = compiled(model, options={"freeze": True})
    assert_same(call(x), model(x))
    model[2].weight.mul_(2)
    assert_same(call(x), model(x))
    model.load_state_dict(perceptron().state_dict())
    assert_same(call(x), model(x))
    model[0].weight.data = torch.randn(16, 8, device=device)
    assert_same(call(x), model(x))
    made = total("compiled") + total("loaded")
    assert_same(call(x), model(x))
    assert total("compiled") + total("loaded") == made


def test_a_frozen_weight_that_a_fused_step_writes_is_noticed(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = compiled(model, options={"freeze": True})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, fused=True)
    for _ in range(3):
        with torch.no_grad():
            assert_same(call(x), model(x))
        model(x).sum().backward()
        optimizer.step()


@torch.no_grad()
def test_buffers_that_a_model_writes_are_not_frozen(device):
    model = nn.Sequential(nn.BatchNorm1d(8), nn.ReLU()).to(device)
    other, x = copy.deepcopy(model), torch.randn(4, 8, device=device)
    call = compiled(model, options={"freeze": True})
    for _ in range(3):
        assert_same(call(x), other(x))
    assert_same(model.state_dict(), other.state_dict())


def test_freeze_is_for_calls_without_gradients(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = compiled(model, options={"freeze": True})
    with pytest.raises(Exception, match="freeze") as raised:
        call(x)
    assert sentence(raised) == (
        "ValueError: Option 'freeze' makes constants of weights, and this call is to have gradients. "
        "Call the model under torch.no_grad(), or leave 'freeze' out."
    )
    with torch.no_grad():
        assert_same(call(x), model(x))


# ---- capture ----


def replays(device):
    """Counts of what was replayed: engines are not called again from Python."""
    return total("runs")


@torch.no_grad()
def test_a_captured_call_is_replayed_with_the_inputs_it_is_given(device):
    model = perceptron().to(device)
    call = compiled(model, options={"capture": True})
    results = []
    for _ in range(6):
        x = torch.randn(3, 8, device=device)
        results.append((call(x), model(x)))
    assert_same([a for a, _ in results], [b for _, b in results])
    assert {report["runs"] for report in reports()} == {2}  # the first call, and the capture


@torch.no_grad()
def test_mode_reduce_overhead_is_capture(device):
    call = compiled(perceptron().to(device), mode="reduce-overhead")
    for _ in range(5):
        call(torch.randn(3, 8, device=device))
    assert {report["runs"] for report in reports()} == {2}


@torch.no_grad()
def test_each_shape_has_a_capture(device):
    model = perceptron().to(device)
    call = compiled(model, dynamic=True, options={"capture": True})
    for _ in range(4):
        for rows in (2, 3, 5):
            x = torch.randn(rows, 8, device=device)
            assert_same(call(x), model(x))
    assert {report["runs"] for report in reports()} == {6}


@torch.no_grad()
def test_inputs_of_a_capture_may_have_any_strides(device):
    call = compiled(lambda x: (x * 2 + 1).softmax(-1), options={"capture": True})
    for make in (
        lambda: torch.randn(4, 6, device=device).t(),
        lambda: torch.randn(6, 8, device=device)[:, ::2],
        lambda: torch.randn(6, 1, device=device).expand(6, 4),
        lambda: torch.randn(0, 4, device=device),
        lambda: torch.randn((), device=device),
    ):
        for _ in range(4):
            x = make()
            assert_same(call(x), (x * 2 + 1).softmax(-1) if x.dim() else torch.ones_like(x))


@torch.no_grad()
def test_random_numbers_of_replays_are_fresh_and_repeat_after_manual_seed(device):
    call = compiled(lambda x: F.dropout(x + 1, 0.5), options={"capture": True})
    x = torch.ones(64, 8, device=device)
    for _ in range(3):
        call(x)
    torch.manual_seed(3)
    first = [call(x) for _ in range(3)]
    torch.manual_seed(3)
    assert_equal([call(x) for _ in range(3)], first)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[1], first[2])
    assert 0.4 < (first[0] == 0).float().mean() < 0.6


@torch.no_grad()
def test_what_a_captured_call_writes_is_written_where_it_is(device):
    def fn(cache, new, place):
        cache.index_copy_(1, place, new)
        return (cache * 2).sum(-1)

    call = compiled(fn, options={"capture": True})
    ours, theirs = torch.zeros(2, 8, 4, device=device), torch.zeros(2, 8, 4, device=device)
    for i in range(6):
        new, place = torch.randn(2, 1, 4, device=device), torch.tensor([i], device=device)
        assert_same(call(ours, new, place), fn(theirs, new, place))
        assert_same(ours, theirs)
    other = torch.ones(2, 8, 4, device=device)
    assert_same(call(other, new, place), fn(torch.ones(2, 8, 4, device=device), new, place))
    assert_same(ours, theirs)


@torch.no_grad()
def test_weights_of_a_capture_may_change(device):
    model = perceptron().to(device)
    call = compiled(model, options={"capture": True})
    x = torch.randn(3, 8, device=device)
    for change in (
        lambda: None,
        lambda: model[0].weight.mul_(2),
        lambda: model.load_state_dict(perceptron().state_dict()),
        lambda: setattr(model[0].weight, "data", torch.randn(16, 8, device=device)),
    ):
        change()
        for _ in range(4):
            assert_same(call(x), model(x))


@torch.no_grad()
def test_results_of_a_capture_stay_what_they_are_and_share_memory_as_in_eager(device):
    def fn(x):
        y = x.exp() * 2
        return y, y.t(), y[0], x

    call = compiled(fn, options={"capture": True})
    given = [torch.randn(3, 5, device=device) for _ in range(5)]
    results = [call(x) for x in given]
    for x, result in zip(given, results, strict=True):
        assert_same(result, fn(x))
        assert [y.stride() for y in result] == [y.stride() for y in fn(x)]
        assert result[3] is x
    results[-1][0].zero_()
    assert results[-1][1].abs().sum() == 0
    assert results[-1][2].abs().sum() == 0


def test_twenty_captured_steps_are_as_eager(device):
    trains_as_eager(
        perceptron,
        [torch.randn(6, 8)],
        device,
        rtol=1e-4,
        atol=1e-5,
        runs=2,
        options={"capture": True},
    )


def test_two_forwards_before_a_backward_keep_what_they_need(device):
    model = perceptron().to(device)
    call = compiled(model, options={"capture": True})
    for _ in range(4):
        a, b = (torch.randn(3, 8, device=device, requires_grad=True) for _ in range(2))
        first, second = call(a), call(b)
        ours = torch.autograd.grad(second.square().sum() + first.exp().sum(), [a, b])
        theirs = torch.autograd.grad(model(b).square().sum() + model(a).exp().sum(), [a, b])
        assert_same(ours, theirs)


def test_captured_dropout_has_its_mask_in_the_backward(device):
    call = compiled(lambda x: F.dropout(x.exp(), 0.5), options={"capture": True})
    for _ in range(5):
        x = torch.ones(64, 8, device=device, requires_grad=True)
        y = call(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        assert torch.equal(gradient, y.detach())


def test_threads_and_streams_may_share_a_captured_model(device, module):
    model = perceptron().to(device)
    call = compiled(model, options={"capture": True})
    failed = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        try:
            with torch.no_grad(), module.stream(module.Stream()):
                for _ in range(20):
                    x = torch.randn(3, 8, generator=generator).to(device)
                    assert_same(call(x), model(x))
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)

    with torch.no_grad():
        for _ in range(3):
            call(torch.randn(3, 8, device=device))
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert {report["runs"] for report in reports()} == {2}


@torch.no_grad()
def test_what_cannot_be_captured_runs_and_is_said_once(device):
    call = compiled(lambda x, number: x * number + 1, options={"capture": True})
    x = torch.randn(3, 2, device=device)
    with pytest.warns(
        UserWarning,
        match="Option 'capture' has no effect on a graph that cannot be captured: .*CPU",
    ):
        assert_same(call(x, torch.tensor(3.0)), x * 3 + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(4):
            assert_same(call(x, torch.tensor(float(i))), x * i + 1)


# ---- check ----


def test_check_finds_nothing_where_the_compiler_is_right(device):
    options = {"check": True}
    model, x = perceptron().to(device), torch.randn(3, 8, device=device, requires_grad=True)
    same_gradients_as_eager(model, x, options=options)
    with torch.no_grad():
        for dtype in (torch.bfloat16, torch.float64):
            same_as_eager(
                lambda x: (x * 2 + 1).softmax(-1).exp(),
                x.to(dtype),
                options=options,
                tolerance={"rtol": 3e-2, "atol": 3e-2},
            )
        same_as_eager(
            lambda x: (x > 1, x.argmax(-1) + 2, (x * 0).log(), x.sum()), x, options=options
        )


def test_check_takes_what_large_terms_leave_of_each_other_for_rounding(device):
    def deviations(x):
        return (x - x.mean(0)).sum(0)

    def remainders(x):
        return (x * 3).sum(0, dtype=torch.float32) - x.sum(0, dtype=torch.float32) * 3

    x = torch.randn(4096, 8, device=device) + 100
    with torch.no_grad():
        for fn in (deviations, remainders):
            for dtype in (torch.float32, torch.bfloat16):
                compiled(fn, options={"check": True})(x.to(dtype))
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()).to(device)
    loss = compiled(model, options={"check": True})(x).square().mean()
    loss.backward()  # the first bias has no influence


class Wrong:
    """An engine whose results of one operator are off."""

    def __init__(self, engines, graph):
        self.engines = engines
        self.graph = graph

    def run(self, inputs, numbers):
        outputs = self.engines.run(inputs, numbers)
        if "aten::exp(" in self.graph:
            outputs = [x + 0.25 if x.is_floating_point() else x for x in outputs]
        return outputs

    def report(self):
        return self.engines.report()


def test_check_names_the_first_node_that_differs(device, monkeypatch):
    from torchplug import _C

    real = _C.EngineGroup
    monkeypatch.setattr(
        _C,
        "EngineGroup",
        lambda device, graph, *rest: Wrong(real(device, graph, *rest), str(graph)),
    )

    def fn(x):
        y = x * 2
        y = y.sigmoid() + 1
        y = y.exp()
        return (y / 3).tanh()

    line = fn.__code__.co_firstlineno + 3
    with pytest.raises(RuntimeError) as raised:
        compiled(fn, options={"check": True})(torch.zeros(2, 3, device=device))
    text = str(raised.value).splitlines()[0]
    assert text.startswith(
        f"Option 'check': aten::exp (test_compile_options.py:{line}) differs in an engine from the operator by 0.25"
    )
    assert "float32" in text


def test_check_says_that_random_numbers_are_not_compared(device):
    def fn(x):
        return F.dropout(x.exp(), 0.5) + 1, x * 2

    call = compiled(fn, options={"check": True})
    x = torch.ones(64, 8, device=device)
    torch.manual_seed(3)
    with pytest.warns(
        UserWarning, match="draws random numbers, so what depends on it is not compared"
    ):
        first = call(x)
    second = call(x)
    torch.manual_seed(3)
    plain = compiled(fn)
    assert_equal([plain(x), plain(x)], [first, second])


@pytest.mark.parametrize(
    ("actual", "expected", "differs"),
    [
        ([1.0, torch.nan, torch.inf], [1.0, torch.nan, torch.inf], False),
        ([1.0, torch.inf], [1.0, -torch.inf], True),
        ([1.0, 2.0], [1.0, torch.nan], True),
        ([1.0, 2.00001], [1.0, 2.0], False),
        ([1.0, 2.01], [1.0, 2.0], True),
        ([0.0, 2.0], [1e-7, 2.0], False),
        ([1, 2], [1, 3], True),
        ([True, False], [True, False], False),
        ([True, True], [True, False], True),
        ([], [], False),
    ],
    ids=str,
)
def test_what_counts_as_a_difference(actual, expected, differs):
    found = _check.difference(torch.tensor(actual), torch.tensor(expected))
    assert (found is not None) == differs


def test_how_much_differs_is_said(device):
    found = _check.difference(
        torch.tensor([[1.0, 5.0], [2.0, 2.5]]), torch.tensor([[1.0, 2.0], [2.0, 2.0]])
    )
    assert str(found) == (
        "by 3 at [0, 1], 5.0 instead of 2.0; values of torch.float32 may differ by 0.0001 of what they are"
    )
