"""torchplug.cpu.measure(): what operators on CPU tensors take, beside how fast memory is read."""

from importlib.util import find_spec

import pytest
import torch
from helpers import output_of

import torchplug.cpu
from torchplug.cpu import _machine, _roof

pytestmark = pytest.mark.usefixtures("threads_given_back")
with_xcpu = pytest.mark.skipif(
    find_spec("torchplug_xcpu") is None, reason="the package torchplug-xcpu is not installed"
)


def measured(fn):
    """By operator: calls and bytes."""
    with torchplug.cpu.measure(roof=False) as found:
        fn()
    return {op.op.removeprefix("aten::"): (op.calls, op.bytes) for op in found.operators}


def test_bytes_are_what_a_call_has_to_move():
    x, y = torch.randn(100, 10), torch.randn(100, 10)
    of_x = 4000
    assert measured(lambda: x + y) == {"add": (1, 3 * of_x)}
    assert measured(lambda: x * x) == {"mul": (1, 2 * of_x)}
    assert measured(lambda: x.add_(y)) == {"add_": (1, 3 * of_x)}
    assert measured(lambda: x + y[:1].expand(100, 10))["add"] == (1, 2 * of_x + 40)
    assert measured(lambda: x.t()[2:]) == {"t": (1, 0), "slice": (1, 0)}
    assert measured(lambda: torch.add(x, y, out=y)) == {"add": (1, 3 * of_x)}
    z = torch.empty(100, 10)
    assert measured(lambda: torch.add(x, y, out=z)) == {"add": (1, 3 * of_x)}
    assert measured(lambda: z.copy_(x)) == {"copy_": (1, 2 * of_x)}
    assert measured(z.zero_) == {"zero_": (1, of_x)}
    assert measured(lambda: x.double()) == {"_to_copy": (1, 3 * of_x)}
    assert measured(lambda: torch.cat([x, y])) == {"cat": (1, 4 * of_x)}
    assert measured(lambda: x.sum().item())["sum"] == (1, of_x + 4)
    table, rows = torch.randn(1000, 16), torch.tensor([1, 2, 1])
    lookup = measured(lambda: torch.nn.functional.embedding(rows, table))
    assert lookup == {"embedding": (1, 2 * 3 * 16 * 4 + 24)}


def test_calls_are_counted_also_in_backward_and_in_scripted_modules():
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    found = measured(lambda: [layer(x).sum().backward() for _ in range(3)])
    assert found["addmm"][0] == 3 and found["mm"][0] == 3
    scripted = torch.jit.script(layer)
    assert measured(lambda: [scripted(x) for _ in range(3)])["addmm"][0] == 3


def test_a_failing_call_is_the_callers_and_ends_the_measurement():
    x = torch.randn(2, 3)
    with pytest.raises(RuntimeError), torchplug.cpu.measure(roof=False) as found:
        (x + 1) @ x
    assert found.by_operator["aten::add"].calls == 1 and found.seconds > 0
    x + 1
    assert found.by_operator["aten::add"].calls == 1


def test_what_is_compiled_stays_compiled_while_it_is_measured():
    runs = []

    def backend(graph, inputs):
        return lambda *args: runs.append(1) or graph(*args)

    x = torch.randn(4)
    before, within = (torch.compile(lambda x, n=n: (x + n).relu(), backend=backend) for n in (1, 2))
    before(x)
    found = measured(lambda: (before(x), within(x)))
    before(x), within(x)
    assert len(runs) == 5
    assert found["add"][0] == found["relu"][0] == 2


@pytest.mark.accelerator("there is no other device")
def test_operators_of_a_device_are_not_the_cpus(device):
    x = torch.ones(4, device=device)
    assert measured(lambda: x + x) == {}


def test_the_table_has_the_share_of_the_roof(monkeypatch):
    monkeypatch.setattr(_roof, "_known", {})
    monkeypatch.setattr(_roof, "_measure", lambda size: 10e9)
    with torchplug.cpu.measure() as found:
        torch.ones(10)
    operator = found.by_operator["aten::ones"]
    operator.calls, operator.seconds, operator.bytes, found.seconds = 4, 0.5, 4 * 10**9, 2.0
    assert operator.bytes_per_second == 8e9 and found.share_of_roof("aten::ones") == 0.8
    head, row, roof = str(found).splitlines()
    assert head.split() == ["operator", "calls", "time", "GB/s", "of", "the", "roof"]
    assert row.split() == ["aten::ones", "4", "500", "ms", "25.0%", "8.0", "80%"]
    assert roof == "The roof: memory is read at 10.0 GB/s."


