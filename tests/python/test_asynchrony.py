"""The caller only enqueues; order, errors and memory are right all the same.

A gate holds the stream meanwhile, so that nothing has run by then and whoever waits is found out.
"""

import contextlib
import functools
import threading

import pytest
import torch
from helpers import assert_equal, assert_same, output_of, run_python, still_works
from vendors import shadow

import torchplug.testing

pytestmark = pytest.mark.accelerator("streams run beside the caller", only="sim")

# After the limit a secret wait has made the gate give way: the stream is no longer held, or fails.
hold = functools.partial(torchplug.testing.hold, limit=20)


@pytest.fixture
def here(module):
    """The stream that work goes to unless a test says otherwise."""
    return module.current_stream()


# ---- the caller does not wait ----


def test_enqueueing_returns_before_the_work_is_done(device, module, here):
    x = torch.full((4, 4), 2.0, device=device)
    x @ x  # the first call of an operator may wait
    with hold(here):
        result = x @ x
        assert here.query() is False
    module.synchronize()
    assert here.query() is True
    assert_equal(result, torch.full((4, 4), 16.0))


def test_an_event_after_the_work_is_unfinished_until_it_is_waited_for(device, module, here):
    event = module.Event()
    x = torch.full((4, 4), 2.0, device=device)
    x @ x
    with hold(here):
        result = x @ x
        event.record()
        assert event.query() is False
    event.synchronize()
    assert event.query() is True
    assert_equal(result, torch.full((4, 4), 16.0))


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.relu(),
        lambda x: torch.erfinv(x),
        lambda x: x.t().contiguous(),
        lambda x: x.clone(),
        lambda x: x.double(),
        lambda x: x.add_(1),
        lambda x: x[::2].zero_(),
        lambda x: torch.rand_like(x),
        lambda x: torch.nn.functional.dropout(x),
        lambda x: x.sum(0),
        lambda x: torch.cat([x, x]),
        lambda x: x.softmax(0),
    ],
    ids=[
        "kernel",
        "borrow",
        "contiguous",
        "clone",
        "convert",
        "in_place",
        "view",
        "fill",
        "dropout",
        "sum",
        "cat",
        "softmax",
    ],
)
def test_kernels_borrowed_operators_and_copies_are_all_enqueued(device, here, use):
    use(torch.ones(4, 4, device=device))  # its first call may wait
    x = torch.ones(4, 4, device=device)
    with hold(here):
        use(x)
        assert here.query() is False


def test_a_copy_from_pinned_memory_is_enqueued(device, here):
    source = torch.arange(1000.0).pin_memory()
    with hold(here):
        target = source.to(device, non_blocking=True)
        assert here.query() is False
    assert_equal(target, torch.arange(1000.0))


def test_a_backward_pass_is_enqueued(device, here):
    leaf = torch.ones(8, 8, device=device, requires_grad=True)
    (leaf @ leaf).sum().backward()
    leaf.grad = None
    with hold(here):
        (leaf @ leaf).sum().backward()
        assert here.query() is False
    assert_equal(leaf.grad, torch.full((8, 8), 16.0))


# ---- asynchronous and blocking runs agree ----

MIX = """
import hashlib, random
from torch.nn import functional as F

torch.manual_seed(0)
chance = random.Random(0)
pool = [torch.randn(16, 16).to(device) for _ in range(6)]
index = torch.randperm(16).to(device)
ops = [
    lambda a, b: a + b,
    lambda a, b: (a @ b).tanh(),
    lambda a, b: a.relu() - b,
    lambda a, b: a.t().contiguous(),
    lambda a, b: a.softmax(1) * b,
    lambda a, b: F.layer_norm(a, (16,)),
    lambda a, b: a[index],
    lambda a, b: torch.where(a > b, a, b),
    lambda a, b: a.clone().index_add_(0, index, b.sigmoid()),
    lambda a, b: a.sort(1).values,
    lambda a, b: torch.cat([a[:8], b[8:]]),
    lambda a, b: a.cumsum(0).clamp(-3, 3),
    lambda a, b: F.dropout(a, 0.3),
    lambda a, b: torch.randn_like(a) + b,
    lambda a, b: a.clone().masked_fill_(b > 0, 0.5),
    lambda a, b: a.double().mul(2).float().sin(),
    lambda a, b: F.conv1d(a[None], b[:, :, None].expand(16, 16, 3), padding=1)[0].tanh(),
    lambda a, b: a.clone().copy_(b.t()).mul_(0.5),
    lambda a, b: a.var(1, keepdim=True) + b,
    lambda a, b: torch.linalg.qr(a)[1] if a.sum().item() > 0 else b.exp().clamp(max=2),
]
for _ in range(200):
    a, b = chance.choice(pool), chance.choice(pool)
    pool[chance.randrange(6)] = ops[chance.randrange(len(ops))](a, b)

def digest(tensors):
    return hashlib.sha256(b"".join(t.detach().cpu().numpy().tobytes() for t in tensors)).hexdigest()

print(digest(pool))

torch.manual_seed(1)
net = torch.nn.Sequential(
    torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.GELU(), torch.nn.Dropout(0.2),
    torch.nn.Linear(32, 4),
).to(device)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
x, y = torch.randn(24, 16).to(device), torch.randint(0, 4, (24,)).to(device)
losses = []
for _ in range(15):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss)
print(digest([*losses, *net.state_dict().values()]))
"""


