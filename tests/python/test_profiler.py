"""torch.profiler shows what the device did: each operator, its work, when, on which stream."""

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function
from traces import ON_DEVICE, end, rows, within

pytestmark = pytest.mark.accelerator("the CPU has no device to trace")

SLACK = 2000  # microseconds that the clocks may have been read apart on a machine that is busy


# ---- what is there ----


def test_the_device_is_among_the_supported_activities(device):
    assert ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()


@pytest.mark.pytorch("the activity has one name for all devices", since=(2, 12))
def test_the_activity_is_named_after_the_device(device):
    assert device.type.upper() in str(ProfilerActivity.PrivateUse1)


def test_a_profile_without_arguments_traces_the_device(square, trace_of):
    assert len(trace_of(square.relu, activities=None).of("kernel")) == 1


def test_a_kernel_of_the_plugin_is_work_of_the_device(square, device, trace_of):
    (kernel,) = trace_of(square.relu).of("kernel")
    assert "relu" in kernel["name"]
    assert kernel["args"]["operator"] == "aten::relu"
    assert kernel["args"]["device"] == kernel["pid"] == device.index
    assert kernel["args"]["stream"] == kernel["tid"] == 0


@pytest.mark.accelerator("the CPU computes on its memory", only="sim")
def test_an_operator_that_the_cpu_does_on_device_memory_is_work_of_the_device(square, trace_of):
    trace = trace_of(lambda: (square @ square, torch.erfinv(square)))
    assert [e["name"] for e in trace.of("kernel")] == ["aten::mm [host]", "aten::erfinv [host]"]


def test_every_piece_of_work_has_an_arrow_from_a_launch_within_its_operator(square, trace_of):
    def body():
        (square @ square).relu().add(square).cpu()
        square.t().contiguous()[0, 0].item()

    trace = trace_of(body)
    arrows = trace.arrows()
    assert len(arrows) == len(trace.work) > 4
    for launch, work in arrows:
        assert launch["cat"] == "privateuse1_runtime"
        assert work["cat"] in ON_DEVICE
        assert launch["args"]["correlation"] == work["args"]["correlation"]
        assert launch["args"]["External id"] == work["args"]["External id"]
        assert work["ts"] >= launch["ts"], "nothing begins before it is launched"
        operator = trace.operator(work)
        assert operator["name"] == work["args"]["operator"]
        assert operator["tid"] == launch["tid"]
        assert within(launch, operator)


def test_work_of_one_stream_runs_in_the_order_of_its_launches_and_never_twice_at_once(
    square, trace_of
):
    def body():
        x = square
        for _ in range(20):
            x = (x @ square).relu()

    pairs = sorted(trace_of(body).arrows(), key=lambda pair: pair[0]["ts"])
    works = [work for _, work in pairs]
    for before, after in itertools.pairwise(works):
        assert after["ts"] >= end(before) - 1e-2  # the file has three digits


def test_the_device_is_waited_for_at_the_end_so_that_nothing_is_lost(device, trace_of):
    x = torch.eye(512).to(device)
    (x.relu() @ x).cpu()

    def body():
        for _ in range(30):
            (x @ x).relu()

    trace = trace_of(body)
    assert len(trace.of("kernel", name="relu")) == 30


def test_work_lies_between_its_launch_and_the_end_of_the_wait_for_it(square, module, trace_of):
    def body():
        for _ in range(5):
            square.relu()
        module.synchronize()

    trace = trace_of(body)
    first, *_ = trace.of("privateuse1_runtime", name="device_sync")
    for kernel in trace.of("kernel"):
        assert end(kernel) <= end(first) + SLACK


def test_events_around_work_hold_the_times_of_the_work(square, module, trace_of):
    start, stop = module.Event(enable_timing=True), module.Event(enable_timing=True)

    def body():
        start.record()
        for _ in range(10):
            square.relu().add(square)
        stop.record()

    trace = trace_of(body)
    busy = sum(kernel["dur"] for kernel in trace.of("kernel"))
    assert 0 < busy <= start.elapsed_time(stop) * 1000 * 1.05 + SLACK


