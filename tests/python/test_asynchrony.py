"""The caller only enqueues; order, errors and memory are right all the same."""

import contextlib
import threading

import pytest
import torch
from helpers import assert_equal, assert_same, output_of, run_python, still_works

pytestmark = pytest.mark.accelerator("streams run beside the caller", only="sim")

SIZE = 1536


@pytest.fixture
def large(device):
    """The unit matrix: its product with itself takes the device a while and is exact."""
    matrix = torch.eye(SIZE).to(device)
    (matrix @ matrix).cpu()  # the first call of an operator may wait for it
    return matrix


def occupy(matrix, products=8):
    """Puts work into the current stream that takes far longer than enqueueing it."""
    for _ in range(products):
        matrix = matrix @ matrix
    return matrix


# ---- the caller does not wait ----


def test_enqueueing_returns_before_the_work_is_done(large, module):
    result = occupy(large)
    assert module.current_stream().query() is False
    module.synchronize()
    assert module.current_stream().query() is True
    assert_equal(result, torch.eye(SIZE))


def test_an_event_after_the_work_is_unfinished_until_it_is_waited_for(large, module):
    event = module.Event()
    result = occupy(large)
    event.record()
    assert event.query() is False
    event.synchronize()
    assert event.query() is True
    assert_equal(result, torch.eye(SIZE))


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
def test_kernels_borrowed_operators_and_copies_are_all_enqueued(large, module, use):
    use(torch.ones(4, 4, device=large.device))  # its first call may wait
    module.synchronize()
    small = torch.ones(4, 4, device=large.device)
    occupy(large)
    use(small)
    assert module.current_stream().query() is False
    module.synchronize()


def test_a_copy_from_pinned_memory_is_enqueued(large, module):
    source = torch.arange(1000.0).pin_memory()
    occupy(large)
    target = source.to(large.device, non_blocking=True)
    assert module.current_stream().query() is False
    assert_equal(target, torch.arange(1000.0))


def test_a_backward_pass_is_enqueued(large, module):
    leaf = torch.ones(8, 8, device=large.device, requires_grad=True)
    (leaf @ leaf).sum().backward()
    leaf.grad = None
    module.synchronize()
    y = (leaf @ leaf).sum() + occupy(large)[0, 0]
    y.backward()
    assert module.current_stream().query() is False
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


def test_a_blocking_run_waits_for_every_call(device):
    code = """
        x = torch.full((1024, 1024), 1 / 1024).to(device)
        for _ in range(3):
            x = x @ x
            assert torch.accelerator.current_stream().query() is True
        print("waited")
    """
    assert output_of(code, device, TORCHPLUG_LAUNCH_BLOCKING="1") == "waited"


# ---- errors ----


def test_an_error_of_the_device_surfaces_at_the_next_wait_with_its_type_and_text(large, module):
    x = torch.arange(4.0, device=large.device)
    index = torch.tensor([0, 10], device=large.device)
    with pytest.raises(IndexError, match="index 10 is out of bounds for dimension 0 with size 4"):
        occupy(large)
        x[index]
        module.synchronize()
    module.synchronize()  # it is raised once
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert still_works(large.device)


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
    code = """
        x = torch.full((1024, 1024), 1 / 1024).to(device)
        for _ in range(10):
            x = x @ x
        print("end")
    """
    assert output_of(code, device) == "end"


# ---- memory ----


def test_temporaries_freed_while_work_is_queued_keep_their_values(large):
    x = torch.arange(1000.0)
    there = x.to(large.device)
    occupy(large, 3)
    total, expected = torch.zeros(1000, device=large.device), torch.zeros(1000)
    for i in range(300):
        total = total + ((there * i).relu() - there).sin() * torch.full_like(there, i)
        expected = expected + ((x * i).relu() - x).sin() * torch.full_like(x, i)
    assert_same(total, expected)


def test_freed_and_reallocated_memory_is_not_written_too_early(large):
    results = []
    occupy(large, 3)
    for i in range(100):
        results.append(torch.full((4096,), float(i), device=large.device) + 1)
        torch.full((4096,), -1.0, device=large.device)
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
def test_a_host_scalar_may_change_once_the_operator_was_called(large, use, expected):
    scalar = torch.tensor(2.0)
    x = torch.ones(64, device=large.device)
    occupy(large, 3)
    y = use(x, scalar)
    scalar.fill_(1000.0)
    assert_equal(y, torch.full((64,), expected))


def test_a_host_index_may_change_once_the_operator_was_called(large):
    index = torch.tensor([2, 0])
    x = torch.arange(4.0, device=large.device)
    occupy(large, 3)
    read = x[index]
    x[index] = torch.tensor([20.0, 10.0], device=large.device)
    index.fill_(3)
    assert read.tolist() == [2.0, 0.0]
    assert x.tolist() == [10.0, 1.0, 20.0, 3.0]


