"""A plugin may give the host a view of some of its memory: what it does not show is staged."""

import pytest
from helpers import output_of
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

# What has no tensor with memory among its arguments, and what has.
BODY = """
import torchplug

torch.set_num_threads(1)
CALLS = {
    "arange": lambda d: torch.arange(3, device=d),
    "arange with a step": lambda d: torch.arange(0, 1, 0.25, device=d),
    "linspace": lambda d: torch.linspace(0, 1, 5, device=d),
    "full": lambda d: torch.full((3,), 2.5, device=d),
    "mm of nothing": lambda d: torch.mm(torch.empty(2, 0, device=d), torch.empty(0, 3, device=d)),
    "prod of nothing": lambda d: torch.empty(0, device=d).prod(),
    "sum of nothing": lambda d: torch.empty(0, 3, device=d).sum(0),
    "exp": lambda d: torch.ones(3, device=d).exp(),
    "exp in place": lambda d: torch.ones(3, device=d).exp_(),
    "exp into an output": lambda d: torch.exp(torch.ones(3, device=d), out=torch.empty(3, device=d)),
    "exp into an empty output": lambda d: torch.exp(torch.ones(3, device=d), out=torch.empty(0, device=d)),
    "abs": lambda d: torch.linspace(-1, 1, 5, device=d).abs(),
    "nonzero": lambda d: torch.eye(3, device=d).nonzero(),
    "cat": lambda d: torch.cat([torch.ones(2, device=d), torch.zeros(3, device=d)]),
    "max along a dimension": lambda d: torch.eye(3, device=d).max(0).values,
    "a large product": lambda d: torch.ones(300, 300, device=d) @ torch.ones(300, 300, device=d),
}
held = []  # so that each call gets memory of its own, seen or unseen
for index in range(torch.accelerator.device_count()):
    place = torch.device(device.type, index)
    for name, call in CALLS.items():
        expected = call("cpu")
        for turn in range(6):
            torch.get_device_module(device).empty_cache()
            result = call(place)
            held.append(result)
            assert result.device == place, name
            assert torch.equal(result.cpu(), expected), (name, index, turn)
"""

RANDOM = """
places = ["cpu", *(torch.device(device.type, i) for i in range(torch.accelerator.device_count()))]
drawn = []
for place in places[1:]:
    torch.manual_seed(5)
    drawn.append([torch.rand(40000, device=place).cpu() for _ in range(6)])
for a, b in zip(*drawn):
    assert torch.equal(a, b)
"""

CAPTURE = """
module = torch.get_device_module(device)
held = []
for index in range(2):
    place = torch.device(device.type, index)
    with torch.device(place), module.device(index):
        x = torch.ones(40000)
        for size in (3, 40000):  # one from a shared block, one from a block of its own
            body = lambda: torch.full((size,), 2.0).cumsum(0) + x.sum()
            module.synchronize()
            with module.stream(module.graphs.own_stream()):
                for _ in range(3):
                    held.append(body())
            module.synchronize()
            graph = module.Graph()
            with module.graph(graph):
                result = body()
            for value in (1.0, 3.0):
                x.fill_(value)
                module.synchronize()
                graph.replay()
                module.synchronize()
                expected = torch.full((size,), 2.0, device="cpu").cumsum(0) + 40000 * value
                assert torch.equal(result.cpu(), expected)
"""

LEDGER = """
import torchplug

torch.accelerator.set_device_index(1)
torch.arange(40000, device=device.type)
torchplug.reset_ledger()
torch.arange(40000, device=device.type)
torch.accelerator.synchronize()
(entry,) = [e for e in torchplug.ledger() if e.op.startswith("aten::arange")]
print(entry.way, entry.bytes)
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "some_views")


@pytest.mark.parametrize("settings", [{}, {"TORCHPLUG_SOME_VIEWS_NONE": 1}], ids=["some", "none"])
def test_operators_on_memory_without_a_view_are_right_at_every_call(plugin, settings):
    output_of(BODY, "some_views", TORCHPLUG_DEVICE=plugin, **settings)


def test_random_numbers_are_drawn_once_a_call(plugin):
    output_of(RANDOM, "some_views", TORCHPLUG_DEVICE=plugin)


def test_what_is_out_of_view_is_captured_too(plugin):
    output_of(CAPTURE, "some_views", TORCHPLUG_DEVICE=plugin)


def test_the_ledger_says_that_such_a_call_was_staged(plugin):
    way, moved = output_of(LEDGER, "some_views", TORCHPLUG_DEVICE=plugin).split()
    assert way == "stage" and int(moved) == 40000 * 8
