"""A profile of graphs that are replayed: all of their work is seen, whoever replays and whoever times it."""

import pytest
import torch
from helpers import capture, output_of
from traces import Trace

pytestmark = pytest.mark.accelerator("the CPU has no graphs")

# Three operators, captured; a profile of three replays.
PROGRAM = """
    from torch.profiler import profile
    from traces import ACTIVITIES

    module = torch.get_device_module(device)
    x = torch.arange(1.0, 5.0, device=device)
    y = torch.empty_like(x)

    def step():
        y.copy_((x + 1).exp().cos())

    step()
    graph = module.Graph()
    with module.graph(graph):
        step()
    graph.replay()
    module.synchronize()
    with profile(activities=ACTIVITIES) as profiler:
        for _ in range(3):
            graph.replay()
        module.synchronize()
    profiler.export_chrome_trace(sys.argv[2])
    torch.testing.assert_close(y.cpu(), (torch.arange(1.0, 5.0) + 1).exp().cos())
"""


@pytest.fixture
def names_of_work(device, tmp_path):
    """What a trace of the program shows on the device, in order."""

    def names(**environment):
        path = tmp_path / "trace.json"
        output_of(PROGRAM, device, path, **environment)
        work = Trace(path).work
        assert all(span["dur"] > 0 for span in work)
        return [span["name"] for span in sorted(work, key=lambda span: span["ts"])]

    return names


def expect_all_work(names):
    assert "graph replay" not in names, names  # that would be some piece of it twice
    for operator in ("add", "exp", "cos"):
        assert sum(operator in name for name in names) == 3, names


def test_every_piece_of_a_replay_is_seen(names_of_work):
    expect_all_work(names_of_work())


@pytest.mark.accelerator("its profiler can be switched off", only="sim")
def test_a_replay_is_one_span_where_events_time_it(names_of_work):
    assert names_of_work(TORCHPLUG_SIM_PROFILER="off") == ["graph replay"] * 3


@pytest.mark.accelerator("its capture and profiler can be switched off", only="sim")
@pytest.mark.parametrize("profiler", ["on", "off"])
def test_every_piece_of_a_replay_of_torchplugs_own_is_seen(names_of_work, profiler):
    expect_all_work(names_of_work(TORCHPLUG_SIM_CAPTURE="off", TORCHPLUG_SIM_PROFILER=profiler))


@pytest.mark.accelerator("jobs run on streams", only="sim")
def test_what_was_captured_is_seen_once_when_it_is_used_again(device, module, trace_of):
    x = torch.ones(4, device=device)
    graph, _ = capture(module, lambda: [x.exp() for _ in range(8)])
    graph.reset()
    names = [span["name"] for span in trace_of(lambda: [x.exp() for _ in range(8)]).work]
    assert len(names) == 8, names
