"""Events that another device cannot wait for: the calling thread waits in its stead."""

import pytest
from helpers import output_of
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

WAITS = """
import ctypes, os
import torchplug.testing

declined = ctypes.CDLL(os.environ["TORCHPLUG_DEVICE"]).declined_waits
module = torch.get_device_module(device)
zero, one = (torch.device(device.type, i) for i in range(2))
x = torch.arange(1000.0, device=zero)
for _ in range(3):
    assert torch.equal(x.to(one).cpu(), x.cpu())
    assert torch.equal(x.to(one, torch.float64).t().cpu(), x.cpu().double().t())
assert declined() > 0
before = declined()
event = torch.Event(device=zero)
module.current_stream(0).record_event(event)
torch.Stream(device=zero).wait_event(event)
assert declined() == before
torch.Stream(device=one).wait_event(event)
assert declined() == before + 1
"""

CAPTURED = """
module = torch.get_device_module(device)
event = torch.Event(device=torch.device(device.type, 1))
module.current_stream(1).record_event(event)
graph = module.Graph()
try:
    with module.graph(graph):
        module.current_stream().wait_event(event)
except RuntimeError as error:
    print(error)
x = torch.ones(3, device=device)
assert (x + x).sum().item() == 6
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "far_events")


@pytest.mark.parametrize(
    "layers", [{}, {"TORCHPLUG_LAYERS": "validate"}], ids=["alone", "validated"]
)
def test_the_calling_thread_waits_where_the_other_device_cannot(plugin, layers):
    output_of(WAITS, "far_events", TORCHPLUG_DEVICE=plugin, **layers)


def test_in_a_capture_such_a_wait_is_refused(plugin):
    said = output_of(CAPTURED, "far_events", TORCHPLUG_DEVICE=plugin)
    assert "Waiting for an event" in said and "capturing" in said
