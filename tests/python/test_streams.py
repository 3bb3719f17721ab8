"""What runs before what, proved with streams that a gate holds: nothing here sleeps and hopes.

While a stream stands at a gate, what was given to it has not happened: another stream that looks at its
memory sees the old values, unless it waits for it, and then it stands still too.
"""

import gc
import json
import sys
import threading

import pytest
import torch
from helpers import assert_equal, output_of, still_works
from vendors import shadow

import torchplug.testing

pytestmark = pytest.mark.accelerator("streams are real or absent", only="sim")

hold = torchplug.testing.hold

SIZE = 5000
OLD, NEW = torch.zeros(SIZE), torch.arange(SIZE, dtype=torch.float32)


@pytest.fixture
def stream(module):
    return module.Stream()


@pytest.fixture
def other(module):
    return module.Stream()


def read_on(stream, tensor):
    """What work on `stream` finds in the tensor now."""
    with stream:
        return tensor.cpu()


# ---- one stream ----

WRITES = {
    "kernel": lambda x, new, pinned: torch.add(new, x, out=x),
    "kernel_in_place": lambda x, new, pinned: x.add_(new),
    "borrowed": lambda x, new, pinned: torch.cumsum(torch.ones_like(x), 0, out=x).sub_(1),
    "borrowed_in_place": lambda x, new, pinned: x.sinh_().sub_(new).neg_(),
    "copy_on_the_device": lambda x, new, pinned: x.copy_(new),
    "copy_of_other_strides": lambda x, new, pinned: (
        x.view(50, 100).t().copy_(new.view(50, 100).t().contiguous())
    ),
    "copy_of_another_type": lambda x, new, pinned: x.copy_(new.double()),
    "copy_from_pinned_memory": lambda x, new, pinned: x.copy_(pinned, non_blocking=True),
}


@pytest.mark.parametrize("way", WRITES)
def test_everything_runs_in_the_order_of_its_stream(device, stream, other, way):
    write, pinned, new = WRITES[way], NEW.clone().pin_memory(), NEW.to(device)
    write(OLD.to(device), new, pinned)  # the first call may wait
    x = OLD.to(device)
    torch.accelerator.synchronize()
    with hold(stream) as gate:
        with stream:
            write(x, new, pinned)
        assert stream.query() is False
        assert_equal(read_on(other, x), OLD)
        gate.open()
        assert_equal(read_on(stream, x), NEW)


def test_work_behind_work_sees_what_it_did(device, stream):
    """Kernel, borrowed operator, copies each way: each needs the result of the one before."""
    x, pinned, back = OLD.to(device), NEW.clone().pin_memory(), torch.zeros(SIZE).pin_memory()
    for held in (False, True):  # the first time may wait
        torch.accelerator.synchronize()
        with stream:
            gate = hold(stream) if held else None
            x.copy_(pinned, non_blocking=True)
            y = torch.relu(x + x)
            y = torch.erf(y).add(y)
            y = y.view(50, 100).t().contiguous()
            back.copy_(y.view(-1), non_blocking=True)
            x.zero_()
            if held:
                assert stream.query() is False
                gate.open()
            stream.synchronize()
    doubled = 2 * NEW
    expected = (doubled.erf() + doubled).view(50, 100).t().contiguous().view(-1)
    assert_equal([back.clone(), x], [expected, OLD])


def test_a_copy_to_pinned_memory_is_done_when_its_turn_comes(device, stream):
    x, landed = NEW.to(device), torch.zeros(SIZE).pin_memory()
    torch.accelerator.synchronize()
    with hold(stream) as gate:
        with stream:
            landed.copy_(x, non_blocking=True)
        assert_equal(landed.clone(), OLD)
        gate.open()
        stream.synchronize()
        assert_equal(landed.clone(), NEW)


def test_a_held_stream_holds_up_neither_the_default_stream_nor_another_device(
    device, other_device, module, stream
):
    default = module.default_stream()
    for held in (stream, default):
        free = [
            s for s in (stream, default, module.Stream(1), module.default_stream(1)) if s != held
        ]
        with hold(held):
            for beside in free:
                with beside:
                    assert still_works(beside.device)
            assert held.query() is False


# ---- two streams ----