def test_host_memory_may_change_once_a_pageable_copy_was_called(large):
    source = torch.arange(5000.0)
    target = torch.empty(5000, device=large.device)
    occupy(large, 3)
    target.copy_(source, non_blocking=True)
    source.zero_()
    assert_equal(target, torch.arange(5000.0))


def test_an_input_overwritten_later_in_the_stream_was_read_before(large):
    x = torch.ones(1000, device=large.device)
    occupy(large, 3)
    y = x * 2
    x.zero_()
    z = x + 5
    assert_equal([y, z], [torch.full((1000,), 2.0), torch.full((1000,), 5.0)])


# ---- streams ----


def test_wait_stream_orders_two_streams(large, module):
    stream = module.Stream()
    x = occupy(large, 4)
    stream.wait_stream(module.current_stream())
    with module.stream(stream):
        y = x * 2
        y = y @ large
    module.current_stream().wait_stream(stream)
    assert_equal(y, 2 * torch.eye(SIZE))


def test_events_order_a_chain_over_many_streams(large, module):
    streams = [module.Stream() for _ in range(4)]
    x = torch.zeros(1000, device=large.device)
    occupy(large, 2)
    module.current_stream().record_event(previous := module.Event())
    for i in range(40):
        stream = streams[i % 4]
        stream.wait_event(previous)
        with module.stream(stream):
            x.mul_(2).add_(i % 3)
            previous = stream.record_event()
    previous.synchronize()
    expected = torch.zeros(1000)
    for i in range(40):
        expected.mul_(2).add_(i % 3)
    assert_equal(x, expected)


def test_streams_are_independent(large, module):
    stream = module.Stream()
    x = torch.ones(10, device=large.device)
    assert (x + 1)[0].item() == 2.0
    result = occupy(large, 16)
    with module.stream(stream):
        y = x + 1
    stream.synchronize()
    assert module.current_stream().query() is False, "the other stream was waited for"
    with module.stream(stream):
        assert y.tolist() == [2.0] * 10
    module.synchronize()
    assert_equal(result, torch.eye(SIZE))


def test_a_wait_is_for_the_record_made_before_it(device):
    """Waiting for a later record of the same event would here be a circle that never ends."""
    code = """
        module = torch.get_device_module(device)
        first, second = module.Stream(), module.Stream()
        event, answer = module.Event(), module.Event()
        x = torch.zeros(4, device=device)
        module.synchronize()
        event.record(first)
        second.wait_event(event)
        with module.stream(second):
            x.add_(1)
        answer.record(second)
        first.wait_event(answer)
        with module.stream(first):
            x.mul_(10)
        event.record(first)
        event.synchronize()
        print(x.tolist())
    """
    assert output_of(code, device) == "[10.0, 10.0, 10.0, 10.0]"


def test_record_stream_keeps_memory_for_another_stream(large, module):
    stream = module.Stream()
    results = []
    for i in range(10):
        x = torch.full((100_000,), float(i), device=large.device)
        stream.wait_stream(module.current_stream())
        with module.stream(stream):
            occupy(large, 1)
            results.append(x + 1)
        x.record_stream(stream)
        del x
        torch.full((100_000,), -7.0, device=large.device)  # may not take the memory of x yet
    stream.synchronize()
    for i, result in enumerate(results):
        assert_equal(result, torch.full((100_000,), i + 1.0))


def test_backward_runs_on_the_stream_of_its_forward(large, module):
    leaf = torch.ones(100, device=large.device, requires_grad=True)
    stream = module.Stream()
    stream.wait_stream(module.current_stream())
    with module.stream(stream):
        occupy(large, 2)
        y = (leaf * leaf * 3).sum()
    y.backward()
    module.current_stream().wait_stream(stream)
    assert_equal(leaf.grad, torch.full((100,), 6.0))


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


def test_a_new_number_does_not_make_the_caller_wait(large, module, device):
    small = torch.zeros(4, device=device)
    small.fill_(2)
    occupy(large)
    for number in (3, 4, 5):
        small.fill_(number)
    assert module.current_stream().query() is False
    assert small.tolist() == [5, 5, 5, 5]


def test_a_failure_nobody_waited_for_is_printed_at_exit(device):
    code = """
    x = torch.ones(4, device=device)
    index = torch.tensor([1], device=device)
    x.gather(0, index)
    x.gather(0, index + 100)
    """
    result = run_python(code, device)
    assert "index 101 is out of bounds" in result.stderr
    assert "nobody waited for it" in result.stderr
