"""torch.compile(backend="torchplug") where sizes depend on what is computed: nonzero runs by itself, what follows in engines."""

import pytest
import torch
from compiling import compiled, same_as_eager, same_gradients_as_eager, total

import torchplug.compile
from torchplug import _C
from torchplug.compile import _backend, _graph

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")


@pytest.fixture(autouse=True)
def compiling(compiling_afresh):
    with torch._dynamo.config.patch(
        capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True
    ):
        yield


def of_chosen_rows(x):
    """Of as many rows as begin with a positive number."""
    (rows,) = torch.where(x[:, 0] > 0)
    y = torch.softmax(x[rows] * 2.0 + 1.0, -1)
    return torch.zeros_like(x).index_add(0, rows, y), y, y.sum(0), y.t().exp()


def inputs(device, positive, rows=5):
    """So many of the rows are chosen."""
    x = torch.randn(rows, 4)
    x[:, 0] = x[:, 0].abs() * torch.where(torch.arange(rows) < positive, 1.0, -1.0)
    return x.to(device)


def names_outside():
    (program,) = _backend.programs
    return sorted(_graph.name_of(n.target) for n, _ in program.outside if _graph.computes(n))


@pytest.mark.parametrize("dynamic", [False, True])
def test_one_engine_serves_any_number_of_rows(device, dynamic):
    call = compiled(of_chosen_rows, dynamic=dynamic)
    for count in (3, 0, 1, 5, 2):
        x = inputs(device, count)
        torch.testing.assert_close(call(x), of_chosen_rows(x))
    assert names_outside() == ["aten::nonzero"]
    assert total("compiled") + total("loaded") == total("engines") == 2
    assert total("runs") == 10


def test_gradients_are_those_of_eager_for_no_row_too(device):
    for count in (3, 0, 1):
        x = inputs(device, count).requires_grad_()
        same_gradients_as_eager(lambda x: of_chosen_rows(x)[0] * x, x)


def test_node_by_node_they_are_the_same(device):
    call = compiled(of_chosen_rows, options={"check": True})
    for count in (3, 0):
        x = inputs(device, count)
        torch.testing.assert_close(call(x), of_chosen_rows(x))


def two_choices(x, y):
    (a,) = torch.where(x[:, 0] > 0)
    (b,) = torch.where(y[a].sum(-1) > 0)
    return (y[a][b] * 2).exp().sum(0) + x[a].tanh().sum(0)


def test_a_size_may_depend_on_another(device):
    x, y = inputs(device, 3), torch.ones(5, 4, device=device)
    y[1] = -1
    same_as_eager(two_choices, x, y)
    assert names_outside() == ["aten::nonzero"] * 2


def made_for_a_number(x, y):
    count = y.sum().item()
    torch._check(count >= 0)
    torch._check(count <= 100)
    return x.exp() + 1, torch.full((count,), 2.0, device=x.device) * 3


def test_what_waits_for_a_number_runs_after_it(device):
    """No tensor tells its engine when: it would be free to run before the number is there."""
    call = compiled(made_for_a_number)
    for number in (3, 7):
        x, y = torch.randn(4, device=device), torch.full((1,), number, device=device)
        torch.testing.assert_close(call(x, y), made_for_a_number(x, y))
    assert total("runs") > 0


def test_a_compiler_for_fixed_sizes_is_not_asked_for_one_after_the_other(device, monkeypatch):
    facts = _C.describe_compiler(0) | {"symbols": False}
    monkeypatch.setattr(_C, "describe_compiler", lambda index: facts)
    report = torchplug.compile.explain(of_chosen_rows, inputs(device, 3))
    reasons = dict(report.graphs[0].eager)
    assert "is known only when the program runs" in reasons["aten::index.Tensor"]
