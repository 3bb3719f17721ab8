"""A single device may lack what its plugin has: the host does there what it does for a plugin without it."""

import pytest
from helpers import output_of
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

WAYS = ["", "view", "func", "capture"]

OPERATORS = """
import torchplug

module = torch.get_device_module(device)
for index in (1, 0, 1):
    place = torch.device(device.type, index)
    a, b = torch.linspace(-2, 2, 12).reshape(3, 4), torch.linspace(0, 1, 20).reshape(4, 5)
    for _ in range(3):
        product = (a.to(place) @ b.to(place)).softmax(1)
        torch.testing.assert_close(product.cpu(), (a @ b).softmax(1))
        assert torch.equal(torch.arange(5, device=place).cpu(), torch.arange(5))
        assert torch.equal(a.to(place).sort(1, descending=True).values.cpu(), a.sort(1, descending=True).values)
        assert torch.equal(a.to(place)[a.to(place) > 0].cpu(), a[a > 0])
        assert torch.equal(a.to(place).t().to(torch.float64).cpu(), a.t().double())
    torch.manual_seed(3)
    drawn = torch.rand(100, device=place)
    assert 0.2 < drawn.mean().item() < 0.8
other = torch.ones(4, device=f"{device.type}:1").to(f"{device.type}:0")
assert other.sum().item() == 4
"""

GRAPHS = """
module = torch.get_device_module(device)
for index in (0, 1):
    with module.device(index), torch.device(device.type, index):
        torch.manual_seed(1)
        layer = torch.nn.Linear(4, 4)
        x = torch.ones(3, 4)
        body = lambda: torch.dropout(layer(x).relu() + 1, 0.5, True) * 2
        with module.stream(module.graphs.own_stream()), torch.no_grad():
            for _ in range(2):
                body()
        module.synchronize()
        graph = module.Graph()
        with module.graph(graph), torch.no_grad():
            result = body()
        torch.manual_seed(5)
        seen = []
        for value in (1.0, -2.0):
            x.fill_(value)
            graph.replay()
            module.synchronize()
            seen.append(result.cpu())
            expected = 4 * (layer(x).relu() + 1).detach().cpu()
            kept = seen[-1] != 0
            assert kept.any() and not kept.all()
            torch.testing.assert_close(seen[-1][kept], expected[kept])
        assert not torch.equal(seen[0] != 0, seen[1] != 0)
"""

PROFILED = """
from torch.profiler import ProfilerActivity, profile

module = torch.get_device_module(device)
for index in (0, 1):
    place = torch.device(device.type, index)
    x = torch.ones(64, 64, device=place)
    x.sin()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiler:
        (x.sin() @ x).relu()
        module.synchronize(index)
    names = {event.name for event in profiler.events()}
    assert {"aten::sin", "aten::mm", "aten::relu"} <= names, names
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "lacks")


def settings(way, **more):
    chosen = {"TORCHPLUG_LACKS_ONLY": way} if way else {}
    return {**chosen, **more}


@pytest.mark.parametrize("way", WAYS)
def test_operators_are_right_on_both_devices(plugin, way):
    output_of(OPERATORS, "lacks", TORCHPLUG_DEVICE=plugin, **settings(way))


@pytest.mark.parametrize("way", ["", "view", "capture"])
def test_graphs_are_captured_and_replayed_on_both_devices(plugin, way):
    output_of(GRAPHS, "lacks", TORCHPLUG_DEVICE=plugin, **settings(way))


KERNELS_ALONE = """
module = torch.get_device_module(device)
for index in (0, 1):
    with module.device(index), torch.device(device.type, index):
        x = torch.ones(3, 4)
        bodies = [lambda: (x + x).relu() * x, lambda: (x + x).cumsum(0)]
        said = []
        for body in bodies:
            with module.stream(module.graphs.own_stream()):
                body()
            module.synchronize()
            graph = module.Graph()
            try:
                with module.graph(graph):
                    result = body()
            except RuntimeError as error:
                said.append(str(error))
                continue
            x.fill_(3)
            graph.replay()
            module.synchronize()
            assert torch.equal(result.cpu(), body().cpu())
        print(len(said), "cumsum cannot be captured" in "".join(said), "no host_func" in "".join(said))
"""


def test_a_device_that_captures_and_has_no_host_functions_captures_kernels_alone(plugin):
    said = output_of(KERNELS_ALONE, "lacks", TORCHPLUG_DEVICE=plugin, **settings("func"))
    assert said.splitlines() == ["0 False False", "1 True True"]


def test_both_devices_are_profiled(plugin):
    output_of(PROFILED, "lacks", TORCHPLUG_DEVICE=plugin)


def test_validate_finds_nothing_that_a_device_lacks(plugin):
    layers = {"TORCHPLUG_LAYERS": "validate"}
    output_of(OPERATORS + GRAPHS, "lacks", TORCHPLUG_DEVICE=plugin, **layers)


COUNTED = """
import torchplug
assert torch.accelerator.device_count() == 2
print(torchplug._C.is_in_use(0), torchplug._C.is_in_use(1))
"""


def test_what_a_device_lacks_is_not_asked_for_to_count_devices(plugin):
    assert output_of(COUNTED, "lacks", TORCHPLUG_DEVICE=plugin) == "False False"
