"""A step captured once and replayed: the same work on the same memory, with the inputs of the moment.

On sim the plugin captures; on hello torchplug records the work itself, and the last test has all the others
done on sim that way too.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from helpers import assert_equal, capture, on_capture_stream, output_of

from torchplug.testing import hold

pytestmark = [
    pytest.mark.accelerator("the CPU captures nothing"),
    pytest.mark.usefixtures("nothing_left_behind"),
]

streams_only = pytest.mark.accelerator("hello has one stream", only="sim")


# ---- capture and replay ----


def test_nothing_runs_in_a_capture_and_everything_at_each_replay(device, module):
    x = torch.zeros(4, device=device)
    graph, y = capture(module, lambda: x.add_(1).exp().neg())
    assert_equal(x, torch.ones(4))  # by the warm-up
    for count in (2, 3, 4):
        graph.replay()
        assert_equal(x, torch.full((4,), float(count)))
        assert_equal(y, -torch.full((4,), float(count)).exp())


def test_a_replay_takes_the_inputs_of_the_moment(device, module):
    x = torch.zeros(3, 5, device=device)
    w = torch.arange(20.0).reshape(5, 4).to(device)
    graph, y = capture(module, lambda: torch.relu(x @ w) * 2 + x.sum())
    for seed in range(5):
        # Whole numbers: their sum is the same in any order.
        given = torch.randint(-9, 9, (3, 5), generator=torch.Generator().manual_seed(seed)).float()
        x.copy_(given)
        graph.replay()
        assert_equal(y, torch.relu(given @ w.cpu()) * 2 + given.sum())


def test_replays_queue_up_in_order(device, module):
    x = torch.zeros(100, device=device)
    graph, _ = capture(module, lambda: x.mul_(2).add_(1))
    x.zero_()
    for _ in range(20):
        graph.replay()
    assert_equal(x, torch.full((100,), float(2**20 - 1)))


def test_views_fills_and_strided_copies_are_captured(device, module):
    source = torch.arange(24.0).reshape(2, 3, 4).to(device)
    target = torch.zeros(4, 3, 2, device=device)
    zeroed = torch.ones(5, device=device)

    def work():
        target.copy_(source.permute(2, 1, 0))
        zeroed.zero_()
        return source[:, 1:, ::2].contiguous()

    graph, part = capture(module, work)
    source.add_(100)
    zeroed.fill_(7)
    graph.replay()
    expected = torch.arange(24.0).reshape(2, 3, 4) + 100
    assert_equal(target, expected.permute(2, 1, 0))
    assert_equal(part, expected[:, 1:, ::2].contiguous())
    assert_equal(zeroed, torch.zeros(5))


def test_operators_that_resize_their_outputs_are_captured(device, module):
    x = torch.zeros(3, 4, device=device)

    def work():
        shifted = x.abs() + torch.arange(4, device=device)
        return shifted, torch.isfinite(shifted), torch.kthvalue(x, 2)

    graph, (shifted, finite, (second, place)) = capture(module, work)
    given = torch.tensor([[-1.0, 2, torch.inf, 4], [5, -6, 7, 8], [0, 0, -1, torch.nan]])
    x.copy_(given)
    graph.replay()
    assert_equal(shifted, given.abs() + torch.arange(4))
    assert_equal(finite, (given.abs() + torch.arange(4)).isfinite())
    assert_equal((second, place), tuple(given.kthvalue(2)))


def test_numbers_of_the_host_are_read_at_the_capture(device, module):
    x = torch.ones(3, device=device)
    factor = torch.tensor(3.0)
    graph, y = capture(module, lambda: x * factor + 0.5)
    factor.fill_(100)
    x.fill_(2)
    graph.replay()
    assert_equal(y, torch.full((3,), 6.5))


def test_pinned_memory_is_read_and_written_at_each_replay(device, module):
    host = [torch.zeros(6).pin_memory() for _ in range(2)]
    x = torch.zeros(6, device=device)

    def work():
        x.copy_(host[0], non_blocking=True)
        host[-1].copy_(x * 2, non_blocking=True)

    graph, _ = capture(module, work)
    pointer = host[0].data_ptr()
    for value in (1.0, 5.0):
        host[0].fill_(value)
        graph.replay()
        module.synchronize()
        assert_equal(host[-1], torch.full((6,), 2 * value))
    del host[0]  # the graph holds it: nobody else gets the memory
    others = [torch.zeros(6).pin_memory() for _ in range(4)]
    assert pointer not in [other.data_ptr() for other in others]
    graph.replay()
    module.synchronize()
    assert_equal(host[-1], torch.full((6,), 10.0))


def test_a_pinned_number_is_held_or_read_at_once(device, module):
    numbers = {blocking: torch.tensor(3.0).pin_memory() for blocking in (True, False)}
    x, y = torch.zeros(2, device=device).unbind()

    def work():
        x.copy_(numbers[True])
        y.copy_(numbers[False], non_blocking=True)

    graph, _ = capture(module, work)
    pointer = numbers[False].data_ptr()
    for number in numbers.values():
        number.fill_(5.0)
    graph.replay()
    assert (x.item(), y.item()) == (3.0, 5.0)
    del number
    numbers.clear()
    others = [torch.full((), 7.0).pin_memory() for _ in range(8)]
    assert pointer not in [other.data_ptr() for other in others]
    graph.replay()
    assert (x.item(), y.item()) == (3.0, 5.0)


# ---- streams and devices ----


@streams_only
def test_a_graph_can_be_replayed_on_any_stream(device, module):
    x = torch.zeros(100, device=device)
    graph, y = capture(module, lambda: x.add_(1) * 2)
    streams = [module.Stream() for _ in range(3)]
    for i in range(12):
        with module.stream(streams[i % 3]):
            graph.replay()  # one after the other though nobody orders the streams
    module.synchronize()
    assert_equal(x, torch.full((100,), 13.0))
    assert_equal(y, torch.full((100,), 26.0))


@streams_only
def test_streams_that_fork_and_join_are_captured(device, module):
    x = torch.zeros(1000, device=device)
    side = [module.Stream() for _ in range(3)]

    def forked():
        main = module.current_stream()
        start = x + 1
        parts = []
        for i, stream in enumerate(side):
            stream.wait_stream(main)
            with module.stream(stream):
                part = start
                for _ in range(i + 1):
                    part = part * 2
                parts.append(part)
        for stream, part in zip(side, parts, strict=True):
            main.wait_stream(stream)
            part.record_stream(main)
        return sum(parts[1:], parts[0])

    graph, total = capture(module, forked)
    for value in range(10):
        x.fill_(value)
        graph.replay()
        assert_equal(total, torch.full((1000,), 14.0 * (value + 1)))
    with module.stream(side[0]):  # also on a stream that took part
        for value in range(10):
            x.fill_(value)
            graph.replay()
            assert_equal(total, torch.full((1000,), 14.0 * (value + 1)))


@streams_only
def test_a_stream_that_joined_must_be_waited_for(device, module):
    x = torch.zeros(10, device=device)
    side = module.Stream()
    on_capture_stream(module, lambda: x + 1)
    with module.stream(side):
        x + 1
    module.synchronize()
    with pytest.raises(RuntimeError, match=r"(?i)joined"), module.graph(module.Graph()):
        side.wait_stream(module.current_stream())
        with module.stream(side):
            x + 1
    with module.stream(side):
        assert_equal(x + 1, torch.ones(10))


@streams_only
def test_no_stream_of_the_users_is_the_one_that_captures(module):
    own = module.graphs.own_stream()
    assert own not in [module.Stream() for _ in range(64)]
    assert own == module.graphs.own_stream()


@streams_only
@pytest.mark.parametrize("forgotten", [0, 1])
def test_each_of_two_streams_that_joined_must_be_waited_for(device, module, forgotten):
    x = torch.zeros(10, device=device)
    sides = [module.Stream(), module.Stream()]
    on_capture_stream(module, lambda: x + 1)
    with pytest.raises(RuntimeError, match=r"(?i)joined"), module.graph(module.Graph()):
        for side in sides:
            side.wait_stream(module.current_stream())
            with module.stream(side):
                x + 1
        module.current_stream().wait_stream(sides[1 - forgotten])


@streams_only
def test_events_of_one_stream_may_be_waited_for_in_any_order(device, module):
    x = torch.zeros(10, device=device)
    side = module.Stream()

    def later_first():
        main = module.current_stream()
        side.wait_stream(main)
        with module.stream(side):
            first = x + 1
            earlier = side.record_event()
            second = first * 2
            later = side.record_event()
        main.wait_event(later)
        main.wait_event(earlier)  # changes nothing: all before the later one is done
        second.record_stream(main)
        return second - 3

    graph, y = capture(module, later_first)
    x.fill_(4)
    graph.replay()
    assert_equal(y, torch.full((10,), 7.0))


@streams_only
def test_events_of_a_capture_mark_nothing_outside_of_it(device, module):
    event = module.Event()
    outside = module.current_stream().record_event()
    graph = module.Graph()
    with module.graph(graph):
        event.record()
    with pytest.raises(RuntimeError, match=r"(?i)record it again"):
        event.synchronize()
    with pytest.raises(RuntimeError, match=r"(?i)record it again"):
        module.current_stream().wait_event(event)
    event.record()
    event.synchronize()
    with pytest.raises(RuntimeError, match="outside of the capture"), module.graph(module.Graph()):
        module.current_stream().wait_event(outside)
    with (
        pytest.raises(RuntimeError, match=r"(?i)waiting for an event"),
        module.graph(module.Graph()),
    ):
        event.record()
        event.synchronize()


@streams_only
def test_backward_of_what_another_stream_made_joins_the_capture(device, module):
    """Autograd runs each node on the stream of its forward."""
    weight = torch.ones(4, device=device, requires_grad=True)
    side = module.Stream()

    def step():
        weight.grad = None
        main = module.current_stream()
        side.wait_stream(main)
        with module.stream(side):
            y = weight * 3
        main.wait_stream(side)
        (y * y).sum().backward()

    on_capture_stream(module, step, times=2)
    graph = module.Graph()
    with module.graph(graph):
        step()
    with torch.no_grad():
        weight.fill_(2)
    graph.replay()
    assert_equal(weight.grad, torch.full((4,), 36.0))


@streams_only
def test_a_stream_that_joined_before_all_work_waits_for_what_came_before_the_replay(device, module):
    x = torch.zeros(4, device=device)
    side = module.Stream()
    results = []

    def work():
        main = module.current_stream()
        side.wait_stream(main)
        with module.stream(side):
            results.append(x * 3)
        main.wait_stream(side)

    graph, _ = capture(module, work)
    with hold(module.current_stream()):
        x.fill_(2)
        graph.replay()
    assert_equal(results[-1], torch.full((4,), 6.0))


def test_a_graph_may_go_while_its_last_replay_runs_and_its_output_lives(device, module):
    """Under the validate layer this shows whether the replay was waited for."""
    x = torch.ones(1000, device=device)
    graph, y = capture(module, lambda: (x + 1).sqrt().square() * 0 + (x + 1) * 2)
    graph.replay()
    graph.reset()
    assert_equal(y, torch.full((1000,), 4.0))


@streams_only
def test_replays_on_two_streams_follow_each_other(device, module):
    x = torch.zeros(1000, device=device)
    graph, _ = capture(module, lambda: x.add_(1))
    streams = [module.Stream(), module.Stream()]
    for stream in streams * 10:
        with module.stream(stream):
            graph.replay()
    module.synchronize()
    assert_equal(x, torch.full((1000,), 21.0))


@streams_only
def test_python_goes_on_while_a_graph_that_goes_waits_for_its_replay(device, module):
    """The gate is opened by a thread that must get on for it."""
    x = torch.zeros(4, device=device)
    graph, _ = capture(module, lambda: x.add_(1))
    stream = module.Stream()
    with hold(stream, limit=20) as gate:
        with module.stream(stream):
            graph.replay()
        opener = threading.Timer(0.05, gate.open)
        opener.start()
        del graph
        opener.join()
    stream.synchronize()
    assert_equal(x, torch.full((4,), 2.0))


def test_a_graph_of_another_device(device, other_device, module):
    with module.device(other_device):
        x = torch.zeros(4, device=other_device)
        graph, y = capture(module, lambda: x.add_(1) * 2 + torch.rand(4, device=other_device) * 0)
    graph.replay()  # the current device is the first one
    assert y.device == other_device
    assert_equal(y, torch.full((4,), 4.0))
    assert module.current_device() == device.index


@streams_only
def test_a_stream_of_another_device_cannot_join(device, other_device, module):
    x, y = torch.zeros(4, device=device), torch.zeros(4, device=other_device)
    x.copy_(y)
    module.synchronize()
    with pytest.raises(RuntimeError, match="another device"), module.graph(module.Graph()):
        x.copy_(y)


# ---- the rest ----


@pytest.mark.pytorch("there is no torch.accelerator.Graph", since=(2, 12))
class TestAcceleratorGraph:
    def test_it_captures_and_replays(self, device, module):
        x = torch.zeros(10, device=device)
        on_capture_stream(module, lambda: x.add_(1).exp())
        graph = torch.accelerator.Graph()
        with module.stream(module.graphs.own_stream()), graph:
            y = x.add_(1).exp()
        for count in (2.0, 3.0):
            graph.replay()
            assert_equal(y, torch.full((10,), count).exp())

    def test_it_shares_pools_and_resets(self, device, module):
        x = torch.zeros(10, device=device)
        first, _ = capture(module, lambda: x + 1)
        graph = torch.accelerator.Graph(pool=first.pool(), capture_error_mode="thread_local")
        for _ in range(2):
            with module.stream(module.graphs.own_stream()), graph:
                z = x + 1
            graph.replay()
            assert graph.pool() == first.pool()
            assert_equal(z, torch.ones(10))
            graph.reset()

    def test_a_failed_capture_raises(self, device, module):
        x = torch.zeros(10, device=device)
        with (
            pytest.raises(RuntimeError, match="capture of the graph failed: Reading a number"),
            module.stream(module.graphs.own_stream()),
            torch.accelerator.Graph(),
        ):
            x[0].item()

    def test_it_writes_what_was_captured(self, device, module, tmp_path):
        x = torch.zeros(10, device=device)
        on_capture_stream(module, lambda: x.relu().exp())
        graph = torch.accelerator.Graph()
        graph.enable_debug_mode()
        with module.stream(module.graphs.own_stream()), graph:
            x.relu().exp()
        graph.debug_dump(str(tmp_path / "graph.txt"))
        assert "aten::relu" in (tmp_path / "graph.txt").read_text()


def test_debug_dump_lists_what_was_captured(device, module, tmp_path):
    x = torch.zeros(10, device=device)
    work = lambda: torch.tanh(x.relu()).exp()
    on_capture_stream(module, work)
    graph = module.Graph()
    graph.enable_debug_mode()
    with module.graph(graph):
        work()
    path = tmp_path / "graph.txt"
    graph.debug_dump(str(path))
    lines = [line for line in path.read_text().splitlines() if "aten::" in line]
    assert [line.split("::")[1].split("(")[0].split(".")[0] for line in lines] == [
        "relu",
        "tanh",
        "exp",
    ]
    plain, _ = capture(module, work)
    with pytest.raises(RuntimeError, match="enable_debug_mode"):
        plain.debug_dump(str(path))
    with pytest.raises(RuntimeError, match="cannot be written"):
        graph.debug_dump(str(tmp_path / "nowhere" / "graph.txt"))


def test_a_graph_works_where_every_launch_waits(device):
    code = """
        module = torch.get_device_module(device)
        x = torch.zeros(4, device=device)
        x.add_(1)
        graph = module.Graph()
        with module.graph(graph):
            x.add_(1)
        graph.replay()
        print(x.tolist())
    """
    assert output_of(code, device, TORCHPLUG_LAUNCH_BLOCKING=1) == "[2.0, 2.0, 2.0, 2.0]"


def test_a_program_may_end_with_graphs_alive_and_even_in_a_capture(device):
    code = """
        module = torch.get_device_module(device)
        x = torch.zeros(4, device=device)
        x.add_(1)
        graph = module.Graph()
        with module.graph(graph):
            x.add_(1)
        for _ in range(100):
            graph.replay()
        other = module.Graph()
        context = module.graph(other)
        context.__enter__()
        x.add_(1)
        print("end")
    """
    assert output_of(code, device) == "end"


@pytest.mark.accelerator("only sim can hide its capture", only="sim")
@pytest.mark.skipif("TORCHPLUG_SIM_CAPTURE" in os.environ, reason="this is it")
@pytest.mark.skipif(
    "TORCHPLUG_LAYERS" in os.environ, reason="every call into the plugin is checked anyhow"
)
def test_all_of_this_holds_where_torchplug_records_the_streams_itself():
    here = Path(__file__)
    files = sorted(str(path) for path in here.parent.glob("test_graph*.py"))
    assert len(files) == 5
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files],
        env={**os.environ, "TORCHPLUG_SIM_CAPTURE": "off", "TORCHPLUG_LAYERS": "validate"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


def test_memory_of_a_graph_stays_its_own_without_the_cache(device, module):
    x = torch.ones(4, device=device)
    with module.memory.caching_allocator_disabled():
        graph, y = capture(module, lambda: (x * 2).relu())
        del y  # each replay still writes there
        others = [torch.full((4,), 7.0, device=device) for _ in range(8)]
        graph.replay()
        assert_equal(torch.stack(others), torch.full((8, 4), 7.0))
        graph.reset()
