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


@pytest.mark.accelerator("its kernels know what the CPU does faster", only="sim")
def test_what_the_cpu_does_faster_is_borrowed(device, ledger):
    x = torch.randn(100, 100)
    small, large = x[:8, :8].to(device), x.to(device)
    assert_same(small @ small, x[:8, :8] @ x[:8, :8])
    assert_same(large @ large, x @ x)
    found = {entry.way: entry for entry in entries_of(ledger(), "mm")}
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


OVERWRITES = {
    "uniform": lambda x: x.uniform_(),
    "normal": lambda x: x.normal_(),
    "random": lambda x: x.random_(),
    "exponential": lambda x: x.exponential_(),
    "bernoulli": lambda x: x.bernoulli_(0.5),
    "cauchy": lambda x: x.cauchy_(),
    "geometric": lambda x: x.geometric_(0.5),
    "log_normal": lambda x: x.log_normal_(),
    "fill": lambda x: x.fill_(2.5),
    "zero": lambda x: x.zero_(),
}


@pytest.mark.accelerator("only opaque memory is staged", only="hello")
class TestStagedBytes:
    def bytes_of(self, entries, name):
        return sum(entry.bytes for entry in entries_of(entries, name))

    def test_only_what_the_tensors_span_is_moved(self, device, ledger):
        big = torch.rand(1000, 1000, device=device)
        rows = big[5:7]
        torch.erfinv(rows)
        spanned = 2 * 1000 * ELEMENT
        assert self.bytes_of(ledger(), "erfinv") == 2 * spanned  # the rows, and the result

    def test_an_input_that_is_not_written_does_not_come_back(self, device, ledger):
        x = torch.rand(1000, 100, device=device)
        torch.amax(x, (0, 1))
        assert self.bytes_of(ledger(), "amax") == 1000 * 100 * ELEMENT + ELEMENT

    def test_a_view_written_in_place_leaves_its_neighbours_alone(self, device, ledger):
        big = torch.full((100, 10), 0.5)
        there = big.to(device)
        there[5:7].erfinv_()
        moved = self.bytes_of(ledger(), "erfinv")
        big[5:7].erfinv_()
        assert_same(there, big)
        span = 2 * 10 * ELEMENT
        assert moved == (8 + span) + span  # there from the multiple of 16 before it, and back

    def test_a_strided_view_written_in_place_leaves_the_gaps_alone(self, device, ledger):
        big = torch.full((100, 10), 0.5)
        there = big.to(device)
        there[:, 3].erfinv_()
        big[:, 3].erfinv_()
        assert_same(there, big)

    def test_an_output_is_not_read(self, device, ledger):
        x = torch.full((100,), 0.5, device=device)
        for _ in range(2):
            out = torch.zeros(100, device=device)
            torch.erfinv(x, out=out)
            assert_same(out, x.cpu().erfinv())
        assert self.bytes_of(ledger(), "erfinv") == 2 * (x.nbytes + out.nbytes)

    def test_two_outputs_are_not_read(self, device, ledger):
        x = torch.rand(8, 8)
        out = torch.zeros(8, device=device), torch.zeros(8, dtype=torch.int64, device=device)
        torch.max(x.to(device), 0, out=out)
        assert_same(out, tuple(torch.max(x, 0)))
        assert self.bytes_of(ledger(), "max") == x.nbytes + 8 * ELEMENT + 8 * 8

    def test_two_outputs_in_one_storage_are_both_written_and_what_lies_between_is_left_alone(
        self, device
    ):
        x = torch.rand(8, 8)
        for where in (x.to(device), x.to(device).t().contiguous().t()):
            room = torch.full((40,), 7.0, device=device)
            values, indices = room[3:11], room[16:32].view(torch.int64)
            torch.max(where, 0, out=(values, indices))
            assert_same((values, indices), tuple(torch.max(x, 0)))
            assert room[:3].tolist() == [7.0] * 3 and room[11:16].tolist() == [7.0] * 5
            assert room[32:].tolist() == [7.0] * 8

    def test_an_output_with_gaps_keeps_what_lies_between(self, device, ledger):
        x = torch.full((100,), 0.5, device=device)
        room = torch.ones(100, 3, device=device)
        torch.erfinv(x, out=room[:, 1])
        expected = torch.ones(100, 3)
        torch.erfinv(x.cpu(), out=expected[:, 1])
        assert_same(room, expected)
        span = (99 * 3 + 1) * ELEMENT
        assert self.bytes_of(ledger(), "erfinv") == x.nbytes + (4 + span) + span

    def test_an_output_that_is_an_input_is_read(self, device):
        x = torch.full((100,), 0.5)
        there = x.to(device)
        torch.add(there, there.erfinv(), out=there)
        torch.add(there[:50], there[50:], out=there[50:])
        torch.add(x, x.erfinv(), out=x)
        torch.add(x[:50], x[50:], out=x[50:])
        assert_same(there, x)

    def test_an_output_of_another_size_is_not_read_and_gets_the_right_one(self, device, ledger):
        x = torch.full((100,), 0.5, device=device)
        out = torch.zeros(0, device=device)
        torch.erfinv(x, out=out)
        assert_same(out, x.cpu().erfinv())
        assert self.bytes_of(ledger(), "erfinv") == x.nbytes + out.nbytes

    @pytest.mark.parametrize("name", OVERWRITES)
    def test_what_an_operator_overwrites_is_not_read(self, device, ledger, name):
        x = torch.zeros(100, device=device)
        ledger()
        import torchplug

        torchplug.reset_ledger()
        for _ in range(2):
            OVERWRITES[name](x)
        assert self.bytes_of(ledger(), name) == 2 * x.nbytes
        assert x.isfinite().all()

    @pytest.mark.parametrize("name", OVERWRITES)
    def test_what_lies_beside_what_is_overwritten_is_left_alone(self, device, name):
        for part in (lambda x: x[1::2], lambda x: x[3:9], lambda x: x.view(4, 5)[:, 1:3]):
            x = torch.full((20,), -7.5, device=device)
            OVERWRITES[name](part(x))
            mask = torch.zeros(20)
            part(mask).fill_(1)
            assert (x.cpu()[mask == 0] == -7.5).all()
            assert (x.cpu()[mask == 1] != -7.5).all()

    def test_a_conversion_does_not_read_what_it_writes(self, device, ledger):
        x = torch.zeros(100, device=device)
        y = torch.rand(100, dtype=torch.float64).to(device)
        x.copy_(y)
        assert_same(x, y.cpu().float())
        assert self.bytes_of(ledger(), "copy") == x.nbytes + y.nbytes

    def test_a_conversion_of_what_it_writes_reads_it(self, device):
        x = torch.arange(1.0, 101.0)
        there = x.to(device)
        there.copy_(there.view(torch.int32))
        assert_same(there, x.view(torch.int32).float())


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


@pytest.mark.parametrize("key", ["CPU", "SparseCPU"])
def test_an_operator_of_another_library_that_is_defined_anew_is_the_new_one(device, key):
    x = torch.tensor([1.0, -2.0])
    if key == "SparseCPU":
        x = x.to_sparse()
    for use, parameters in ((torch.neg, "Tensor x"), (torch.add, "Tensor x, Tensor y")):
        library = torch.library.Library("torchplug_test", "DEF")
        library.define(f"changing({parameters}) -> Tensor")
        library.impl("changing", use, key)
        arguments = [x] * parameters.count("Tensor")
        try:
            result = torch.ops.torchplug_test.changing(*[one.to(device) for one in arguments])
            assert_equal(result.to_dense(), use(*arguments).to_dense())
        finally:
            library._destroy()
