"""torch.compile of a decode step: a KV cache is written where it is, and nothing of its size is allocated or copied."""

import re

import pytest
import torch
from compiling import compiled, copy, reports, total
from helpers import assert_same, output_of

from torchplug.compile import _backend

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]

MIB = 2**20


# What a step writes: new [batch, heads, 1, width] into cache [batch, heads, positions, width], at place [1].


def put(cache, new, place):
    cache[:, :, place] = new


def index_copied(cache, new, place):
    cache.index_copy_(2, place, new)


def slice_assigned(cache, new, place):
    cache[:, :, 3:4] = new


def select_assigned(cache, new, place):
    cache[:, :, 5] = new[:, :, 0]


def nested(cache, new, place):
    cache[1, :, 3:4] = new[1]


def several_times(cache, new, place):
    cache[:, :, 1:2] = new
    cache.index_copy_(2, place, new + 1)
    cache[:, :, 6] = new[:, :, 0] * 2


def row_by_row(cache, new, place):
    """As models do that have the caches of all layers in one tensor."""
    for row in range(2):
        keys = cache[row]
        keys.index_copy_(1, place, new[row] + row)


WRITES = [put, index_copied, slice_assigned, select_assigned, nested, several_times, row_by_row]


def arguments(device, positions):
    torch.manual_seed(7)
    place = torch.tensor([2], device=device)
    return (
        torch.randn(2, 2, positions, 4, device=device),
        torch.randn(2, 2, 1, 4, device=device),
        place,
    )


def cost_of(module, call, *args):
    """The most that a call allocates at a time, and all that it allocates."""
    call(*args)
    module.synchronize()
    module.reset_peak_memory_stats()
    before = module.memory_stats()
    result = call(*args)
    module.synchronize()
    after = module.memory_stats()
    del result
    peak, everything = "allocated_bytes.all.peak", "allocated_bytes.all.allocated"
    return after[peak] - before["allocated_bytes.all.current"], after[everything] - before[
        everything
    ]