def test_what_is_launched_before_and_after_is_not_there(square, trace_of):
    square.relu()
    trace = trace_of(lambda: square.add(square))
    square.relu()
    assert trace.of("kernel", name="relu") == []


# ---- copies ----

DIRECTIONS = {
    "from_host": (lambda d: torch.ones(777).to(d), "HtoD (Pageable -> Device)", 777 * 4),
    "to_host": (
        lambda d: torch.ones(5, dtype=torch.double, device=d).cpu(),
        "DtoH (Device -> Pageable)",
        40,
    ),
    "within": (lambda d: torch.empty(3, 11, device=d).clone(), "DtoD (Device -> Device)", 132),
    "scalar": (
        lambda d: torch.ones(2, dtype=torch.int16, device=d)[1].item(),
        "DtoH (Device -> Pageable)",
        2,
    ),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_copy_says_where_to_and_how_many_bytes(device, trace_of, direction):
    body, name, size = DIRECTIONS[direction]
    body(device)
    copies = trace_of(lambda: body(device)).of("gpu_memcpy", name=name)
    assert size in [copy["args"]["bytes"] for copy in copies]


@pytest.mark.accelerator("it has pinned memory", only="sim")
def test_a_copy_of_pinned_memory_says_so(device, trace_of):
    host = torch.ones(1 << 20).pin_memory()  # pin_memory=True is CUDA's wherever there is CUDA

    def body():
        there = host.to(device, non_blocking=True)
        host.copy_(there, non_blocking=True)

    up, down = trace_of(body).of("gpu_memcpy")
    assert up["name"] == "Memcpy HtoD (Pinned -> Device)"
    assert down["name"] == "Memcpy DtoH (Device -> Pinned)"
    for copy in (up, down):
        assert copy["args"]["bytes"] == 4 << 20
        rate = copy["args"]["memory bandwidth (GB/s)"]
        assert rate * copy["dur"] * 1000 == pytest.approx(4 << 20, rel=1e-2)


@pytest.mark.accelerator("it copies strided tensors", only="sim")
def test_a_strided_copy_counts_what_it_writes(device, trace_of):
    x = torch.ones(64, 32, device=device)
    (copy,) = trace_of(lambda: x.t().contiguous()).of("gpu_memcpy")
    assert copy["args"]["bytes"] == 64 * 32 * 4


@pytest.mark.accelerator("it has mem_fill", only="sim")
def test_zeroing_is_a_fill_of_the_plugins(device, trace_of):
    x = torch.ones(3, 5, device=device)
    trace = trace_of(lambda: (torch.zeros(7, device=device), x.zero_(), x[:, 1:].zero_()))
    assert [fill["args"]["bytes"] for fill in trace.of("gpu_memset")] == [28, 60]
    assert all(fill["name"] == "Memset (Device)" for fill in trace.of("gpu_memset"))
    assert [e["name"] for e in trace.of("kernel")] == ["aten::zero_ [host]"]


def test_a_copy_between_devices_is_one_between_peers(device, other_device, trace_of):
    x = torch.ones(100, device=device)
    x.to(other_device)
    copies = trace_of(lambda: x.to(other_device)).of("gpu_memcpy")
    assert [(copy["name"], copy["args"]["bytes"]) for copy in copies] == [
        ("Memcpy PtoP (Device -> Device)", 400)
    ]


# ---- streams, devices, threads ----


@pytest.mark.accelerator("it has streams", only="sim")
def test_work_is_on_the_lane_of_the_stream_it_was_launched_on(square, device, module, trace_of):
    one, two = module.Stream(), module.Stream()

    def body():
        square.relu()
        with one:
            square.add(square)
        with two:
            square.mul(square)

    trace = trace_of(body)
    lanes = {kernel["args"]["operator"]: kernel["tid"] for kernel in trace.of("kernel")}
    assert lanes == {"aten::relu": 0, "aten::add": one.stream_id, "aten::mul": two.stream_id}
    named = trace.lanes()
    for stream in (0, one.stream_id, two.stream_id):
        assert named[device.index, stream] == f"stream {stream} ({device})"


def test_each_device_has_lanes_of_its_own(device, other_device, trace_of):
    tensors = [torch.ones(8, device=place) for place in (device, other_device)]
    trace = trace_of(lambda: [tensor.relu() for tensor in tensors])
    assert {kernel["pid"] for kernel in trace.of("kernel")} == {device.index, other_device.index}
    labels = {e["pid"]: e["args"]["name"] for e in trace.events if e["name"] == "process_name"}
    assert labels[0] == f"{device.type}:0" and labels[1] == f"{device.type}:1"
    ours = [each for each in trace.json["deviceProperties"] if "timedBy" in each]
    assert [each["id"] for each in ours] == [0, 1]


def test_the_work_of_several_threads_belongs_to_the_operators_of_each(square, trace_of):
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)

    def body():
        threads = [threading.Thread(target=square.relu) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = trace_of(body, experimental_config=config)
    arrows = trace.arrows()
    assert len({launch["tid"] for launch, _ in arrows}) == 4
    assert all(trace.operator(work)["tid"] == launch["tid"] for launch, work in arrows)


def test_work_of_a_thread_that_is_not_profiled_is_there_and_belongs_to_no_operator(
    square, trace_of
):
    def body():
        thread = threading.Thread(target=square.relu)
        thread.start()
        thread.join()

    trace = trace_of(body)
    (kernel,) = trace.of("kernel")
    assert "External id" not in kernel["args"]
    assert [work for _, work in trace.arrows()] == [kernel]


# ---- the tables ----


def test_a_table_has_each_operator_once_with_its_calls_and_its_device_time(square, trace_of):
    def body():
        for _ in range(3):
            square.relu()
        square.add(square)

    trace = trace_of(body)
    operators, work = rows(trace.profiler)
    assert operators["aten::relu"].count == 3
    assert operators["aten::add"].count == 1
    relu = [kernel for kernel in trace.of("kernel") if kernel["args"]["operator"] == "aten::relu"]
    assert work[relu[0]["name"]].count == 3
    measured = sum(kernel["dur"] for kernel in relu)
    assert operators["aten::relu"].self_device_time_total == pytest.approx(measured, abs=0.1)
    assert work[relu[0]["name"]].self_device_time_total == pytest.approx(measured, abs=0.1)


def test_the_first_call_of_an_operator_shows_it_once_too(device, trace_of):
    x = torch.ones(3, 5, 7, device=device)
    operators, _ = rows(trace_of(lambda: (x.add(x, alpha=3), x.expm1())).profiler)
    assert operators["aten::add"].count == operators["aten::expm1"].count == 1


def test_the_total_of_a_table_is_that_of_the_work(square, trace_of):
    trace = trace_of(lambda: (square @ square).relu().cpu())
    operators, work = rows(trace.profiler)
    total = sum(event.self_device_time_total for event in work.values())
    assert total == pytest.approx(sum(span["dur"] for span in trace.work), abs=0.1)
    assert total == pytest.approx(
        sum(event.self_device_time_total for event in operators.values()),
        abs=0.1,
    )


def test_a_table_can_be_sorted_by_device_time(square, device, trace_of):
    profiler = trace_of(lambda: (square @ square).relu().cpu()).profiler
    averages = profiler.key_averages()
    table = averages.table(sort_by="self_device_time_total")
    assert f"Self {device.type.upper()}" in table
    longest = max(averages, key=lambda event: event.self_device_time_total)
    assert longest.self_device_time_total > 0
    assert longest.key[:50] in table.splitlines()[3]


def test_an_operators_first_call_has_device_time_too(device, trace_of):
    x = torch.rand(12345).to(device)
    trace = trace_of(lambda: torch.special.i1e(x))
    operators, _ = rows(trace.profiler)
    assert operators["aten::special_i1e"].device_time_total > 0


def test_shapes_stacks_and_modules_are_there(square, device, trace_of, tmp_path):
    net = torch.nn.Sequential(torch.nn.ReLU()).to(device)
    trace = trace_of(
        lambda: net(square),
        record_shapes=True,
        with_stack=True,
        with_modules=True,
        experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True),
    )
    averages = trace.profiler.key_averages(group_by_input_shape=True)
    (relu,) = [event for event in averages if event.key == "aten::relu"]
    assert relu.input_shapes == [[256, 256]]
    assert relu.self_device_time_total > 0
    assert trace.of("python_function", name="nn.Module: ReLU_0")
    path = tmp_path / "stacks.txt"
    trace.profiler.export_stacks(str(path), "self_privateuse1_time_total")
    assert "nn.Module:_ReLU_0" in path.read_text()


