"""torch.accelerator and torch.<device>: devices, streams, events and memory by PyTorch's names."""

import functools
import threading

import pytest
import torch
from helpers import assert_equal, still_works

import torchplug.testing

pytestmark = pytest.mark.accelerator("the CPU is not an accelerator")

MIB = 1 << 20

hold = functools.partial(torchplug.testing.hold, limit=20)


@pytest.fixture
def back_to_the_first_device():
    yield
    torch.accelerator.set_device_index(0)


# ---- what there is ----


def test_the_device_is_the_accelerator(device):
    assert torch.accelerator.is_available() is True
    assert torch.accelerator.current_accelerator() == torch.device(device.type)
    assert torch.accelerator.current_accelerator(check_available=True).type == device.type


def test_the_number_of_devices_is_the_same_everywhere(device, module):
    expected = {"sim": 2, "hello": 1}.get(device.type, torch.accelerator.device_count())
    assert torch.accelerator.device_count() == module.device_count() == expected


def test_torch_has_a_module_named_after_the_device(device, module):
    assert getattr(torch, device.type) is module
    assert module.is_available() is True
    assert torch.get_device_module() is module
    assert torch._C._get_privateuse1_backend_name() == device.type


def test_a_device_can_be_written_in_every_way(device):
    name = device.type
    assert torch.device(name).index is None
    assert torch.device(f"{name}:0") == torch.device(name, 0)
    for where in (name, f"{name}:0", torch.device(name), torch.device(name, 0), 0):
        assert torch.zeros(1, device=where).device == torch.device(name, 0)


def test_a_tensor_says_where_it_is(device):
    x = torch.zeros(1, device=device)
    assert x.get_device() == 0
    assert x.device.type == device.type and x.device.index == 0
    assert getattr(x, f"is_{device.type}") and not x.is_cpu and not x.is_cuda
    assert x.layout == torch.strided and x.is_leaf
    assert not getattr(torch.zeros(1), f"is_{device.type}")


def test_float32_is_among_the_dtypes_of_the_device_and_all_of_them_convert(device):
    supported = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert torch.float32 in supported
    for dtype in supported:
        assert torch.ones(2, device=device).to(dtype).to(torch.float32).tolist() == [1.0, 1.0]


# ---- the current device ----


def test_the_first_device_is_current(module):
    assert torch.accelerator.current_device_index() == module.current_device() == 0


def test_setting_the_device_holds_everywhere(
    device, other_device, module, back_to_the_first_device
):
    torch.accelerator.set_device_index(1)
    assert torch.accelerator.current_device_index() == module.current_device() == 1
    assert torch.zeros(1, device=device.type).device == other_device
    assert torch.zeros(1, device=device).device == device
    for argument in (0, device, str(device)):
        module.set_device(1)
        module.set_device(argument)
        assert torch.accelerator.current_device_index() == 0
    torch.accelerator.set_device_index(other_device)
    assert module.current_device() == 1


def test_a_context_selects_a_device_and_gives_it_back(device, other_device, module):
    for argument in (1, other_device, str(other_device)):
        with module.device(argument):
            assert module.current_device() == 1
            assert torch.zeros(1, device=device.type).device == other_device
        assert module.current_device() == 0
    with torch.accelerator.device_index(1):
        assert torch.accelerator.current_device_index() == 1
        with torch.accelerator.device_index(None):
            assert torch.accelerator.current_device_index() == 1
    assert torch.accelerator.current_device_index() == 0


def test_a_context_gives_the_device_back_after_an_error(other_device, module):
    with pytest.raises(ValueError, match="mine"), module.device(1):
        raise ValueError("mine")
    assert module.current_device() == 0


def test_operators_run_where_their_arguments_are(device, other_device, module):
    x = torch.ones(3, device=other_device)
    assert module.current_device() == 0
    assert (x + 1).device == other_device
    assert torch.zeros_like(x).device == other_device
    assert x.sum().item() == 3.0
    with module.device(1):
        assert (torch.ones(3, device=device) * 2).device == device
    assert module.current_device() == 0


def test_the_current_device_belongs_to_a_thread(other_device, module, back_to_the_first_device):
    seen = []
    module.set_device(1)

    def look():
        seen.append(module.current_device())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [0] and module.current_device() == 1


def test_two_devices_compute_side_by_side(device, other_device):
    x, y = torch.ones(50, 50, device=device), torch.full((50, 50), 2.0, device=other_device)
    for _ in range(20):
        x, y = x @ x / 50, y @ y / 100
    assert_equal(x, torch.ones(50, 50))
    assert_equal(y, torch.full((50, 50), 2.0))


@pytest.mark.parametrize("index", [9, -1])
def test_a_device_that_does_not_exist_is_refused(module, index, back_to_the_first_device):
    if index >= 0:
        with pytest.raises((RuntimeError, ValueError)):
            torch.accelerator.set_device_index(index)
        with pytest.raises((RuntimeError, ValueError)):
            torch.accelerator.synchronize(index)
    else:  # PyTorch: a negative index changes nothing
        torch.accelerator.set_device_index(index)
    assert module.current_device() == 0


# ---- waiting ----


