"""A profile from its beginning to its end: schedules, what is chosen, forks, errors, other profilers."""

import pytest
import torch
from helpers import output_of, still_works
from torch.profiler import ProfilerActivity, profile, schedule
from traces import ACTIVITIES, Trace, rows

pytestmark = pytest.mark.accelerator("the CPU has no device to trace")


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


@pytest.mark.pytorch("traces are written in C++ only", since=(2, 13))
def test_python_can_write_the_trace_too(square, trace_of, tmp_path):
    profiler = trace_of(square.relu).profiler
    path = tmp_path / "python.json"
    profiler.profiler.export_chrome_trace(str(path), use_python_export=True)
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


@pytest.mark.pytorch("whole groups are chosen only", since=(2, 12))
@pytest.mark.parametrize("kind", ["GPU_MEMCPY", "CONCURRENT_KERNEL"])
def test_kinds_of_work_can_be_chosen(square, trace_of, kind):
    def body():
        square.relu().cpu()

    (work,) = trace_of(body, activities=[{ProfilerActivity.PrivateUse1: [kind]}]).work
    assert work["cat"] == {"GPU_MEMCPY": "gpu_memcpy", "CONCURRENT_KERNEL": "kernel"}[kind]


# ---- beginnings and ends ----


def test_profiles_may_follow_each_other_with_and_without_work(square, trace_of):
    assert trace_of(lambda: None).work == []
    assert len(trace_of(square.relu).work) == 1
    assert trace_of(lambda: None).work == []


@pytest.mark.pytorch("profiles cannot be nested, on any device", since=(2, 12))
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
