"""torch.<device>.memory: limits, settings, pools, what was allocated by whom."""

import base64
import gc
import os
import pickle
import re
import threading
from pathlib import Path

import pytest
import torch
import warm_interpreter
from helpers import TIMEOUT, output_of, run_python, still_works
from torch.cuda import _memory_viz
from vendors import compile_plugin

pytestmark = pytest.mark.accelerator("the CPU is not an accelerator")

MIB = 1 << 20
LIMITED = Path(__file__).resolve().parents[1] / "plugins" / "limited.c"


@pytest.fixture
def history(module):
    """Nothing is recorded before and after."""
    module.memory._record_memory_history(None)
    yield module.memory
    module.memory._record_memory_history(None)


def blocks(snapshot):
    return [block for segment in snapshot["segments"] for block in segment["blocks"]]


# ---- how much ----


def test_a_fraction_of_the_device_is_all_this_process_may_have(module, device):
    module.empty_cache()
    assert module.get_per_process_memory_fraction() == 1.0
    total = module.mem_get_info()[1]
    fraction = (module.memory_reserved() + 64 * MIB) / total
    module.set_per_process_memory_fraction(fraction, device)
    try:
        kept = torch.empty(40 * MIB, dtype=torch.uint8, device=device)
        with pytest.raises(
            torch.OutOfMemoryError, match=r"(bytes|MiB)\. This process may allocate .*fraction"
        ):
            torch.empty(40 * MIB, dtype=torch.uint8, device=device)
        del kept
    finally:
        module.set_per_process_memory_fraction(1.0)
    torch.empty(100 * MIB, dtype=torch.uint8, device=device)
    with pytest.raises(ValueError, match="between 0 and 1"):
        module.set_per_process_memory_fraction(1.5)
    with pytest.raises(TypeError, match="float"):
        module.set_per_process_memory_fraction(1)


@pytest.mark.parametrize("index", [-1, 2, 127, 128, 255, 256, 2**31 - 1])
def test_a_device_that_does_not_exist_has_no_fraction(module, index):
    index = max(index, module.device_count()) if index > 0 else index
    for call in (
        lambda: module.set_per_process_memory_fraction(0.5, index),
        lambda: module.get_per_process_memory_fraction(index),
        lambda: module.caching_allocator_alloc(16, index, 0),
    ):
        with pytest.raises(RuntimeError, match=f"There is no device .*:{index}"):
            call()
    assert module.get_per_process_memory_fraction(0) == 1.0


@pytest.mark.accelerator("its memory can be set", only="sim")
def test_out_of_memory_says_what_there_is_and_what_to_do(device):
    code = """
kept = torch.empty(40 << 20, dtype=torch.uint8, device=device)
told = []
torch.get_device_module(device).memory._attach_out_of_memory_observer(lambda *words: told.append(words))
try:
    torch.empty(30 << 20, dtype=torch.uint8, device=device)
except torch.OutOfMemoryError as error:
    print(error)
print(told)
"""
    said, told = output_of(code, device, TORCHPLUG_SIM_MEMORY="64MiB").splitlines()
    for words in (
        "Tried to allocate 30.0 MiB",
        "24.0 MiB free of 64.0 MiB",
        "40.0 MiB allocated",
        "0 bytes cached",
        "largest cached block",
        "Free tensors",
    ):
        assert words in said
    assert told == f"[(0, {30 * MIB}, {64 * MIB}, {24 * MIB})]"