def loops():
    """The bounds of all loops that were generated, and how many rows each nest has, in C++."""
    texts = [text for p in _backend.programs for g in p.groups for text in g.engines.texts()]
    code = [text[text.index("static void nest_0") :] for text in texts]
    rows = [text.partition("engine_rows")[2].partition("engine_grain")[0] for text in code]
    return re.findall(r"; \w+ < ([^;]*);", "".join(code)) + re.findall(
        r"return ([^;]*);", "".join(rows)
    )


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_caches_of_1_and_64_mib_cost_the_same(device, module, write):
    def step(cache, new, place):
        write(cache, new, place)
        return (cache[:, :, :8] * new).sum((1, 3))

    call, costs = compiled(step), []
    for size in (MIB, 64 * MIB):
        cache, new, place = arguments(device, size // 64)
        torch._dynamo.mark_dynamic(cache, 2)
        expected, address = copy(cache), cache.data_ptr()
        with torch.no_grad():
            costs.append(cost_of(module, call, cache, new, place))
            result = call(cache, new, place)
            assert_same(result, step(expected, new, place))
        assert torch.equal(cache, expected)
        assert cache.data_ptr() == address
    assert costs[0] == costs[1]
    assert costs[0][1] < MIB
    assert [report["engines"] for report in reports()] == [1]
    long = [b for b in loops() if "s[" in b or any(int(n) > 64 for n in re.findall(r"\d+", b))]
    assert long == [], "a loop goes over the whole cache"


def attention(cache, new):
    return (new @ cache.transpose(-1, -2)).softmax(-1) @ cache


def several_times_and_read(cache, new, place):
    several_times(cache, new, place)
    return attention(cache, new)


def row_by_row_and_read(cache, new, place):
    read = 0
    for row in range(2):
        keys = cache[row]
        keys.index_copy_(1, place, new[row])
        read = read + attention(keys, new[row])
    return read


def returned(cache, new, place):
    index_copied(cache, new, place)
    return cache, cache[:, :, :2] + 1


def read_before_and_behind(cache, new, place):
    old = cache * 2
    before = attention(cache, new)
    index_copied(cache, new, place)
    return before, attention(cache, new), old


@pytest.mark.parametrize(
    "step",
    [several_times_and_read, row_by_row_and_read, returned, read_before_and_behind],
    ids=lambda step: step.__name__,
)
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_a_step_does_what_eager_does(device, step, layout):
    cache, new, place = arguments(device, 16)
    if layout == "transposed":
        cache = cache.transpose(1, 2).contiguous().transpose(1, 2)
    ours, theirs = copy(cache), copy(cache)
    call = compiled(step)
    with torch.no_grad():
        for i in range(3):
            place = place + 1
            assert_same(call(ours, new + i, place), step(theirs, new + i, place))
            assert_same(ours, theirs)
    assert total("runs") >= 3


def test_a_returned_cache_is_the_cache_and_no_copy_of_it(device, module):
    cache, new, place = arguments(device, MIB // 64)
    call = compiled(returned)
    with torch.no_grad():
        assert cost_of(module, call, cache, new, place)[1] < MIB
        assert call(cache, new, place)[0] is cache


def test_a_cache_that_is_another_argument_too_keeps_its_old_content_there(device):
    def step(cache, window, new, place):
        index_copied(cache, new, place)
        return window * 2 + cache[:, :, :4]

    cache, new, place = arguments(device, 16)
    call = compiled(step)
    with torch.no_grad():
        for window in (slice(0, 4), slice(8, 12), slice(2, 6)):
            torch._dynamo.reset()  # its guards do not see how much two slices overlap
            ours, theirs = copy(cache), copy(cache)
            assert_same(
                call(ours, ours[:, :, window], new, place),
                step(theirs, theirs[:, :, window], new, place),
            )
            assert_same(ours, theirs)


def test_an_engine_never_writes_what_it_reads_as_another_argument(device):
    """Whatever the guards of PyTorch have seen: engines are given what plug.h promises them."""
    from torchplug import _C

    listed = _C.compiler_operators(device.index or 0)["aten::add.Tensor"]
    text = f"operator {listed['place']} {listed['schema']}\n"
    text += "graph(%x: f32[4], %y: f32[4]) {\n  %s: f32[4] = aten::add.Tensor(%x, %y, alpha=1)\n"
    text += "  %t: f32[4] = aten::add.Tensor(%s, %y, alpha=1)\n  return %s updates %x, %t\n}\n"
    group = _C.EngineGroup(0, _C.CompilerGraph(text), [], 8, False, "", [None, None])
    memory = torch.arange(6.0, device=device)
    x, y = memory[:4], memory[2:]
    version = x._version
    results = group.run([x, y], [])
    assert memory.tolist() == [2, 4, 6, 8, 4, 5]
    assert results[1].tolist() == [4, 7, 10, 13]
    assert results[0] is not None and x._version > version


WHOLE = """
import torchplug.compile
from test_compile_caches import *
from torchplug.compile import _backend
module = torch.get_device_module(device)
_backend.programs = []
for write in (index_copied, several_times, row_by_row):
    def step(cache, new, place):
        write(cache, new, place)
        return attention(cache[:, :, :8], new)
    call = compiled(step)
    costs = []
    for size in (MIB, 16 * MIB):
        cache, new, place = arguments(device, size // 64)
        torch._dynamo.mark_dynamic(cache, 2)
        expected = copy(cache)
        with torch.no_grad():
            costs.append(cost_of(module, call, cache, new, place))
            assert_same(call(cache, new, place), step(expected, new, place))
        assert torch.equal(cache, expected)
    assert costs[0] == costs[1] and costs[0][1] < MIB, costs
for step in (row_by_row_and_read, read_before_and_behind):
    ours, new, place = arguments(device, 16)
    theirs, call = copy(ours), compiled(step)
    with torch.no_grad():
        for i in range(2):
            assert_same(call(ours, new + i, place + i), step(theirs, new + i, place + i))
            assert_same(ours, theirs)
print(len(reports()), total("runs_without"))
"""


def test_so_does_a_compiler_of_whole_models(device, engine_directory):
    settings = {"TORCHPLUG_SIM_COMPILER": "whole", "TORCHPLUG_CACHE_DIR": engine_directory}
    assert output_of(WHOLE, device, **settings) == "5 0"