# ---- ranges, backward ----


def test_a_range_of_the_users_shows_on_the_device_what_it_launched(square, trace_of):
    def body():
        with record_function("outer"):
            square.relu()
            with record_function("inner"):
                square.relu()
        square.relu()

    trace = trace_of(body)
    spans = {span["name"]: span for span in trace.of("gpu_user_annotation")}
    assert spans.keys() == {"outer", "inner"}
    first, second, last = trace.of("kernel")
    assert within(second, spans["inner"]) and within(first, spans["outer"])
    assert within(
        spans["inner"],
        {**spans["outer"], "ts": spans["outer"]["ts"] - 1, "dur": spans["outer"]["dur"] + 2},
    )
    assert not within(last, spans["outer"])


def test_backward_is_linked_to_forward_and_its_work_to_its_operators(square, trace_of):
    leaf = square.detach().requires_grad_()
    leaf.relu().sum().backward()

    def body():
        leaf.relu().sum().backward()

    trace = trace_of(body)
    forward = {start["name"]: start for start, _ in trace.arrows("fwdbwd")}
    assert "aten::relu" in forward
    work = [e for e in trace.work if "threshold_backward" in e["args"].get("operator", "")]
    assert work
    node, *_ = trace.of("cpu_op", name="ReluBackward0")
    assert all(within(trace.operator(e), node) for e in work)
    assert {trace.operator(e)["tid"] for e in work} == {node["tid"]}
    numbers = {e["args"].get("Sequence number") for e in trace.of("cpu_op", name="ReluBackward0")}
    assert forward["aten::relu"]["args"]["Sequence number"] in numbers


