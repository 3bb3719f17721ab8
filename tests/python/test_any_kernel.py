"""One kernel for every operator that has none of its own: asked in the form the operator was called, and before all
other ways."""

import pytest
from session import Sessions
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PRELUDE = """
import ctypes
import os
import torchplug

plugin = ctypes.CDLL(os.environ["TORCHPLUG_DEVICE"])
plugin.any_asked.restype = ctypes.c_int64
plugin.any_last_schema.restype = ctypes.c_char_p
plugin.any_reset()
torchplug.reset_ledger()


def asked(op=None):
    return plugin.any_asked(op and op.encode())


def ways(op):
    return {entry.way: entry.count for entry in torchplug.ledger() if entry.op == op}


def there(tensor):
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device).copy_(tensor)


def same(op, fn, *args, times=3):
    "fn gives what it gives on the CPU, by the kernel each time."
    for n in range(times):
        here, given = [arg.clone() for arg in args], [there(arg) for arg in args]
        before = asked(op)
        result = fn(*given)
        assert asked(op) == before + 1, (op, asked(op), before)
        expected = fn(*here)
        assert result.dtype == expected.dtype and result.shape == expected.shape
        assert result.stride() == expected.stride()
        torch.testing.assert_close(result.cpu(), expected)
        for a, b in zip(given, here):
            torch.testing.assert_close(a.cpu(), b)
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "anything")


@pytest.fixture(scope="module")
def run(plugin):
    sessions = Sessions("anything", plugin, PRELUDE)
    yield sessions
    sessions.close()


@pytest.mark.parametrize("shapes", [{}, {"TORCHPLUG_ANYTHING_SHAPES": "1"}])
def test_every_form_comes_as_it_was_called(run, shapes):
    run(
        """
x, y = torch.randn(3, 4), torch.randn(3, 4)
same("aten::neg", torch.neg, x)
same("aten::neg", torch.neg, x.t())
same("aten::neg_", lambda t: t.neg_(), x)
same("aten::neg_", lambda t: t[:, 1:3].neg_(), x)
same("aten::relu", torch.relu, x)
same("aten::relu_", torch.relu_, x)
same("aten::mul.Tensor", torch.mul, x, y)
same("aten::mul.Tensor", torch.mul, x, torch.randn(4))
same("aten::mul.Tensor", lambda a: a * 2.5, x)
same("aten::mul.Tensor", lambda a: a * 2, x)
same("aten::mul.Tensor", lambda a: a * torch.tensor(3.0), x)
same("aten::mul_.Tensor", lambda a, b: a.mul_(b), x, y)
same("aten::mul.out", lambda a, b, o: torch.mul(a, b, out=o), x, y, torch.zeros(3, 4))
same("aten::mul.out", lambda a, b, o: torch.mul(a, b, out=o.t()), x, y, torch.zeros(4, 3))
assert plugin.any_last_schema() == (
    b"aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"
)
assert ways("aten::neg") == {"any": 6}
""",
        **shapes,
    )


def test_an_output_of_another_size_is_resized_first(run):
    run("""
x, y = torch.randn(3, 4), torch.randn(3, 4)
for size in ((0,), (3, 4), (0,)):
    out = torch.empty(size, device=device)
    assert torch.mul(there(x), there(y), out=out) is out
    torch.testing.assert_close(out.cpu(), x * y)
before = plugin.any_as_expected()
for _ in range(2):
    assert torch.arange(2, 12, 3, device=device).tolist() == [2, 5, 8, 11]
assert asked("aten::arange.start_out") == 2 and plugin.any_as_expected() == before + 2
""")


def test_what_pytorch_refuses_is_refused(run):
    run("""
for fn in (
    lambda x: x.mul_(torch.ones(2, 3, 4, device=x.device)),
    lambda x: torch.mul(x, x, out=torch.empty(3, 4, dtype=torch.int64, device=x.device)),
    lambda x: x * torch.ones(5, device=x.device),
):
    for place in ("cpu", device, device):
        try:
            fn(torch.ones(3, 4, device=place))
        except RuntimeError:
            continue
        raise AssertionError("it is taken")
""")


def test_it_is_asked_before_torchplugs_own_ways(run):
    run("""
x = torch.randn(4, 6)
same("aten::copy_", lambda a, b: b.copy_(a.t()), x, torch.zeros(6, 4))
before = asked("aten::copy_")
assert there(x).double().cpu().equal(x.double()) and asked("aten::copy_") == before + 1
n = plugin.any_as_expected()
assert there(torch.tensor([2.5])).item() == 2.5 and there(torch.tensor(7)).item() == 7
assert asked("aten::_local_scalar_dense") == 2 and plugin.any_as_expected() == n + 2
assert there(torch.tensor(1 + 2j)).item() == 1 + 2j
same("aten::convolution", torch.nn.functional.conv1d, torch.randn(2, 1, 9), torch.randn(1, 1, 3))
torch.testing.assert_close(
    torch.nn.functional.conv1d(there(torch.ones(2, 1, 9)), there(torch.ones(1, 1, 3)), padding=1).cpu(),
    torch.nn.functional.conv1d(torch.ones(2, 1, 9), torch.ones(1, 1, 3), padding=1),
)
(entry,) = [e for e in torchplug.ledger() if e.op == "aten::convolution" and e.way != "any"]
assert entry.reason.endswith("declined the call: only plain convolutions of one channel"), entry
assert torch.nn.functional.dropout(there(x), 0.5).cpu().equal(x)
assert asked("aten::native_dropout") == 1
cells = torch.nn.LSTM(3, 4)
there_cells = torch.nn.LSTM(3, 4)
there_cells.load_state_dict(cells.state_dict())
there_cells.to(device)
steps = torch.randn(5, 2, 3)
torch.testing.assert_close(there_cells(there(steps))[0].cpu(), cells(steps)[0])
""")


def test_lists_of_tensors_come_whole(run):
    run("""
