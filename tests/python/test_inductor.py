"""torch.compile(model), by PyTorch's own compiler: what its kernels do on the device is what eager does, in stream order."""

import inspect
import os
import threading

import pytest
import torch
from compiled_models import MODELS, SIZES, TRACED
from compiling import perceptron, train
from helpers import assert_same, output_of
from test_compile_models import generate
from torch.profiler import ProfilerActivity
from vendors import compile_test_plugin

import torchplug
from torchplug.testing import hold

pytestmark = pytest.mark.accelerator("it has a view of its memory", only="sim")

SWEEP = pytest.mark.skipif(
    os.environ.get("TORCHPLUG_TEST_SWEEP") != "all", reason="a case for TORCHPLUG_TEST_SWEEP=all"
)
MANY = 4000
"""Rows of what several threads share."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("inductor")


@pytest.fixture(autouse=True)
def compiling_afresh(monkeypatch, directory):
    """Nothing compiled before is known, but for kernels on disk."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(directory))
    torch._dynamo.reset()
    torchplug.reset_ledger()


def wave(x):
    return (x * 3).sin() + 1


def rows(table, index):
    return table[index] * 2


def kernels():
    """The calls of kernels that Inductor has generated, by name and way."""
    found = [entry for entry in torchplug.ledger() if entry.op.startswith("inductor::")]
    return {(entry.op, entry.way): entry.count for entry in found}


# ---- right numbers ----


def trains_as_on_the_cpu(device, make, inputs, steps=5, **options):
    torch.manual_seed(5)
    there, here = make().to(device), make()
    here.load_state_dict(there.state_dict())
    compiled = torch.compile(there, **options)
    ours = train(compiled, [x.to(device) for x in inputs], steps)
    assert_same(ours, train(here, inputs, steps), rtol=1e-3, atol=1e-4)
    assert_same(there.state_dict(), here.state_dict(), rtol=1e-3, atol=1e-4)


def test_training_is_as_on_the_cpu_and_the_ledger_has_the_kernels(device):
    trains_as_on_the_cpu(device, perceptron, [torch.randn(6, 8)])
    assert kernels()
    assert {way for _, way in kernels()} == {"borrow"}
    assert set(kernels().values()) == {5}
    entries = [entry for entry in torchplug.ledger() if entry.op.startswith("inductor::")]
    assert {entry.reason for entry in entries} == {"Inductor has generated it for the CPU"}


@SWEEP
@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_trains_as_on_the_cpu(device, name):
    make, inputs, _ = MODELS[name]
    with torch._dynamo.config.patch(TRACED):
        trains_as_on_the_cpu(device, make, inputs())
    assert kernels()


@SWEEP
def test_a_decoder_with_a_cache_generates_the_tokens_of_eager(device):
    model = MODELS["llama"].make().to(device)
    with torch.no_grad():
        expected = generate(model, model, device)
        assert_same(generate(model, torch.compile(model), device), expected, rtol=1e-4, atol=1e-5)
    assert expected[0].shape == (1, 7)
    assert SIZES.layers > 0
    assert kernels()


def test_one_kernel_serves_every_size(device):
    compiled = torch.compile(wave, dynamic=True)
    for count in (3, 70, 1000):
        x = torch.randn(count, 5)
        assert_same(compiled(x.to(device)), wave(x))
    assert list(kernels().values()) == [3]


def test_a_number_on_the_cpu_is_read_when_the_kernel_is_called(device, module):
    compiled = torch.compile(lambda x, factor: x * factor)
    x, factor = torch.randn(100), torch.tensor(3.0)
    there, expected = x.to(device), x * factor
    compiled(there, factor)
    with hold(module.current_stream()):
        result = compiled(there, factor)
        factor.fill_(100.0)
    assert_same(result, expected)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: torch.fmax(torch.tensor(0.5), x),
        lambda x: (torch.tensor(7, dtype=torch.uint8) + x, -torch.tensor(7, dtype=torch.uint8)),
        lambda x: torch.where(torch.tensor(True), x, -x),
    ],
    ids=["constant", "results on both", "where"],
)
def test_what_is_made_of_a_number_on_the_cpu_is_on_the_device(device, fn):
    x = torch.randn(16, 16)
    assert_same(torch.compile(fn)(x.to(device)), fn(x))


def test_views_of_what_a_graph_made_are_written_behind_a_break(device):
    def fn(where):
        a = torch.tensor([1], device=where)[0:1]
        b = a.squeeze()
        a[0] = 0
        torch._dynamo.graph_break()
        a[0] = 2
        return b

    assert torch.compile(fn)(device).item() == 2