@pytest.mark.parametrize("way", ["kernel_in_place", "borrowed", "copy_from_pinned_memory"])
@pytest.mark.parametrize("waits", ["wait_stream", "wait_event", "event_wait", "not"])
def test_only_a_wait_makes_a_reader_see_what_another_stream_writes(
    device, module, stream, other, waits, way
):
    """Without the wait the two streams race, and here the reader always wins."""
    write, pinned, new = WRITES[way], NEW.clone().pin_memory(), NEW.to(device)
    write(OLD.to(device), new, pinned)
    x = OLD.to(device)
    seen = torch.zeros(SIZE).pin_memory()
    torch.accelerator.synchronize()
    with hold(stream) as gate:
        with stream:
            write(x, new, pinned)
        if waits == "wait_stream":
            other.wait_stream(stream)
        elif waits == "wait_event":
            other.wait_event(stream.record_event())
        elif waits == "event_wait":
            event = module.Event()
            event.record(stream)
            event.wait(other)
        with other:
            seen.copy_(x, non_blocking=True)
        if waits == "not":
            other.synchronize()
        assert other.query() is (waits == "not")
        gate.open()
        other.synchronize()
        assert_equal(seen.clone(), OLD if waits == "not" else NEW)


def test_a_wait_reaches_across_devices(device, other_device, module):
    first, second = module.Stream(0), module.Stream(1)
    x = torch.zeros(8, device=device).add_(0)
    torch.ones(8, device=other_device)  # the first call may wait
    module.synchronize(0)
    with hold(first) as gate:
        with first:
            x.add_(5)
        event = first.record_event()
        second.wait_event(event)
        with second:
            y = torch.ones(8, device=other_device)
        assert second.query() is False and event.query() is False
        gate.open()
        second.synchronize()
    assert event.query() is True
    assert x.tolist() == [5.0] * 8 and y.tolist() == [1.0] * 8


def test_a_copy_between_devices_is_in_the_order_of_both(device, other_device, module):
    first, second = module.Stream(0), module.Stream(1)
    x, y = NEW.to(device), OLD.to(other_device)
    y.copy_(x)
    y.zero_()
    torch.accelerator.synchronize(0)
    torch.accelerator.synchronize(1)
    for held in (first, second):
        with hold(held) as gate, first, second:
            y.copy_(x, non_blocking=True)
            y.add_(1)
            assert second.query() is False
            gate.open()
            assert_equal(y, NEW + 1)
            y.zero_()
            second.synchronize()


def test_a_wait_is_for_the_record_made_before_it(device, module, stream, other):
    event = module.Event()
    event.record(stream)
    with hold(stream) as gate:
        other.wait_event(event)  # of the first record
        event.record(stream)
        other.synchronize()
        assert event.query() is False
        late = module.Stream()
        late.wait_event(event)  # of the second
        event.record(other)
        event.synchronize()
        assert late.query() is False, "recording again let an earlier waiter go"
        gate.open()
        late.synchronize()


# ---- events ----


def test_an_event_that_was_never_recorded_is_done_and_holds_up_nobody(module, stream):
    event = module.Event()
    assert event.query() is True
    event.synchronize()
    stream.wait_event(event)
    event.wait(stream)
    stream.synchronize()


def test_time_is_refused_until_both_events_are_done(module, stream):
    start, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
    with pytest.raises((RuntimeError, ValueError), match="recorded"):
        start.elapsed_time(end)
    start.record(stream)
    start.synchronize()
    with hold(stream) as gate:
        end.record(stream)
        with pytest.raises((RuntimeError, ValueError), match=r"(?i)complete"):
            start.elapsed_time(end)
        gate.open()
    end.synchronize()
    assert start.elapsed_time(end) >= 0.0
    plain = module.Event()
    plain.record(stream)
    plain.synchronize()
    with pytest.raises((RuntimeError, ValueError), match=r"(?i)timing"):
        start.elapsed_time(plain)


def test_an_event_belongs_to_the_device_it_was_recorded_on(other_device, module):
    event = module.Event()
    event.record(module.Stream(1))
    assert event.device == other_device
    with pytest.raises(RuntimeError, match="device"):
        event.record(module.Stream(0))


def test_pytorchs_generic_streams_and_events_are_the_devices(device, module, stream):
    generic = torch.Stream(device=device.type)
    event = torch.Event(device=device.type, enable_timing=True)
    x = torch.zeros(4, device=device)
    torch.accelerator.synchronize()
    with hold(generic) as gate:
        torch.accelerator.set_stream(generic)
        assert torch.accelerator.current_stream() == module.current_stream() == generic
        x.add_(1)
        event.record()
        torch.accelerator.set_stream(module.default_stream())
        stream.wait_event(event)
        assert stream.query() is False and event.query() is False
        gate.open()
        torch.accelerator.synchronize()
        assert event.query() is True and stream.query() is True
    assert x.tolist() == [1.0] * 4