def test_a_blocking_run_gives_the_same_bits(device):
    asynchronous = output_of(MIX, device, TORCHPLUG_LAUNCH_BLOCKING="0")
    assert output_of(MIX, device, TORCHPLUG_LAUNCH_BLOCKING="1") == asynchronous
    assert output_of(MIX, device, TORCHPLUG_LAUNCH_BLOCKING="0") == asynchronous
    assert len(asynchronous.split()) == 2


def test_a_blocking_run_waits_for_every_call(tmp_path):
    code = """
        import ctypes
        library = ctypes.CDLL(sys.argv[2])
        x = torch.ones(4, 4, device=device)
        x @ x, x.erfinv(), x.t().contiguous()
        torch.accelerator.synchronize()
        for call in (lambda: x @ x, lambda: x.erfinv(), lambda: x.t().contiguous()):
            before = library.shadow_count(b"stream_sync")
            call()
            print(library.shadow_count(b"stream_sync") - before)
    """
    path, settings = shadow(tmp_path)
    waits = {
        blocking: output_of(code, "shadow", path, **settings, TORCHPLUG_LAUNCH_BLOCKING=blocking)
        for blocking in (0, 1)
    }
    assert waits == {0: "0\n0\n0", 1: "1\n1\n1"}


# ---- errors ----


def test_an_error_of_the_device_surfaces_at_the_next_wait_with_its_type_and_text(
    device, module, here
):
    x = torch.arange(4.0, device=device)
    index = torch.tensor([0, 10], device=device)
    x[index * 0]  # the first call may wait
    with hold(here):
        x[index]
    with pytest.raises(IndexError, match="index 10 is out of bounds for dimension 0 with size 4"):
        module.synchronize()
    module.synchronize()  # it is raised once
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert still_works(device)


@pytest.mark.parametrize("wait", ["item", "cpu", "stream", "event", "device"])
def test_every_way_to_wait_raises_the_error(device, module, wait):
    x = torch.arange(4.0, device=device)
    index = torch.tensor([10], device=device)
    event = module.Event()
    with pytest.raises(IndexError, match="out of bounds"):
        y = x[index]
        event.record()
        {
            "item": lambda: y.sum().item(),
            "cpu": lambda: y.cpu(),
            "stream": lambda: module.current_stream().synchronize(),
            "event": lambda: event.synchronize(),
            "device": lambda: module.synchronize(),
        }[wait]()
    with contextlib.suppress(IndexError):  # each stream and device may have its own say
        module.synchronize()
    assert still_works(device)


def test_work_after_an_error_is_right(device, module):
    x = torch.arange(4.0, device=device)
    for _ in range(10):
        with pytest.raises(IndexError, match="out of bounds"):
            x[torch.tensor([99], device=device)]
            module.synchronize()
        assert (x * 2).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_an_error_on_one_device_is_not_one_of_the_other(device, other_device, module):
    y = torch.ones(3, device=other_device) + 1
    with pytest.raises(IndexError, match="out of bounds"):
        torch.arange(4.0, device=device)[torch.tensor([99], device=device)]
        module.synchronize(0)
    module.synchronize(1)
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_an_error_nobody_waited_for_does_not_crash_at_exit(device):
    code = """
        x = torch.arange(4.0, device=device)
        try:
            x[torch.tensor([99], device=device)]
        except IndexError:
            pass
        print("end")
    """
    done = run_python(code, device)
    assert done.stdout.strip() == "end"
    assert done.returncode >= 0, "ended by a signal"