def test_synchronize_takes_every_way_to_name_a_device(device, module):
    x = torch.ones(100, 100, device=device)
    for argument in ((), (0,), (device,), (str(device),), (device.type,)):
        torch.accelerator.synchronize(*argument)
    for argument in ((), (0,), (device,)):
        module.synchronize(*argument)
    assert (x @ x)[0, 0].item() == 100.0


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_synchronize_waits_for_the_device_it_is_given(device, other_device, module):
    stream = torch.accelerator.current_stream(1)
    with hold(stream):
        torch.accelerator.synchronize(0)
        assert stream.query() is False
    with hold(stream, limit=0.1), pytest.raises(RuntimeError, match="was not opened"):
        torch.accelerator.synchronize(1)
    assert stream.query() is True


# ---- streams and events ----


@pytest.mark.accelerator("streams are real or absent", only="sim")
class TestStreams:
    def test_the_current_stream_is_the_default_one(self, device, module):
        stream = torch.accelerator.current_stream()
        assert isinstance(stream, torch.Stream)
        assert stream.device == device
        assert stream == module.current_stream()
        assert stream.stream_id == 0

    def test_a_new_stream_is_not_the_default_one(self, device, module):
        streams = [module.Stream() for _ in range(3)]
        assert len({s.stream_id for s in streams} | {module.current_stream().stream_id}) == 4
        assert all(s.device == device and isinstance(s, torch.Stream) for s in streams)

    def test_a_context_selects_a_stream_and_gives_it_back(self, module):
        default, stream = module.current_stream(), module.Stream()
        with module.stream(stream):
            assert module.current_stream() == stream
            assert torch.accelerator.current_stream() == stream
        assert module.current_stream() == default
        with stream:
            assert module.current_stream() == stream
        assert module.current_stream() == default
        with module.stream(None):
            assert module.current_stream() == default

    def test_set_stream_holds_until_it_is_set_again(self, module):
        default, stream = module.current_stream(), module.Stream()
        torch.accelerator.set_stream(stream)
        assert module.current_stream() == stream
        torch.accelerator.set_stream(default)
        assert module.current_stream() == default

    def test_a_stream_belongs_to_its_device(self, device, other_device, module):
        stream = torch.Stream(device=other_device)
        assert stream.device == other_device
        with stream:
            assert module.current_device() == 1
            assert torch.ones(2, device=device.type).device == other_device
        assert module.current_device() == 0

    def test_the_current_stream_belongs_to_a_thread(self, module):
        seen, default = [], module.current_stream()
        with module.stream(module.Stream()):
            thread = threading.Thread(target=lambda: seen.append(module.current_stream()))
            thread.start()
            thread.join()
        assert seen == [default]

    def test_an_idle_stream_and_an_unrecorded_event_are_done(self, device, module):
        stream, event = module.Stream(), module.Event()
        stream.synchronize()
        assert stream.query() is True
        assert event.query() is True
        event.synchronize()
        assert still_works(device)

    def test_an_event_marks_a_place_in_a_stream(self, device, module):
        before, after = module.Event(), module.Event()
        x = torch.ones(4, device=device)
        x + 1  # the first call of an operator may wait
        before.record()
        with hold(module.current_stream()):
            y = x + 1
            after.record()
            before.synchronize()
            assert before.query() is True and after.query() is False
        after.synchronize()
        assert after.query() is True
        assert y.tolist() == [2.0] * 4

    def test_record_event_and_wait_event(self, device, module):
        stream = module.Stream()
        x = torch.ones(4, device=device)
        x + 1
        with hold(module.current_stream()):
            x = x + 1
            event = module.current_stream().record_event()
            stream.wait_event(event)
            with module.stream(stream):
                y = x + 1
            assert stream.query() is False
        module.current_stream().wait_stream(stream)
        assert y.tolist() == [3.0] * 4

    def test_elapsed_time_is_between_two_recorded_events(self, device, module):
        start, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
        start.record()
        x = torch.ones(500, 500, device=device)
        for _ in range(10):
            x = x @ x / 500
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) > 0

    def test_elapsed_time_without_timing_is_an_error(self, module):
        start, end = module.Event(), module.Event()
        start.record(), end.record()
        end.synchronize()
        with pytest.raises((RuntimeError, ValueError), match="timing"):
            start.elapsed_time(end)

    def test_generic_events_and_streams_are_those_of_the_device(self, device):
        stream, event = torch.Stream(device=device), torch.Event(device=device)
        assert stream.device == device and event.device.type == device.type
        stream.record_event(event)
        event.synchronize()
        assert event.query() is True


def test_the_current_stream_names_its_device(device):
    stream = torch.accelerator.current_stream()
    assert stream.device == device
    stream.synchronize()
    assert stream.query() is True


# ---- memory ----


@pytest.mark.pytorch("there is no torch.accelerator.empty_host_cache", since=(2, 12))
def test_host_memory_can_be_given_back(device):
    x = torch.zeros(MIB).pin_memory()
    del x
    torch.accelerator.empty_host_cache()
    assert torch.ones(3).pin_memory().to(device).tolist() == [1.0, 1.0, 1.0]


def test_tensors_of_every_size_keep_their_values(device):
    sizes = [0, 1, 7, 511, 512, 513, 4096, 100_003, MIB, 5 * MIB + 3]
    kept = [
        torch.full((size,), i, dtype=torch.uint8, device=device) for i, size in enumerate(sizes)
    ]
    for i, (x, size) in enumerate(zip(kept, sizes, strict=True)):
        assert torch.equal(x.cpu(), torch.full((size,), i, dtype=torch.uint8))


def test_allocation_from_many_threads(device):
    errors = []

    def work(value):
        for size in range(1, 60):
            x = torch.full((size * 37,), float(value), device=device)
            if (x + 1).sum().item() != size * 37 * (value + 1):
                errors.append((value, size))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
