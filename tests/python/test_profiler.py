"""torch.profiler shows what the device did: each operator, its work, when, on which stream."""

import inspect
import itertools
import json
import os
import subprocess
import sys
import threading
from collections import Counter, defaultdict

import pytest
import torch
from helpers import RELEASE, output_of, still_works
from torch.profiler import ProfilerActivity, profile, record_function, schedule

pytestmark = pytest.mark.accelerator("the CPU has no device to trace")

ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
SLACK = 2000  # microseconds that the clocks may have been read apart on a machine that is busy


class Trace:
    """A Chrome trace by its parts."""

    def __init__(self, path):
        with open(path) as file:
            self.json = json.load(file)
        self.events = self.json["traceEvents"]
        self.spans = [event for event in self.events if event["ph"] == "X"]

    def of(self, *categories, name=""):
        return [e for e in self.spans if e.get("cat") in categories and name in e["name"]]

    @property
    def work(self):
        return self.of(*ON_DEVICE)

    def arrows(self, kind="ac2g"):
        """The pairs of spans that the arrows of a kind connect."""
        ends = defaultdict(dict)
        for event in self.events:
            if event.get("cat") == kind:
                assert event["ph"] not in ends[event["id"]], "one arrow has two ends of a kind"
                ends[event["id"]][event["ph"]] = event
        assert all(pair.keys() == {"s", "f"} for pair in ends.values()), "an arrow with one end"
        return [(self.at(pair["s"]), self.at(pair["f"])) for pair in ends.values()]

    def at(self, end):
        place = ("pid", "tid", "ts")
        found = [e for e in self.spans if all(e[key] == end[key] for key in place)]
        categories = (*ON_DEVICE, "privateuse1_runtime", "cpu_op")
        (span,) = [e for e in found if e["cat"] in categories] or [None]
        return span

    def operator(self, span):
        """The operator that a span says it belongs to."""
        number = span["args"]["External id"]
        (found,) = [e for e in self.of("cpu_op") if e["args"].get("External id") == number]
        return found

    def lanes(self):
        names = [e for e in self.events if e["ph"] == "M" and e["name"] == "thread_name"]
        return {(e["pid"], e["tid"]): e["args"]["name"] for e in names}


def within(inner, outer):
    return outer["ts"] <= inner["ts"] and end(inner) <= end(outer)


def end(span):
    return span["ts"] + span["dur"]


@pytest.fixture
def trace_of(tmp_path):
    """trace_of(body) profiles body() and gives the trace; options are the profiler's."""

    def run(body, activities=ACTIVITIES, **options):
        with profile(activities=activities, **options) as profiler:
            body()
        path = tmp_path / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = Trace(path)
        trace.profiler = profiler
        return trace

    return run


@pytest.fixture
def square(device):
    """A matrix whose products, sums and copies have run before: such calls only enqueue."""
    matrix = torch.eye(256).to(device)
    for _ in range(2):
        (matrix @ matrix).relu().add(matrix).cpu()
    return matrix


# ---- what is there ----


def test_the_device_is_among_the_supported_activities(device):
    assert ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()
    if RELEASE >= (2, 12):  # before, PyTorch has one name for all devices
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
    host = torch.ones(1 << 20, pin_memory=True)

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


def rows(profiler):
    """The lines of the table by name, those of operators apart from those of the device's work."""
    cpu = torch.autograd.DeviceType.CPU
    averages = profiler.key_averages()
    operators = [event for event in averages if event.device_type == cpu]
    work = [event for event in averages if event.device_type != cpu]
    assert max(Counter(event.key for event in operators).values()) == 1, "an operator twice"
    assert max(Counter(event.key for event in work).values()) == 1
    return {e.key: e for e in operators}, {e.key: e for e in work}


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
            torch.empty(1 << 45, dtype=torch.uint8, device=device)

    trace = trace_of(body, profile_memory=True)
    assert [e for e in trace.events if e["name"] == "[OutOfMemory]"]


# ---- schedules, and what else profiles ----


def test_each_cycle_of_a_schedule_has_its_own_steps(device, tmp_path):
    x = torch.ones(4, device=device)
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path), worker_name="one")
    when = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(activities=ACTIVITIES, schedule=when, on_trace_ready=handler) as profiler:
        for _ in range(8):
            x.relu()
            profiler.step()
    traces = [Trace(path) for path in sorted(tmp_path.glob("one.*.pt.trace.json"))]
    assert len(traces) == 2
    steps = []
    for trace in traces:
        assert len(trace.of("kernel", name="relu")) == 2
        assert len(trace.arrows()) == len(trace.work)
        steps += [e["name"] for e in trace.of("user_annotation", name="ProfilerStep")]
        properties = trace.json["deviceProperties"][0]
        assert properties["name"] and properties["totalGlobalMem"] > 0
    assert steps == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#6", "ProfilerStep#7"]


def test_events_can_be_kept_over_cycles(device):
    x = torch.ones(4, device=device)
    when = schedule(wait=0, warmup=1, active=1, repeat=3)
    with profile(activities=ACTIVITIES, schedule=when, acc_events=True) as profiler:
        for _ in range(6):
            x.relu()
            profiler.step()
    operators, work = rows(profiler)
    assert operators["aten::relu"].count == 3
    assert [event.count for name, event in work.items() if "relu" in name] == [3]


def test_the_older_profiler_times_operators_by_events(square, device):
    with torch.autograd.profiler.profile(use_device=device.type) as profiler:
        for _ in range(3):
            square @ square
    (product,) = [e for e in profiler.key_averages() if e.key == "aten::mm"]
    assert product.count == 3
    assert product.device_time_total > 0
    assert "aten::mm" in profiler.table(sort_by="self_device_time_total")