def test_a_convolution_of_channels_last_has_the_gradients_of_the_cpu(device):
    torch.manual_seed(1)
    here = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    there = torch.nn.Conv2d(3, 4, 3).to(device, memory_format=torch.channels_last)
    there.load_state_dict(here.state_dict())
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    results = here(x), torch.compile(there)(x.to(device))
    for result in results:
        result.sum().backward()
    assert_same(results[1], results[0], rtol=1e-4, atol=1e-5)
    gradients = [[p.grad for p in layer.parameters()] for layer in (there, here)]
    assert_same(gradients[0], gradients[1], rtol=1e-4, atol=1e-4)


@SWEEP
@pytest.mark.parametrize(
    "fn",
    [
        lambda x, index: x.t().argmax(),
        lambda x, index: torch.zeros(1, 30).to(x).scatter_reduce(0, index, x, "sum"),
        lambda x, index: torch.cat([x * 2, x.flip(1)], 1).var(1),
        lambda x, index: x.cumsum(0).sort(1).values,
    ],
    ids=["argmax", "scatter", "cat", "scan"],
)
def test_inductor_decides_as_for_the_cpu(device, fn):
    x, index = torch.randn(40, 30), torch.zeros(40, 30, dtype=torch.int64)
    actual = torch.compile(fn)(x.to(device), index.to(device))
    assert_same(actual, fn(x, index), rtol=1e-4, atol=1e-4)


@SWEEP
def test_kernels_are_not_combined_where_that_takes_triton(device):
    with torch._inductor.config.patch(combo_kernels=True):
        compiled = torch.compile(lambda x, y: (x.sum(1), y.exp()))
        x, y = torch.randn(9, 5), torch.randn(30)
        assert_same(compiled(x.to(device), y.to(device)), (x.sum(1), y.exp()))


@SWEEP
def test_random_numbers_repeat_after_manual_seed(device):
    compiled = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5))
    x = torch.ones(1000, device=device)
    torch.manual_seed(3)
    first, second = compiled(x), compiled(x)
    torch.manual_seed(3)
    assert_same(compiled(x), first)
    assert not torch.equal(first, second)
    assert 400 < int((first == 0).sum()) < 600
    assert first.unique().tolist() == [0, 2]


# ---- in stream order ----


def test_a_call_is_enqueued_on_the_current_stream(device, module):
    compiled = torch.compile(wave)
    x = torch.randn(MANY, 16)
    side, there = module.Stream(), x.to(device)
    compiled(there)
    module.synchronize()
    with hold(side), module.stream(side):
        result = compiled(there)
        assert not side.query()
        assert module.default_stream().query()
    side.synchronize()
    assert_same(result, wave(x))


def test_kernels_run_on_the_device_of_their_tensors(device, other_device, module):
    x = torch.randn(MANY, 16)
    result = torch.compile(wave)(x.to(other_device))
    assert result.device == other_device
    assert module.current_device() == device.index
    assert_same(result, wave(x))


def test_threads_may_call_one_compiled_function_on_streams_of_their_own(device, module):
    compiled = torch.compile(wave)
    compiled(torch.zeros(MANY, 16, device=device))
    wrong = []

    def work(number):
        with module.stream(module.Stream()):
            for turn in range(20):
                value = float(number + turn)
                result = compiled(torch.full((MANY, 16), value, device=device)).cpu()
                if not torch.allclose(result, wave(torch.full((MANY, 16), value))):
                    wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_graph_replays_generated_kernels(device, module):
    compiled = torch.compile(wave)
    x = torch.zeros(MANY, 16, device=device)
    compiled(x)
    graph = module.Graph()
    with module.graph(graph):
        result = compiled(x)
    for value in (1.0, 2.0):
        x.fill_(value)
        graph.replay()
        assert_same(result, wave(torch.full((MANY, 16), value)))


def test_the_profiler_shows_kernels_by_name(device, module):
    compiled = torch.compile(wave)
    x = torch.zeros(MANY, 16, device=device)
    compiled(x)
    with torch.profiler.profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
    ) as profile:
        compiled(x)
        module.synchronize()
    names = [event.name for event in profile.events()]
    assert sum(name.startswith("inductor::cpp_fused_add_mul_sin") for name in names) == 1


# ---- failures ----


def test_an_index_out_of_range_is_an_error_of_the_next_wait_not_the_end_of_the_process(
    device, module
):
    """Also in a loop that several threads share, where it ends the process on the CPU."""
    compiled = torch.compile(rows)
    table, index = torch.randn(100, 16), torch.randint(0, 100, (MANY,))
    there = table.to(device)
    assert_same(compiled(there, index.to(device)), rows(table, index))
    index[37] = 1000
    compiled(there, index.to(device))
    with pytest.raises(RuntimeError, match=r"index out of bounds.*inductor::cpp_fused"):
        module.synchronize()
    index[37] = 3
    assert_same(compiled(there, index.to(device)), rows(table, index))