def test_a_process_may_end_with_work_queued(device):
    """The gate is never let go of, so that it is still shut when the device is shut down."""
    code = """
        import ctypes, torchplug.testing
        x = torch.ones(4, 4, device=device)
        x @ x
        gate = torchplug.testing.hold(torch.accelerator.current_stream(), limit=1)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(gate))
        for _ in range(10):
            x = x @ x
        print("end")
    """
    assert output_of(code, device) == "end"


# ---- memory ----


def test_temporaries_freed_while_work_is_queued_keep_their_values(device, here):
    x = torch.arange(1000.0)
    there = x.to(device)

    def add(total, x, i):
        return total + ((x * i).relu() - x).sin() * torch.full_like(x, i)

    total, expected = add(torch.zeros(1000, device=device), there, 0), torch.zeros(1000)
    with hold(here):
        for i in range(300):
            total = add(total, there, i)
            expected = add(expected, x, i)
        assert here.query() is False
    assert_same(total, expected)


def test_freed_and_reallocated_memory_is_not_written_too_early(device, here):
    results = []
    torch.full((4096,), 0.0, device=device) + 1
    with hold(here):
        for i in range(100):
            results.append(torch.full((4096,), float(i), device=device) + 1)
            torch.full((4096,), -1.0, device=device)
        assert here.query() is False
    assert [r[4095].item() for r in results] == [float(i + 1) for i in range(100)]


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda x, s: x + s, 3.0),
        (lambda x, s: s - x, 1.0),
        (lambda x, s: x.mul_(s), 2.0),
        (lambda x, s: torch.where(x > 5, x, s), 2.0),
        (lambda x, s: x.masked_fill(x > 0, s), 2.0),
        (lambda x, s: x.fill_(s), 2.0),
        (lambda x, s: torch.pow(s, x * 3), 8.0),
        (lambda x, s: x.copy_(s), 2.0),
        (lambda x, s: torch._foreach_mul([x], s)[0], 2.0),
    ],
    ids=["add", "rsub", "mul_", "where", "masked_fill", "fill_", "pow", "copy_", "foreach"],
)
def test_a_host_scalar_may_change_once_the_operator_was_called(device, here, use, expected):
    use(torch.ones(64, device=device), torch.tensor(2.0))  # its first call may wait
    scalar = torch.tensor(2.0)
    x = torch.ones(64, device=device)
    with hold(here):
        y = use(x, scalar)
        scalar.fill_(1000.0)
        assert here.query() is False
    assert_equal(y, torch.full((64,), expected))


def use_brackets(x, index, values):
    read = x[index]
    x[index] = values
    return read


def use_operators(x, index, values):
    """Brackets take an index to the device first."""
    read = torch.ops.aten.index(x, [index])
    x.index_put_((index,), values)
    return read


@pytest.mark.parametrize("use", [use_brackets, use_operators])
def test_a_host_index_may_change_once_the_operator_was_called(device, here, use):
    index = torch.tensor([2, 0])
    x, values = torch.arange(4.0, device=device), torch.tensor([20.0, 10.0], device=device)
    use(x.clone(), index, values)  # its first call may wait
    with hold(here) as gate:
        threading.Timer(0.1, gate.open).start()  # the call itself may wait for the device
        read = use(x, index, values)
        index.fill_(3)
    assert read.tolist() == [2.0, 0.0]
    assert x.tolist() == [10.0, 1.0, 20.0, 3.0]


def test_host_memory_may_change_once_a_pageable_copy_was_called(device, here):
    source = torch.arange(5000.0)
    target = torch.empty(5000, device=device)
    with hold(here):
        target.copy_(source, non_blocking=True)
        source.zero_()
        assert here.query() is False
    assert_equal(target, torch.arange(5000.0))


def test_an_input_overwritten_later_in_the_stream_was_read_before(device, here):
    def use(x):
        y = x * 2
        x.zero_()
        return y, x + 5

    use(torch.ones(1000, device=device))  # its first call may wait
    x = torch.ones(1000, device=device)
    with hold(here):
        y, z = use(x)
        assert here.query() is False
    assert_equal([y, z], [torch.full((1000,), 2.0), torch.full((1000,), 5.0)])


# ---- streams ----


@pytest.mark.parametrize("held", ["here", "side"])
def test_wait_stream_orders_two_streams(device, module, here, held):
    """Each stands still because the other one does."""
    side = module.Stream()
    x = torch.zeros(1000, device=device)
    x.add_(0).mul(2) + 1  # the first calls may wait
    module.synchronize()
    with hold({"here": here, "side": side}[held]):
        x.add_(1)
        side.wait_stream(here)
        with side:
            y = x * 2
        here.wait_stream(side)
        z = y + 1
        assert here.query() is False and side.query() is False
    assert_equal(z, torch.full((1000,), 3.0))


