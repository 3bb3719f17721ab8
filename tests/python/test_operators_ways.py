"""The ledger says which way each operator went; strict mode says which would not be a kernel."""

import pytest
import torch
from helpers import assert_equal, assert_same, run_python

pytestmark = pytest.mark.accelerator("the CPU keeps no ledger")

ELEMENT = 4  # bytes of a float32


@pytest.fixture
def ledger():
    """The entries since the test began, once the device has done its work."""
    import torchplug

    torch.accelerator.synchronize()
    torchplug.reset_ledger()

    def read():
        torch.accelerator.synchronize()
        return torchplug.ledger()

    return read


def base_name(op):
    """relu of aten::relu, aten::relu_ and aten::relu.out"""
    return op.removeprefix("aten::").split(".")[0].rstrip("_")


def entries_of(entries, name):
    return [entry for entry in entries if base_name(entry.op) == name]


def ways(entries, name):
    return {entry.way for entry in entries_of(entries, name)}


def fallback_way(device):
    return {"sim": "borrow", "hello": "stage"}[device.type]


def allocations(device):
    """How many times memory of the device was asked for."""
    torch.accelerator.synchronize()
    return torch.get_device_module(device).memory_stats(device)["allocation.all.allocated"]


RELU = {
    "function": lambda x: torch.relu(x),
    "in_place": lambda x: x.relu_(),
    "out": lambda x: torch.ops.aten.relu.out(x, out=torch.empty_like(x)),
    "module": lambda x: torch.nn.ReLU()(x),
    "strided": lambda x: x.t().relu(),
    "in_place_strided": lambda x: x.t().relu_(),
    "0_dim": lambda x: x[0, 0].relu(),
}


@pytest.mark.parametrize("form", RELU)
def test_relu_runs_as_a_kernel_in_every_form(device, ledger, form):
    x = torch.randn(5, 7)
    result = RELU[form](x.to(device))
    entries = ledger()
    assert_equal(result, RELU[form](x.clone()))
    assert ways(entries, "relu") == {"kernel"}


def test_relu_of_another_dtype_falls_back_and_says_why(device, ledger):
    x = torch.randint(-5, 5, (6,))
    result = x.to(device).relu()
    entries = entries_of(ledger(), "relu")
    assert_equal(result, x.relu())
    assert {entry.way for entry in entries} <= {"kernel", fallback_way(device)}
    assert all(entry.reason for entry in entries if entry.way != "kernel")


AS_THEY_ARE = {
    "broadcast": lambda x, y: x + y[0],
    "column": lambda x, y: x * y[:, :1],
    "transposed": lambda x, y: x.t() + y.t(),
    "one transposed": lambda x, y: x + y.view(8, 6).t(),
    "slices": lambda x, y: x[:, ::2] * y[:, ::2],
    "a number": lambda x, y: x * 2.5,
    "a whole number": lambda x, y: x + 3,
    "an element": lambda x, y: x * y[0, 0],
    "out": lambda x, y: torch.mul(x, y[0], out=torch.empty(8, 6).to(x.device).t()),
}


@pytest.mark.accelerator("its kernels take them", only="sim")
@pytest.mark.parametrize("form", AS_THEY_ARE)
def test_operands_of_any_strides_reach_the_kernel_without_a_copy(device, ledger, form):
    use = AS_THEY_ARE[form]
    x, y = torch.randn(6, 8), torch.randn(6, 8)
    given = x.to(device), y.to(device)
    use(*given)  # plans are made
    before = allocations(device)
    result = use(*given)
    assert allocations(device) == before + 1, "the result's alone"
    assert {entry.way for entry in ledger()} == {"kernel"}
    assert_equal(result, use(x, y))


@pytest.mark.accelerator("its kernels have one thread", only="sim")
def test_what_the_cpu_divides_among_threads_is_borrowed(device, ledger):
    x = torch.randn(32769)
    small, large = x[:-1].to(device), x.to(device)
    assert_equal(small + small, x[:-1] + x[:-1])
    assert_equal(large + large, x + x)
    found = {entry.way: entry for entry in entries_of(ledger(), "add")}
    assert {way: entry.count for way, entry in found.items()} == {"kernel": 1, "borrow": 1}
    assert found["borrow"].reason


@pytest.mark.parametrize("use", [torch.erfinv, torch.lgamma, lambda x: torch.linalg.inv(x)])
def test_an_operator_without_a_kernel_goes_the_way_of_the_device(device, ledger, use):
    x = torch.rand(4, 4, dtype=torch.float64) * 0.5 + torch.eye(4) * 0.3
    result = use(x.to(device))
    entries = [entry for entry in ledger() if entry.way != "kernel"]
    assert_same(result, use(x))
    assert {entry.way for entry in entries} == {fallback_way(device)}
    assert all(entry.reason for entry in entries)


def test_an_entry_counts_its_calls(device, ledger):
    x = torch.rand(8, device=device)
    for _ in range(3):
        torch.erfinv(x)
    assert sum(entry.count for entry in entries_of(ledger(), "erfinv")) == 3


def test_reset_forgets(device, ledger):
    import torchplug

    torch.erfinv(torch.rand(8, device=device))
    assert entries_of(ledger(), "erfinv")
    torchplug.reset_ledger()
    assert entries_of(ledger(), "erfinv") == []