@pytest.mark.accelerator("it maps memory into addresses", only="sim")
def test_segments_grow_in_place_if_asked_by_either_variable(device):
    code = """
module = torch.get_device_module(device)
torch.ones(30 << 20, dtype=torch.uint8, device=device)
again = torch.ones(50 << 20, dtype=torch.uint8, device=device)
assert int(again.sum()) == 50 << 20
print(module.memory_reserved() >> 20, [s["is_expandable"] for s in module.memory_snapshot()][-1])
"""
    for variable in ("TORCHPLUG_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        wanted = output_of(code, device, **{variable: "expandable_segments:True"})
        mib, expandable = wanted.split()
        assert 50 <= int(mib) <= 72 and expandable == "True"


def test_a_setting_that_does_not_exist_is_named(device):
    done = run_python("torch.ones(1, device=device)", device, TORCHPLUG_ALLOC_CONF="splitt:3")
    assert done.returncode != 0
    assert "There is no allocator setting 'splitt'." in done.stderr.splitlines()[-1]


def test_memory_does_not_grow_when_one_thread_allocates_and_another_frees(module, device):
    def free(tensors):
        tensors.clear()

    held = None
    for _ in range(30):
        tensors = [torch.empty(1000 * (1 + i % 5), device=device) for i in range(20)]
        thread = threading.Thread(target=free, args=(tensors,))
        thread.start()
        thread.join()
        if held is None:
            held = module.memory_reserved()
    assert module.memory_reserved() == held


# ---- for other libraries ----


def test_memory_can_be_allocated_and_freed_by_its_address(module, device):
    before = module.memory_allocated()
    address = module.caching_allocator_alloc(1000, device)
    assert module.memory_allocated() == before + 1024
    on_stream = module.caching_allocator_alloc(1000, stream=module.current_stream())
    assert on_stream != address
    module.caching_allocator_delete(address)
    module.caching_allocator_delete(on_stream)
    assert module.memory_allocated() == before
    with pytest.raises(ValueError, match="already been freed"):
        module.caching_allocator_delete(address)
    with pytest.raises(TypeError, match="Stream"):
        module.caching_allocator_alloc(1000, stream="first")


def test_without_caching_nothing_is_kept(module, device):
    module.empty_cache()
    held = module.memory_reserved()
    with module.memory.caching_allocator_disabled():
        kept = torch.ones(5 * MIB, dtype=torch.uint8, device=device)
        assert module.memory_reserved() == held + 5 * MIB
        assert kept.sum().item() == 5 * MIB
        del kept
        assert module.memory_reserved() == held
    assert still_works(device)


@pytest.mark.parametrize("pooled", [False, True])
def test_a_library_can_be_where_memory_comes_from(tmp_path, pooled):
    library = compile_plugin(tmp_path, "limited", LIMITED.read_text())
    code = """
import ctypes, sys
import torchplug
path, pooled = sys.argv[2], sys.argv[3] == "True"
device = torch.device(torchplug.load(path) or "limited", 0)
module = torch.limited
allocator = module.memory.PluggableAllocator(path, "limited_take", "limited_give")
library = ctypes.CDLL(path)
taken, given = library.limited_taken, library.limited_given
if pooled:
    pool = module.MemPool(allocator.allocator())
    outside = torch.ones(1000, device=device)
    assert taken() == 0
    with module.use_mem_pool(pool):
        x = torch.ones(1000, device=device)
    assert taken() == 2 << 20 and given() == 0
    assert [s["segment_pool_id"] for s in pool.snapshot()] == [pool.id]
    del x, pool
    assert given() == 2 << 20
else:
    module.change_current_allocator(allocator)
    assert module.get_allocator_backend() == "pluggable"
    x = torch.ones(1000, device=device)
    assert taken() == 4096 and x.sum().item() == 1000
    del x
    assert given() == taken()
    try:
        module.change_current_allocator(allocator)
    except RuntimeError as error:
        assert "before the first allocation" in str(error)
print("done")
"""
    assert output_of(code, "cpu", library, pooled, TORCHPLUG_DEVICE="none") == "done"


# ---- pools ----


def test_a_pool_keeps_its_memory_to_itself(module, device):
    gc.collect()  # what others left behind is not counted
    pool = module.MemPool()
    assert pool.use_count() == 1 and pool.id[0] == 0 and pool.id != module.MemPool().id
    torch.empty(1000, device=device)
    with module.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = torch.ones(1000, device=device)
        address = inside.data_ptr()
    assert pool.use_count() == 1
    (segment,) = pool.snapshot()
    assert segment["segment_pool_id"] == pool.id
    assert segment["address"] <= address < segment["address"] + segment["total_size"]
    del inside
    outside = [torch.empty(1000, device=device) for _ in range(10)]
    assert address not in [tensor.data_ptr() for tensor in outside]
    with module.use_mem_pool(pool):
        assert torch.empty(1000, device=device).data_ptr() == address
    module.empty_cache()
    assert len(pool.snapshot()) == 1, "the pool has a user"
    reserved = module.memory_reserved()
    del pool
    gc.collect()
    assert module.memory_reserved() == reserved - segment["total_size"]


def test_a_pool_is_for_the_thread_that_uses_it(module, device):
    pool = module.MemPool()
    found = []

    def work():
        found.append(torch.ones(1000, device=device))

    with module.use_mem_pool(pool):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert pool.snapshot() == []


# ---- history ----


def test_a_snapshot_knows_who_allocated_what(history, device):
    history._record_memory_history()

    def allocate_here():
        return torch.ones(1234, device=device)

    kept = allocate_here()
    address = kept.untyped_storage().data_ptr()
    snapshot = history._snapshot()
    (block,) = [b for b in blocks(snapshot) if b["address"] == address]
    assert block["state"] == "active_allocated"
    assert block["requested_size"] == kept.nbytes and block["size"] == 5120
    frames = [frame for frame in block["frames"] if frame["name"] == "allocate_here"]
    assert frames and frames[0]["filename"] == __file__
    assert frames[0]["line"] == allocate_here.__code__.co_firstlineno + 1
    assert "allocate_here" in [frame["name"] for frame in history._allocation_traceback(address)]
    assert history._allocation_traceback(1) is None

    del kept
    actions = [
        entry["action"]
        for entry in history._snapshot()["device_traces"][device.index]
        if entry.get("addr") == address
    ]
    assert actions[-3:] == ["alloc", "free_requested", "free_completed"]


def test_segments_account_for_every_byte(module, device):
    kept = [torch.empty(n, device=device) for n in (10, 10000, 3 * MIB)]
    segments = [s for s in module.memory_snapshot() if s["device"] == device.index]
    assert sum(s["total_size"] for s in segments) == module.memory_reserved(device)
    assert sum(s["allocated_size"] for s in segments) == module.memory_allocated(device)
    for segment in segments:
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        address = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == address
            address += block["size"]
    del kept


def test_history_ends_and_keeps_as_much_as_asked(history, device):
    history._record_memory_history(max_entries=4, context=None, skip_actions=["snapshot"])
    history._set_memory_metadata("of mine")
    for _ in range(5):
        torch.ones(10, device=device)
    history._set_memory_metadata("")
    trace = history._snapshot()["device_traces"][device.index]
    assert len(trace) == 4
    assert {entry["user_metadata"] for entry in trace} == {"of mine"}
    assert all(entry["frames"] == [] for entry in trace)
    history._record_memory_history(None)
    torch.ones(10, device=device)
    assert history._snapshot()["device_traces"][device.index] == []
    with pytest.raises(RuntimeError, match="enabled must be one of"):
        history._record_memory_history("sometimes")


def test_marked_regions_are_in_the_snapshot(history, device):
    history._record_memory_history()
    with torch.profiler.record_function("my region"):
        torch.ones(10, device=device)
    stages = [
        entry["stage"]
        for entry in history._snapshot()["external_annotations"]
        if entry["name"] == "my region"
    ]
    assert stages == ["START", "END"]


@pytest.fixture
def visualised(history, module, device, tmp_path):
    """A snapshot of two tensors that live and one that does not, and what PyTorch's visualiser makes of it."""
    module.synchronize()
    history._record_memory_history()
    kept = [torch.ones(n, device=device) for n in (100, 10000, 3 * MIB)]
    module.synchronize()
    del kept[1]
    file = tmp_path / "snapshot.pickle"
    history._dump_snapshot(file)

    def run(*arguments):
        code = "import runpy; runpy.run_module('torch.cuda._memory_viz', run_name='__main__')"
        arguments = [*arguments, str(file)]
        done = warm_interpreter.run(code, arguments, dict(os.environ), TIMEOUT, autoload=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return pickle.loads(file.read_bytes()), run


def test_pytorchs_visualiser_reads_a_snapshot(visualised):
    snapshot, run = visualised
    total = sum(segment["allocated_size"] for segment in snapshot["segments"])
    assert total > 12 * MIB
    assert f"total_allocated: {_memory_viz.Bytes(total)}\n" in run("stats")
    trace = run("trace")
    allocated = re.findall(r"^(\w+) = \w+\[\d+:(.*)\]$", trace, re.MULTILINE)
    assert [size for _, size in allocated] == ["400.0B", "39.1KiB", "12.0MiB"]
    assert re.findall(r"^del (\w+) ", trace, re.MULTILINE) == [allocated[1][0]]


@pytest.mark.parametrize("action", ["trace_plot", "segment_plot"])
def test_pytorchs_visualiser_draws_a_snapshot(visualised, tmp_path, action):
    snapshot, run = visualised
    page = tmp_path / "page.html"
    run(action, "-o", str(page))
    (drawn,) = re.findall(r'"base64": "([^"]*)"', page.read_text())
    assert pickle.loads(base64.b64decode(drawn)) == snapshot


def test_work_on_the_stream_is_recorded_without_waiting_for_python(history, module, device):
    """A worker that frees memory must not wait for the GIL while its holder waits for the worker."""
    module.synchronize()
    history._record_memory_history()
    for _ in range(50):
        torch.ones(1000, device=device).exp().sum()
        torch.accelerator.empty_cache()
    module.synchronize()
    trace = history._snapshot()["device_traces"][device.index]
    made = [entry["addr"] for entry in trace if entry["action"] == "alloc"]
    freed = [entry["addr"] for entry in trace if entry["action"] == "free_completed"]
    assert len(made) >= 150 and sorted(made) == sorted(freed)


@pytest.mark.accelerator("it has streams", only="sim")
@pytest.mark.parametrize("kind", ["device", "pinned"])
def test_waiting_for_another_stream_leaves_no_event_behind(device, kind):
    make = {"device": "device=device", "pinned": "pin_memory=True"}[kind]
    use = {
        "device": "x.record_stream(side)",
        "pinned": "y = torch.empty_like(x, device=device).copy_(x, non_blocking=True); del y",
    }[kind]
    code = f"""
module = torch.get_device_module(device)
for _ in range(3):
    side = module.Stream()
    with module.stream(side):
        x = torch.ones(1000, {make})
    for side in (module.Stream(), module.Stream()):
        with module.stream(side):
            {use}
    del x
"""
    done = run_python(code, device, TORCHPLUG_LAYERS="validate", TORCHPLUG_LOG=1)
    assert (done.returncode, done.stderr) == (0, "")


# ---- the profiler ----


def test_the_profiler_is_told_of_memory(module, device):
    gc.collect()
    module.synchronize()
    with torch.profiler.profile(profile_memory=True) as profile:
        kept = torch.ones(1000, device=device)
        module.synchronize()
        del kept
    told = {event.key: event.self_device_memory_usage for event in profile.key_averages()}
    assert (told["aten::empty"], told["[memory]"]) == (4096, -4096)