# ---- copies keep both ends ----


def test_a_pinned_source_that_nobody_holds_is_kept_until_it_was_read(device, stream):
    torch.accelerator.synchronize()
    with hold(stream) as gate, stream:
        source = NEW.clone().pin_memory()
        x = source.to(device, non_blocking=True)
        del source
        gc.collect()
        for _ in range(4):  # would be given the same memory
            torch.full((SIZE,), -1.0).pin_memory()
        gate.open()
        assert_equal(x, NEW)


def test_a_pinned_target_that_nobody_holds_is_not_given_out_until_it_was_written(device, stream):
    x = NEW.to(device)
    torch.accelerator.synchronize()
    with hold(stream) as gate, stream:
        torch.empty(SIZE).pin_memory().copy_(x, non_blocking=True)
        gc.collect()
        others = [torch.full((SIZE,), -1.0).pin_memory() for _ in range(4)]
        gate.open()
        stream.synchronize()
        for other in others:
            assert_equal(other.clone(), torch.full((SIZE,), -1.0))


def test_a_device_source_that_nobody_holds_is_kept_until_it_was_read(device, stream, other):
    landed = torch.empty(SIZE).pin_memory()
    torch.accelerator.synchronize()
    with hold(stream) as gate:
        with stream:
            landed.copy_(NEW.to(device, copy=True).mul_(1), non_blocking=True)
            gc.collect()
        with other:
            for _ in range(4):
                torch.full((SIZE,), -1.0, device=device)
            other.synchronize()
        gate.open()
        stream.synchronize()
        assert_equal(landed.clone(), NEW)


def test_a_device_target_that_nobody_holds_is_not_given_out_until_it_was_written(
    device, stream, other
):
    pinned = NEW.clone().pin_memory()
    torch.accelerator.synchronize()
    with hold(stream) as gate:
        with stream:
            pinned.to(device, non_blocking=True)
            gc.collect()
        with other:
            taken = [torch.full((SIZE,), -1.0, device=device) for _ in range(4)]
            other.synchronize()
        gate.open()
        stream.synchronize()
        assert_equal(taken, [torch.full((SIZE,), -1.0)] * 4)


def test_a_pinned_copy_and_computation_overlap(device, module, stream, other):
    """Each of two streams gets on while the other stands still."""
    computing, copying = stream, other
    x, pinned, landed = NEW.to(device), NEW.clone().pin_memory(), torch.empty(SIZE).pin_memory()
    target = OLD.to(device)
    (x * 2).relu()
    torch.accelerator.synchronize()
    with hold(computing):
        with copying:
            target.copy_(pinned, non_blocking=True)
            landed.copy_(target, non_blocking=True)
        copying.synchronize()
        assert computing.query() is False
        assert_equal(landed.clone(), NEW)
    with hold(copying):
        with copying:
            target.copy_(pinned, non_blocking=True)
        with computing:
            y = (x * 2).relu()
        assert_equal(read_on(computing, y), 2 * NEW)
        assert copying.query() is False


def test_a_blocking_copy_from_pinned_memory_has_read_it_when_it_returns(device):
    pinned = NEW.clone().pin_memory()
    x = pinned.to(device)
    pinned.zero_()
    assert_equal(x, NEW)


# ---- nothing waits that need not ----