def test_seconds_are_kept_when_asked_for(device, ledger):
    import torchplug

    x = torch.rand(200, 200, dtype=torch.float64, device=device)
    torchplug.time_ledger(True)
    try:
        for _ in range(5):
            torch.erfinv(x)
        entries = entries_of(ledger(), "erfinv")
    finally:
        torchplug.time_ledger(False)
    assert sum(entry.seconds for entry in entries) > 0


@pytest.mark.accelerator("only opaque memory is staged", only="hello")
class TestStagedBytes:
    def bytes_of(self, entries, name):
        return sum(entry.bytes for entry in entries_of(entries, name))

    def test_only_what_the_tensors_span_is_moved(self, device, ledger):
        big = torch.rand(1000, 1000, device=device)
        rows = big[5:7]
        torch.erfinv(rows)
        moved = self.bytes_of(ledger(), "erfinv")
        spanned = 2 * 1000 * ELEMENT
        assert spanned <= moved <= 3 * spanned

    def test_an_input_that_is_not_written_does_not_come_back(self, device, ledger):
        x = torch.rand(1000, 100, device=device)
        torch.amax(x, (0, 1))
        moved = self.bytes_of(ledger(), "amax")
        size = 1000 * 100 * ELEMENT
        assert size <= moved <= size + 1000

    def test_a_view_written_in_place_leaves_its_neighbours_alone(self, device, ledger):
        big = torch.full((100, 10), 0.5)
        there = big.to(device)
        there[5:7].erfinv_()
        moved = self.bytes_of(ledger(), "erfinv")
        big[5:7].erfinv_()
        assert_same(there, big)
        assert moved <= 3 * 2 * 10 * ELEMENT

    def test_a_strided_view_written_in_place_leaves_the_gaps_alone(self, device, ledger):
        big = torch.full((100, 10), 0.5)
        there = big.to(device)
        there[:, 3].erfinv_()
        big[:, 3].erfinv_()
        assert_same(there, big)


@pytest.mark.accelerator("host views make copies needless", only="sim")
def test_a_borrowed_operator_is_never_staged(device, ledger):
    x = torch.rand(100, 100, device=device, requires_grad=True)
    torch.nn.functional.layer_norm(x, (100,)).erf().sum().backward()
    assert "stage" not in {entry.way for entry in ledger()}


# ---- the environment ----


def test_strict_mode_refuses_a_fallback_by_name_and_leaves_the_arguments_alone(device):
    code = """
        x = torch.full((3,), 0.5).to(device)
        print(x.relu().cpu().tolist())
        try:
            x.erfinv_()
            torch.accelerator.synchronize()
        except RuntimeError as error:
            print("refused", str(error).splitlines()[0])
        print(x.cpu().tolist())
        print((x[1:].relu_().cpu() + 1).tolist())
    """
    done = run_python(code, device, TORCHPLUG_FALLBACK="error")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert lines[0] == "[0.5, 0.5, 0.5]"
    assert lines[1].startswith("refused") and "erfinv" in lines[1]
    assert "kernel" in lines[1], "the reason is missing"
    assert lines[2:] == ["[0.5, 0.5, 0.5]", "[1.5, 1.5]"]


def test_warn_mode_warns_once_per_operator(device):
    code = """
        import warnings
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: print("warning:", message, file=sys.stderr)
        x = torch.full((3,), 0.5).to(device)
        for _ in range(3):
            y = torch.erfinv(x)
            z = torch.lgamma(x)
            x.relu()
        torch.accelerator.synchronize()
        print(y.cpu().numel(), z.cpu().numel())
    """
    done = run_python(code, device, TORCHPLUG_FALLBACK="warn")
    assert done.returncode == 0 and done.stdout.strip() == "3 3", done.stderr
    lines = done.stderr.splitlines()
    for name, times in (("erfinv", 1), ("lgamma", 1), ("relu", 0)):
        assert sum(name in line for line in lines) == times, done.stderr


def test_allow_mode_says_nothing(device):
    code = """
        import warnings
        warnings.simplefilter("error")
        print(torch.erfinv(torch.full((3,), 0.0).to(device)).tolist())
    """
    done = run_python(code, device, TORCHPLUG_FALLBACK="allow")
    assert done.stdout.strip() == "[0.0, 0.0, 0.0]", done.stderr
    assert "erfinv" not in done.stderr


def test_what_lies_beside_a_written_view_is_left_alone(device):
    base = torch.arange(10.0, device=device) + 50
    ones = torch.ones(3, device=device)
    torch.add(ones, ones, out=base[1:1])
    base[5:6].sub_(1)
    assert base[0].item() == 50 and base[4].item() == 54 and base[5].item() == 54
    assert base[6:].tolist() == [56, 57, 58, 59]


def test_an_operator_of_another_library_may_shape_its_result_by_data(device):
    library = torch.library.Library("torchplug_test", "DEF")
    library.define("positive(Tensor x) -> Tensor")
    library.impl("positive", lambda x: x[x > 0], "CPU")
    try:
        for values in ([1.0, -1.0, 2.0], [1.0, 1.0, 2.0], [-1.0, -1.0, 2.0]):
            x = torch.tensor(values)
            result = torch.ops.torchplug_test.positive(x.to(device))
            assert result.device == device
            assert result.tolist() == x[x > 0].tolist()
    finally:
        library._destroy()