@pytest.mark.accelerator("it has streams", only="sim")
def test_the_older_profilers_times_lie_within_those_of_events_around(square, module, device):
    start, stop = module.Event(enable_timing=True), module.Event(enable_timing=True)
    with torch.autograd.profiler.profile(use_device=device.type) as profiler:
        start.record()
        square @ square
        stop.record()
    (product,) = [e for e in profiler.key_averages() if e.key == "aten::mm"]
    assert product.device_time_total <= start.elapsed_time(stop) * 1000


def test_the_vendors_profiler_can_be_switched_as_cudas(square, module, trace_of):
    module.profiler.start()
    square.relu()
    module.synchronize()
    module.profiler.stop()
    module.profiler.stop()  # one too many is none

    def body():
        with module.profiler.profile():
            square.relu()
        square.relu()  # the trace goes on

    assert len(trace_of(body).of("kernel")) == 2


def test_python_can_write_the_trace_too(square, trace_of, tmp_path):
    profiler = trace_of(square.relu).profiler
    inner = profiler.profiler
    if "use_python_export" not in inspect.signature(inner.export_chrome_trace).parameters:
        pytest.skip("this PyTorch writes traces in C++ only")
    path = tmp_path / "python.json"
    inner.export_chrome_trace(str(path), use_python_export=True)
    (kernel,) = Trace(path).of("kernel")
    assert "relu" in kernel["name"]


# ---- choosing ----


def test_a_profile_of_the_cpu_alone_traces_no_device(square, trace_of):
    trace = trace_of(square.relu, activities=[ProfilerActivity.CPU])
    assert trace.work == [] and trace.of("privateuse1_runtime") == []
    assert trace.of("cpu_op", name="aten::relu")


def test_a_profile_of_the_device_alone_has_its_work(square, trace_of):
    trace = trace_of(square.relu, activities=[ProfilerActivity.PrivateUse1])
    assert len(trace.of("kernel")) == 1
    assert trace.of("cpu_op") == []


@pytest.mark.parametrize("kind", ["GPU_MEMCPY", "CONCURRENT_KERNEL"])
def test_kinds_of_work_can_be_chosen(square, trace_of, kind):
    def body():
        square.relu().cpu()

    try:
        trace = trace_of(body, activities=[{ProfilerActivity.PrivateUse1: [kind]}])
    except (TypeError, AttributeError):
        pytest.skip("this PyTorch chooses whole groups only")
    (work,) = trace.work
    assert work["cat"] == {"GPU_MEMCPY": "gpu_memcpy", "CONCURRENT_KERNEL": "kernel"}[kind]


# ---- beginnings and ends ----


def test_profiles_may_follow_each_other_with_and_without_work(square, trace_of):
    assert trace_of(lambda: None).work == []
    assert len(trace_of(square.relu).work) == 1
    assert trace_of(lambda: None).work == []


@pytest.mark.skipif(
    RELEASE < (2, 12), reason="PyTorch's own profiles cannot be nested, on any device"
)
def test_a_second_profile_within_one_takes_over_as_on_the_cpu_and_the_next_is_whole(
    square, trace_of
):
    with profile(activities=ACTIVITIES):
        square.relu()
        inner = trace_of(square.relu)
        square.relu()
    assert len(inner.of("kernel")) == 1
    assert len(trace_of(square.relu).of("kernel")) == 1


def test_an_error_within_a_profile_ends_it(square, device, trace_of):
    with pytest.raises(ZeroDivisionError), profile(activities=ACTIVITIES):
        square.relu()
        raise ZeroDivisionError
    assert still_works(device)
    assert len(trace_of(square.relu).of("kernel")) == 1


def test_a_device_that_is_not_used_is_neither_loaded_nor_opened(device):
    assert (
        output_of(
            """
        from torch.profiler import profile
        import torchplug
        for record in (profile(), torch.autograd.profiler.profile(use_device=device.type)):
            with record:
                torch.ones(3) + 1
        print(torchplug._C.is_loaded(), [e.count for e in record.key_averages() if e.key == "aten::add"])
        """,
            device,
        ).splitlines()[-1]
        == "False [1]"
    )


def test_a_device_first_used_within_a_profile_is_traced(device):
    assert (
        output_of(
            """
        from torch.profiler import profile
        with profile() as record:
            x = torch.ones(3, device=device).relu()
        kernels = [e.name for e in record.events() if e.device_type == torch.autograd.DeviceType.PrivateUse1]
        print(sum("relu" in name for name in kernels))
        """,
            device,
        ).splitlines()[-1]
        == "1"
    )


def test_a_fork_within_a_profile_harms_nobody(device):
    assert (
        output_of(
            """
        import os
        from torch.profiler import profile
        x = torch.ones(3, device=device)
        with profile() as record:
            x.relu()
            child = os.fork()
            if child == 0:
                torch.ones(3) + 1
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            x.relu()
        print(status, [e.count for e in record.key_averages() if e.key == "aten::relu"])
        """,
            device,
        ).splitlines()[-1]
        == "0 [2]"
    )


def test_workers_that_load_data_are_forked_within_a_profile(device, trace_of):
    data = torch.utils.data.TensorDataset(torch.arange(8.0))

    def body():
        for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2):
            batch.to(device).relu()

    assert len(trace_of(body).of("kernel", name="relu")) == 2


@pytest.mark.accelerator("its work can be timed by events", only="sim")
@pytest.mark.skipif("TORCHPLUG_SIM_PROFILER" in os.environ, reason="this is that")
def test_all_of_it_holds_when_events_give_the_times():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    environment = {**os.environ, "TORCHPLUG_SIM_PROFILER": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
