"""Warnings of PyTorch's CPU kernels reach Python's filters, also when the kernel runs on a stream's thread.

`var` of one element warns at every call; after its first call the work is only enqueued.
"""

import threading
import time
import warnings

import pytest
import torch
from helpers import capture, run_python

import torchplug.testing

pytestmark = pytest.mark.filterwarnings("always")
MESSAGE = "degrees of freedom is <= 0"


@pytest.fixture
def one(device):
    """One element whose variance has been asked for before."""
    x = torch.ones(1, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x.var().item()
        x.var().item()
    return x


def wait_for_event(module):
    event = module.Event()
    event.record()
    event.synchronize()


WAITS = {
    "torch.<device>.synchronize": lambda module: module.synchronize(),
    "torch.accelerator.synchronize": lambda module: torch.accelerator.synchronize(),
    "Stream.synchronize": lambda module: module.current_stream().synchronize(),
    "Event.synchronize": wait_for_event,
    "item": lambda module: torch.ones(1, device=torch.accelerator.current_accelerator()).item(),
}


@pytest.fixture(params=WAITS)
def wait(request, module):
    return lambda: WAITS[request.param](module)


def heard_in(body):
    """How many of these warnings a body causes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        body()
    return len([warning for warning in caught if MESSAGE in str(warning.message)])


def test_every_call_that_warns_is_heard_of_by_the_end_of_the_next_wait(one, wait):
    def body():
        one.var()
        one.var()
        wait()

    assert heard_in(body) == 2


def test_a_filter_that_makes_errors_of_warnings_stops_the_call_or_the_wait(one, wait):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=MESSAGE):
            one.var()
            wait()
        wait()  # it was raised once


def test_an_ignored_warning_is_neither_raised_nor_printed(one, module, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.var()
        module.synchronize()
    assert MESSAGE not in capfd.readouterr().err


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_the_call_itself_does_not_wait_for_its_warning(one, module):
    with torchplug.testing.hold(module.current_stream(), limit=20):
        assert heard_in(one.var) == 0
    assert heard_in(module.synchronize) == 1


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_a_wait_leaves_the_warnings_of_other_threads_to_them(one, module):
    called, waited = threading.Event(), threading.Event()
    heard = []

    def other():
        one.var()
        called.set()
        waited.wait(20)
        heard.append(heard_in(module.synchronize))

    thread = threading.Thread(target=other)
    thread.start()
    called.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.synchronize()
    waited.set()
    thread.join()
    assert heard == [1]


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_the_warnings_of_a_thread_that_has_ended_go_to_who_waits_next(one, module):
    thread = threading.Thread(target=one.var)
    thread.start()
    thread.join()  # from Python: the thread hands its warnings over a moment later, when its C++ part ends
    end = time.monotonic() + 20
    heard = 0
    while heard == 0 and time.monotonic() < end:
        heard = heard_in(module.synchronize)
    assert heard == 1
    assert heard_in(module.synchronize) == 0


class WarnsInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        gradient.var()
        return gradient


def test_the_warnings_of_a_backward_pass_go_to_who_waits_next(one, module):
    x = one.clone().requires_grad_()

    def body():
        WarnsInBackward.apply(x).backward(one)
        module.synchronize()

    assert heard_in(body) == 1


@pytest.mark.accelerator("graphs are captured on streams", only="sim")
def test_every_replay_of_a_graph_warns(one, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, _ = capture(module, one.var)

    def body():
        graph.replay()
        module.synchronize()

    assert [heard_in(body), heard_in(body)] == [1, 1]


def test_blocking_launches_warn_in_the_call(device):
    done = run_python(
        """
        import warnings
        x = torch.ones(1, device=device)
        for _ in range(3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                x.var()
            print(len(caught))
        """,
        device,
        TORCHPLUG_LAUNCH_BLOCKING=1,
    )
    assert done.stdout.split() == ["1", "1", "1"], done.stderr


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_a_program_that_never_waits_prints_its_warnings_when_it_ends(device):
    done = run_python(
        """
        import warnings
        warnings.simplefilter("ignore")
        x = torch.ones(1, device=device)
        x.var().item()
        x.var()
        """,
        device,
    )
    assert MESSAGE in done.stderr