a, b = [torch.randn(3), torch.randn(2, 2)], [torch.randn(3), torch.randn(2, 2)]
for _ in range(2):
    mine = [there(t) for t in a]
    torch._foreach_add_(mine, [there(t) for t in b], alpha=2)
    for result, x, y in zip(mine, a, b):
        torch.testing.assert_close(result.cpu(), x + 2 * y)
assert asked("aten::_foreach_add_.List") == 2 and plugin.any_as_expected() == 4
torch._foreach_mul_(mine, 3.0)
torch.testing.assert_close(mine[0].cpu(), (a[0] + 2 * b[0]) * 3)
""")


def test_operators_of_other_libraries_come_too(run):
    run("""
library = torch.library.Library("other", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: torch.empty_like(x), "Meta")
x = torch.randn(3)
for n in range(1, 3):
    torch.testing.assert_close(torch.ops.other.twice(there(x)).cpu(), x * 2)
    assert asked("other::twice") == n
library.define("thrice(Tensor x) -> Tensor")
library.impl("thrice", lambda x: torch.empty_like(x), "Meta")
for _ in range(2):
    try:
        torch.ops.other.thrice(there(x))
    except NotImplementedError as error:
        assert "other::thrice" in str(error) and "has a kernel" in str(error), error
    else:
        raise AssertionError("nobody has a kernel")
""")


def test_what_it_declines_goes_the_next_way_and_the_ledger_says_why(run):
    run("""
x = torch.randn(5)
for _ in range(2):
    torch.testing.assert_close(torch.exp(there(x)).cpu(), x.exp())
(entry,) = [e for e in torchplug.ledger() if e.op == "aten::exp"]
assert entry.way == "stage" and entry.count == 2, entry
assert entry.reason.endswith("declined the call: no entry for aten::exp"), entry
sparse = there(torch.eye(3)).to_sparse()
assert sparse.to_dense().cpu().equal(torch.eye(3))
q = torch.quantize_per_tensor(there(x), 0.1, 0, torch.qint8)
assert q.dequantize().shape == x.shape
assert there(x).view(5, 1).shape == (5, 1)
""")


def test_data_decide_a_shape_only_where_the_kernel_shapes_its_results(run):
    code = """
x = torch.tensor([0.0, 1.0, 0.0, 2.0])
assert there(x).nonzero().tolist() == [[1], [3]]
print(asked("aten::nonzero"))
"""
    assert run(code).strip() == "0"
    assert run(code, TORCHPLUG_ANYTHING_SHAPES="1").strip() == "1"


def test_a_kernel_of_the_list_is_asked_first_and_any_for_what_it_declines(run):
    run(
        """
x = torch.randn(5)
torch.relu(there(x))
assert ways("aten::relu") == {"kernel": 1} and asked("aten::relu") == 0
torch.testing.assert_close(torch.relu(there(x.double())).cpu(), x.double().relu())
assert ways("aten::relu") == {"kernel": 1, "any": 1}
""",
        TORCHPLUG_ANYTHING_LISTED="1",
    )


def test_it_counts_as_a_kernel_where_falling_back_is_an_error(run):
    run(
        """
x = torch.randn(5).to(device)
torch.neg(x)
try:
    torch.exp(x)
except NotImplementedError as error:
    assert "aten::exp" in str(error)
else:
    raise AssertionError("it ran on the CPU")
""",
        TORCHPLUG_FALLBACK="error",
    )


@pytest.mark.parametrize("layers", ["validate", "fault"])
def test_layers_stand_around_it(run, layers):
    run("same('aten::neg', torch.neg, torch.randn(3))", TORCHPLUG_LAYERS=layers)


def test_it_is_captured(run):
    run("""
module = torch.get_device_module(device)
x = there(torch.randn(4))
torch.neg(x)
graph = module.Graph()
with module.graph(graph):
    y = torch.neg(x)
x.fill_(3.0)
graph.replay()
assert y.tolist() == [-3.0] * 4
""")


def test_tables_of_a_plugins_own_interfaces_are_found_by_name(run):
    run("""
address = torchplug.extension("anything.table.1")
assert ctypes.cast(ctypes.cast(address, ctypes.POINTER(ctypes.c_char_p))[0], ctypes.c_char_p).value == b"aten::neg"
assert torchplug.extension("anything.table.2") is None
""")
