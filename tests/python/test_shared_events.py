"""An event recorded in one process is waited for in another."""

import functools
import os
import signal
import threading

import pytest
import sharing_child
import torch
from helpers import TIMEOUT, fork_server
from sharing_child import Child
from torch import multiprocessing

import torchplug.testing

pytestmark = pytest.mark.accelerator("its plugin can share events", only="sim")

hold = functools.partial(torchplug.testing.hold, limit=20)


@pytest.fixture(scope="module")
def context():
    return fork_server()


@pytest.fixture(scope="module")
def child(context):
    made = Child(context)
    yield made
    made.end()


def test_it_is_an_event_like_any_other(device, module):
    event = module.Event(interprocess=True)
    assert isinstance(event, module.Event) and isinstance(event, torch.Event)
    assert event.query() and event.device == device
    torch.ones(3, device=device).add_(1)
    event.record()
    event.synchronize()
    assert event.query()


def test_the_parent_waits_for_the_childs_record(device, module, child):
    event, x = module.Event(interprocess=True), torch.zeros(2, device=device)
    x * 1  # the first call of an operator may wait
    child(sharing_child.record_behind_a_gate, event, x)
    side = module.Stream()
    side.wait_event(event)
    with module.stream(side):
        y = x * 1
    assert side.query() is False and event.query() is False
    child(sharing_child.open_the_gate)
    side.synchronize()
    assert y.tolist() == [1, 1] and event.query()


def test_synchronize_waits_for_the_childs_record(device, module, child):
    event, x = module.Event(interprocess=True), torch.zeros(2, device=device)
    child(sharing_child.record_behind_a_gate, event, x)
    reached = []

    def wait():
        event.synchronize()
        reached.append(event.query())

    waiting = threading.Thread(target=wait)
    waiting.start()
    child(sharing_child.open_the_gate)
    waiting.join()
    assert reached == [True] and x.tolist() == [1, 1]


def test_the_child_waits_for_the_parents_record(device, module, child):
    x = torch.zeros(2, device=device)
    x.add_(0)  # the first call of an operator may wait
    child(sharing_child.keep, x)  # sending waits for the device, so it is sent before the work
    event = module.Event(interprocess=True)
    sent = event.ipc_handle()
    with hold(module.current_stream()):
        x.add_(1)
        event.record()
        assert child(sharing_child.copy_what_is_kept_after, sent) is False
        assert event.query() is False
    assert child(sharing_child.kept_values) == [[1, 1], [1, 1]]
    child(sharing_child.let_go)


def test_a_handle_opens_the_same_event(device, module):
    event = module.Event(interprocess=True)
    same = module.Event.from_ipc_handle(device, event.ipc_handle())
    with hold(module.current_stream()):
        event.record()
        assert same.query() is False
    same.synchronize()
    assert event.query()


def test_a_process_that_ends_before_its_record_is_reached_holds_up_nobody(device, module, context):
    mortal = Child(context)
    event, x = module.Event(interprocess=True), torch.zeros(2, device=device)
    mortal(sharing_child.record_behind_a_gate, event, x)
    assert event.query() is False
    os.kill(mortal.process.pid, signal.SIGKILL)
    event.synchronize()
    assert event.query()
    mortal.process.join()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_it_goes_as_an_argument_of_a_new_process(module, method):
    context = fork_server() if method == "forkserver" else multiprocessing.get_context(method)
    event, recorded, seen = module.Event(interprocess=True), context.Event(), context.Event()
    process = context.Process(target=sharing_child.record_until, args=(event, recorded, seen))
    process.start()
    try:
        assert recorded.wait(TIMEOUT), "it could not record the event"
        assert event.query() is False
    finally:
        seen.set()
        process.join(TIMEOUT)
    event.synchronize()
    assert event.query() and process.exitcode == 0


def test_what_cannot_be_shared_is_refused(module, other_device):
    with pytest.raises(ValueError, match="enable_timing"):
        module.Event(interprocess=True, enable_timing=True)
    with pytest.raises(NotImplementedError):
        module.Event().ipc_handle()
    with pytest.raises(ValueError, match="not of"):
        module.Event.from_ipc_handle(other_device, module.Event(interprocess=True).ipc_handle())