@SWEEP
def test_a_division_by_zero_is_an_error_of_the_next_wait(device, module):
    compiled = torch.compile(lambda x, y: x // y)
    x, y = torch.arange(MANY), torch.arange(MANY) + 1
    assert_same(compiled(x.to(device), y.to(device)), x // y)
    compiled(x.to(device), (y - 7).to(device))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        module.synchronize()


UNSEEN = """
try:
    torch.compile(lambda x: x * 2)(torch.ones(3, device=device))
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


def test_a_device_whose_memory_the_host_does_not_see_is_one_sentence():
    assert output_of(UNSEEN, "hello", TORCHPLUG_DEVICE="hello").endswith(
        "generates C++ for the CPU, and the host has no view of the memory of 'hello:0'. "
        'Use torch.compile(..., backend="torchplug"), or no torch.compile.'
    )


MAPPED = """
import torchplug
from test_inductor import MANY, wave
x = torch.randn(2 * MANY, 16)
part = x.to(device)[MANY:]
assert torch.allclose(torch.compile(wave)(part).cpu(), wave(x[MANY:]), atol=1e-6)
print({entry.way for entry in torchplug.ledger() if entry.op.startswith("inductor::")})
"""


def test_a_device_that_maps_its_memory_runs_kernels_on_what_is_mapped(tmp_path, directory):
    plugin = compile_test_plugin(tmp_path, "handles")
    env = {"TORCHPLUG_DEVICE": plugin, "TORCHINDUCTOR_CACHE_DIR": directory}
    assert output_of(MAPPED, "handles", **env) == "{'borrow'}"


def test_a_program_in_cpp_is_refused_in_one_sentence(device):
    with (
        torch._inductor.config.patch(cpp_wrapper=True),
        pytest.raises(RuntimeError, match=r"know PyTorch's own devices only, not 'sim'\. Use "),
    ):
        torch.compile(wave)(torch.ones(3, device=device))


# ---- captured calls ----


def test_reduce_overhead_replays_calls_and_writes_no_result_that_was_given(device, module, recwarn):
    compiled = torch.compile(wave, mode="reduce-overhead")
    given = [torch.full((MANY, 16), float(value)) for value in range(4)]
    results = [compiled(x.to(device)) for x in given]
    assert_same(results, [wave(x) for x in given])
    assert list(kernels().values()) == [2]  # the first call, and the capture
    assert [str(warning.message) for warning in recwarn if "capture" in str(warning.message)] == []


@SWEEP
def test_training_by_reduce_overhead_is_as_on_the_cpu(device):
    trains_as_on_the_cpu(device, perceptron, [torch.randn(6, 8)], mode="reduce-overhead")
    # The second backward is the first one after a forward that was replayed, whose results lie where they always will.
    assert set(kernels().values()) == {2, 3}


@SWEEP
def test_reduce_overhead_of_what_uses_the_cpu_warns_and_runs(device):
    x = torch.ones(30)
    with pytest.warns(UserWarning, match="mode='reduce-overhead' has no effect.*on the CPU"):
        result = torch.compile(lambda x: (x * 2).cpu() + 1, mode="reduce-overhead")(x.to(device))
    assert_same(result, x * 2 + 1)


# ---- the next process ----

SECOND = """
from torch._dynamo.utils import counters
from test_inductor import MANY, wave
x = torch.ones(MANY, 16)
assert torch.allclose(torch.compile(wave)(x.to(device)).cpu(), wave(x))
print(counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"])
"""


def test_a_second_process_compiles_nothing(device, directory):
    output_of(SECOND, device, TORCHINDUCTOR_CACHE_DIR=directory)
    assert output_of(SECOND, device, TORCHINDUCTOR_CACHE_DIR=directory) == "1 0"


# ---- PyTorch's own questions ----


def test_inductor_still_asks_for_the_cpu_by_name():
    """Fails when torchplug._patches.replace_inductors_questions is no longer needed."""
    from torch._inductor import ir, lowering, scheduler

    assert '== "cpu"' in inspect.getsource(ir.is_cpu)
    assert '== "cpu"' in inspect.getsource(inspect.unwrap(scheduler.BaseSchedulerNode.is_cpu))
    scatter = inspect.getsource(inspect.unwrap(lowering.use_scatter_fallback))
    assert 'src_device_type == "cpu"' in scatter
    assert "if is_gpu(i.get_device().type)" in inspect.getsource(lowering.make_pointwise)