def test_inference_mode_is_traced(square, trace_of):
    with torch.inference_mode():
        assert len(trace_of(square.relu).of("kernel")) == 1


# ---- memory ----


def test_memory_events_sum_to_zero_once_all_is_freed(device, module, trace_of):
    torch.ones(1000, device=device).relu()

    def body():
        before = module.memory_allocated()
        tensors = [torch.empty(size, device=device) for size in (1000, 300_000, 3_000_000)]
        body.held = module.memory_allocated() - before
        tensors.clear()
        torch.empty(77, device=device).relu()

    trace = trace_of(body, profile_memory=True)
    events = [
        e["args"]
        for e in trace.events
        if e["name"] == "[memory]" and e["args"]["Device Type"] == 20
    ]
    sizes = [event["Bytes"] for event in events]
    assert sum(size for size in sizes[:3]) == body.held
    assert sum(sizes) == 0
    assert all(event["Total Reserved"] >= event["Total Allocated"] for event in events)
    totals = [event["Total Allocated"] for event in events]
    assert all(b - a == size for a, b, size in zip(totals, totals[1:], sizes[1:], strict=False))
    operators, _ = rows(trace.profiler)
    assert operators["aten::empty"].self_device_memory_usage > body.held


def test_memory_of_the_device_counts_in_a_profile_of_the_cpu(device, trace_of):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = torch.empty(1 << 20, device=device)
    (empty,) = [e for e in profiler.key_averages() if e.key == "aten::empty"]
    assert empty.self_device_memory_usage >= kept.nbytes


def test_memory_that_is_not_there_is_an_event(device, trace_of):
    def body():
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1 << 50, dtype=torch.uint8, device=device)

    trace = trace_of(body, profile_memory=True)
    assert [e for e in trace.events if e["name"] == "[OutOfMemory]"]


@pytest.mark.accelerator("its work can be timed by events", only="sim")
@pytest.mark.skipif("TORCHPLUG_SIM_PROFILER" in os.environ, reason="this is that")
def test_all_of_it_holds_when_events_give_the_times():
    here = Path(__file__)
    files = [str(here), str(here.with_name("test_profiles.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    environment = {**os.environ, "TORCHPLUG_SIM_PROFILER": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