COUNT = """
import ctypes, json, torchplug.testing
library = ctypes.CDLL(sys.argv[2])
module = torch.get_device_module(device)
SYNCS = (b"device_sync", b"stream_sync", b"event_sync")
syncs = lambda: sum(library.shadow_count(name) for name in SYNCS)

x, y = torch.rand(64, 64).to(device), torch.rand(64, 64).to(device)
far = torch.rand(64, 64).to("shadow:1")
pinned, landed = torch.rand(64, 64).pin_memory(), torch.empty(64, 64).pin_memory()
side = module.Stream()
leaf = torch.rand(8, 8).to(device).requires_grad_()
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Dropout()).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
index = torch.tensor([1, 0]).to(device)

def record_and_free():
    z = torch.empty(1000, device=device)
    z.record_stream(side)

def events():
    event = module.Event()
    event.record()
    side.wait_event(event)
    event.query()

def step():
    optimizer.zero_grad()
    net(leaf).sum().backward()
    optimizer.step()

USES = {
    "copy from pinned memory": lambda: x.copy_(pinned, non_blocking=True),
    "to the device": lambda: pinned.to(device, non_blocking=True),
    "copy to pinned memory": lambda: landed.copy_(x, non_blocking=True),
    "copy from ordinary memory": lambda: x.copy_(torch.ones(64, 64)),
    "copy on the device": lambda: x.copy_(y),
    "copy between devices": lambda: x.copy_(far),
    "clone": lambda: x.clone(),
    "contiguous": lambda: x.t().contiguous(),
    "convert": lambda: x.double(),
    "kernel": lambda: torch.relu(x + y),
    "borrowed": lambda: torch.erf(x).softmax(0),
    "in place": lambda: x.sin_().mul_(2),
    "matmul": lambda: x @ y,
    "index": lambda: x[index],
    "factories": lambda: (torch.zeros(9, device=device), torch.randn(9, device=device)),
    "views": lambda: x[3:].t(),
    "fill": lambda: x.fill_(3).zero_(),
    "record_stream": record_and_free,
    "events": events,
    "wait_stream": lambda: side.wait_stream(module.current_stream()),
    "new stream": lambda: module.Stream(),
    "training step": step,
    "query": lambda: side.query(),
    # the other way round, to see that counting works
    "item": lambda: x[0, 0].item(),
    "cpu": lambda: x.cpu(),
}
counts = {}
for name, use in USES.items():
    use(), use()  # the first call of a kind may wait
    module.synchronize()
    before = syncs()
    with torchplug.testing.hold(module.current_stream()) as gate:
        if name in ("item", "cpu"):
            gate.open()
        use()
    counts[name] = syncs() - before
    module.synchronize()
print(json.dumps(counts))
"""


def test_nothing_waits_for_the_device_that_need_not(tmp_path):
    path, settings = shadow(tmp_path)
    counts = json.loads(output_of(COUNT, "shadow", path, **settings))
    assert counts.pop("item") == counts.pop("cpu") == 1
    assert {name: count for name, count in counts.items() if count} == {}


def test_a_staged_operator_runs_after_the_work_before_it_on_its_stream(tmp_path):
    """It has to wait for its stream, and does: it has asked for its copy before the gate opens."""
    code = """
    import ctypes, threading, torchplug, torchplug.testing
    library = ctypes.CDLL(sys.argv[2])
    copies = lambda: library.shadow_count(b"copy")
    module = torch.get_device_module(device)
    stream = module.Stream()
    x, pinned = torch.zeros(1000, device=device), torch.full((1000,), 0.5).pin_memory()
    x.erf()
    module.synchronize()
    with torchplug.testing.hold(stream) as gate:
        with stream:
            x.copy_(pinned, non_blocking=True)
        results = []

        def work():
            with stream:
                results.append(x.erf().cpu())

        before = copies()
        thread = threading.Thread(target=work)
        thread.start()
        while copies() == before and thread.is_alive():
            pass
        print(thread.is_alive(), results)
        gate.open()
        thread.join()
    print(torch.equal(results[0], pinned.erf()))
    print({entry.way for entry in torchplug.ledger() if entry.op == "aten::erf"})
    """
    path, settings = shadow(tmp_path)
    settings["TORCHPLUG_SHADOW_OPAQUE"] = "1"
    assert output_of(code, "shadow", path, **settings).split("\n") == [
        "True []",
        "True",
        "{'stage'}",
    ]


# ---- other threads get on while one waits ----

WAITS = {
    "stream": lambda module, stream, event, x: stream.synchronize(),
    "event": lambda module, stream, event, x: event.synchronize(),
    "device": lambda module, stream, event, x: module.synchronize(),
    "accelerator": lambda module, stream, event, x: torch.accelerator.synchronize(),
    "cpu": lambda module, stream, event, x: x.cpu(),
    "item": lambda module, stream, event, x: x[0].item(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_python_goes_on_while_a_thread_waits_for_the_device(device, module, stream, wait):
    """Threads change here only when one gives way. One that waits and did not would never see the
    gate opened: the gate would have to give way, which is an error."""
    x = torch.ones(4, device=device)
    torch.accelerator.synchronize()
    about_to_wait, errors = threading.Event(), []

    def work():
        try:
            with stream:
                about_to_wait.set()
                WAITS[wait](module, stream, event, x)
        except RuntimeError as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        with hold(stream, limit=20) as gate:
            event = stream.record_event()
            thread = threading.Thread(target=work)
            thread.start()
            about_to_wait.wait()
            assert event.query() is False
            gate.open()
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