def test_the_roof_is_measured_once_for_each_number_of_threads_and_anew_on_request(monkeypatch):
    speeds = iter([1e9, 2e9, 3e9, 1e9])
    monkeypatch.setattr(_roof, "_known", {})
    monkeypatch.setattr(_roof, "_measure", lambda size: next(speeds))
    torch.set_num_threads(1)
    assert [torchplug.cpu.read_roof() for _ in range(2)] == [1e9, 1e9]
    torch.set_num_threads(2)
    assert torchplug.cpu.read_roof() == 2e9
    torch.set_num_threads(1)
    assert torchplug.cpu.read_roof() == 1e9
    assert torchplug.cpu.read_roof(again=True) == 3e9
    assert torchplug.cpu.read_roof(again=True) == 3e9  # what is slower was disturbed
    with torchplug.cpu.measure(roof=False) as found:
        torch.ones(10)
    assert found.roof is None and "roof" not in str(found)


def test_the_probe_reads_more_than_the_caches_hold():
    cached = sum(cache.bytes for cache in _machine.caches() if cache.level >= 3)
    assert _roof._size() >= min(4 * cached, _machine.available_memory() // 5)
    assert _roof._measure(4 << 20) > 0


def test_nothing_is_measured_at_import(device):
    code = """
    import sys, torchplug.cpu
    from torchplug.cpu import _roof
    print(_roof._known, "torch._dynamo" in sys.modules)
    """
    assert output_of(code, device).startswith("{} ")


# ---- operators of xcpu ----


@with_xcpu
def test_bytes_of_a_packed_weight_are_those_that_it_is_read_in():
    weight, x = torch.ops.xcpu.pack(torch.randn(64, 128), "int8"), torch.randn(3, 128)
    found = measured(lambda: torch.ops.xcpu.linear(x, weight))
    assert found == {"xcpu::linear": (1, 3 * 128 * 4 + weight.nbytes + 3 * 64 * 4)}


@with_xcpu
def test_bytes_of_a_cache_are_those_of_the_tokens_in_question():
    xcpu = torch.ops.xcpu
    cache = xcpu.make_cache("fp32", 32, 2, 16)
    of_token = 2 * 2 * 16 * 4  # keys and values
    k, slots = torch.randn(3, 2, 16), torch.tensor([5, -1, 17])
    found = measured(lambda: xcpu.cache_write(cache, slots, k, k.clone()))
    assert found["xcpu::cache_write"] == (1, 2 * of_token + 3 * 8 + 2 * k.nbytes)
    q, lengths, pages = torch.randn(2, 4, 16), torch.tensor([7, 3]), torch.tensor([[0], [1]])
    rest = 2 * q.nbytes + lengths.nbytes + pages.nbytes
    found = measured(lambda: xcpu.paged_attention(q, cache, lengths, pages))
    assert found["xcpu::paged_attention"] == (1, 10 * of_token + rest)
    found = measured(lambda: xcpu.paged_attention(q, cache, lengths, pages, window=4))
    assert found["xcpu::paged_attention"] == (1, 7 * of_token + rest)


@with_xcpu
def test_the_profiler_shows_each_operator_by_its_name():
    from torch.profiler import ProfilerActivity, profile

    weight, x = torch.ops.xcpu.pack(torch.randn(64, 128), "int8"), torch.randn(3, 128)
    scripted = torch.jit.trace(lambda x: torch.ops.xcpu.rms_norm(x), x)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        torch.ops.xcpu.linear(x, weight)
        scripted(x)
    found = {event.key: event for event in profiler.key_averages(group_by_input_shape=True)}
    assert found["xcpu::linear"].count == 1 and found["xcpu::rms_norm"].count == 1
    assert found["xcpu::linear"].cpu_time_total > 0
    assert found["xcpu::linear"].input_shapes[:2] == [[3, 128], list(weight.shape)]