def test_events_order_a_chain_over_many_streams(device, module, here):
    streams = [module.Stream() for _ in range(4)]
    x = torch.zeros(1000, device=device)
    x.mul_(2).add_(0)
    module.synchronize()
    with hold(here):
        previous = here.record_event()
        for i in range(40):
            stream = streams[i % 4]
            stream.wait_event(previous)
            with stream:
                x.mul_(2).add_(i % 3)
                previous = stream.record_event()
        assert not any(stream.query() for stream in streams)
    previous.synchronize()
    expected = torch.zeros(1000)
    for i in range(40):
        expected.mul_(2).add_(i % 3)
    assert_equal(x, expected)


def test_streams_are_independent(device, module, here):
    stream = module.Stream()
    x = torch.ones(10, device=device)
    assert (x + 1)[0].item() == 2.0
    with hold(here):
        result = x + 1
        with stream:
            assert (x + 1).tolist() == [2.0] * 10
        assert here.query() is False, "the other stream was waited for"
    assert_equal(result, torch.full((10,), 2.0))


def test_record_stream_keeps_memory_for_another_stream(device, module, here):
    stream = module.Stream()
    results = []
    torch.full((100_000,), 0.0, device=device) + 1  # the first calls may wait
    with hold(stream):
        for i in range(10):
            x = torch.full((100_000,), float(i), device=device)
            stream.wait_stream(here)
            with stream:
                results.append(x + 1)
            x.record_stream(stream)
            del x
            torch.full((100_000,), -7.0, device=device)  # may not take the memory of x yet
        here.synchronize()
        assert stream.query() is False
    stream.synchronize()
    for i, result in enumerate(results):
        assert_equal(result, torch.full((100_000,), i + 1.0))


def test_backward_runs_on_the_stream_of_its_forward(device, module, here):
    torch.zeros(100, device=device, requires_grad=True).exp().sum().backward()  # may wait
    leaf = torch.ones(100, device=device, requires_grad=True)
    stream, seen = module.Stream(), []
    leaf.register_hook(lambda gradient: seen.append(module.current_stream()))
    stream.wait_stream(here)
    with hold(stream):
        with stream:
            y = leaf.exp().sum()
        y.backward()  # needs what exp() will have given
        assert stream.query() is False and seen == [stream]
    here.wait_stream(stream)
    assert_equal(leaf.grad, torch.ones(100).exp())


def test_threads_enqueue_on_streams_of_their_own(device, module):
    errors = []

    def work(value):
        with module.stream(module.Stream()):
            x = torch.full((200,), float(value), device=device)
            for _ in range(50):
                x = (x + 1).relu() - 1
            if x.tolist() != [float(value)] * 200:
                errors.append(value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_stream_costs_few_threads(device):
    code = """
        import os
        module = torch.get_device_module(device)
        torch.ones(4, device=device).sum().item()
        before = len(os.listdir("/proc/self/task"))
        with module.stream(module.Stream()):
            torch.ones(4, device=device).sum().item()
        print(len(os.listdir("/proc/self/task")) - before)
    """
    assert int(output_of(code, device)) <= 8


def test_a_new_number_does_not_make_the_caller_wait(device, here):
    x = torch.zeros(4, device=device)
    x.fill_(2)
    with hold(here):
        for number in (3, 0, 1, -1, 1000, 5):
            x.fill_(number)
        assert here.query() is False
    assert x.tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x * x,
        lambda x: x + x,
        torch.exp,
        lambda x: x.neg_(),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(0),
    ],
    ids=["mul", "add", "exp", "neg_", "cumsum", "softmax"],
)
def test_a_new_size_does_not_make_the_caller_wait(device, here, use):
    x = torch.arange(1.0, 9.0) / 8
    there = x.to(device)
    use(there[:2].clone())
    parts = [(x[:n].clone(), there[:n].clone()) for n in range(3, 8)]
    with hold(here):
        results = [use(part) for _, part in parts]
        assert here.query() is False
    for result, (part, _) in zip(results, parts, strict=True):
        assert_equal(result, use(part))


def test_a_failure_nobody_waited_for_is_printed_at_exit(device):
    code = """
    x = torch.ones(4, device=device)
    index = torch.tensor([1], device=device)
    x.gather(0, index)
    x.gather(0, index + 100)
    """
    result = run_python(code, device)
    assert "index 101 is out of bounds" in result.stderr
    assert "was never waited for" in result.stderr
