"""torch._dynamo.device_interface knows the device, whichever of the two is imported first."""

import pytest
from helpers import output_of

pytestmark = pytest.mark.accelerator("the CPU has an interface of PyTorch's own")

CHECKS = """
import inspect

interface = device_interface.get_interface_for_device(device.type)
assert device_interface.get_interface_for_device(device) is interface
assert dict(device_interface.get_registered_device_interfaces())[device.type] is interface
assert "class DeviceInterface" in inspect.getsource(device_interface)
module = torch.get_device_module(device)
assert interface.is_available() and interface.device_count() == module.device_count()
assert interface.current_device() == 0 and interface.Worker.current_device() == 0
assert interface.get_device_properties(0) == module.get_device_properties(0)
assert interface.Worker.get_device_properties(device) == module.get_device_properties(0)
assert interface.get_compute_capability() == module.get_device_capability()
assert interface.is_bf16_supported() == module.is_bf16_supported()
assert issubclass(interface.Event, torch.Event) and issubclass(interface.Stream, torch.Stream)
last = interface.device_count() - 1
with device_interface.DeviceGuard(interface, last):
    assert module.current_device() == interface.current_device() == last
assert module.current_device() == 0
before = interface.memory_allocated()
x = torch.ones(1000, device=device)
assert interface.memory_allocated() > before
interface.synchronize()
assert not interface.is_triton_capable()
"""


def test_dynamo_has_the_interface_of_a_device_that_was_loaded_before_it(device):
    first = """
assert "torch._dynamo" not in sys.modules
from torch._dynamo import device_interface
"""
    output_of(first + CHECKS, device)


def test_dynamo_has_the_interface_of_a_device_that_is_loaded_after_it(device):
    first = """
from torch._dynamo import device_interface
from torchplug import _autoload
_autoload.autoload()
device = torch.device(sys.argv[2])
"""
    output_of(first + CHECKS, "cpu", device, TORCH_DEVICE_BACKEND_AUTOLOAD=0)


@pytest.mark.accelerator("streams are needed", only="sim")
def test_dynamo_finds_streams_by_the_interface(device):
    output_of(
        """
from torch._dynamo.device_interface import get_interface_for_device

interface = get_interface_for_device(device)
stream = interface.Stream()
with interface.stream(stream):
    assert interface.current_stream() == stream
    assert interface.get_raw_stream(0) == stream.native_handle
assert interface.current_stream() != stream
""",
        device,
    )


def test_models_run_without_the_import_of_pytorchs_compiler(device):
    """It takes seconds, and the CPU needs it as little."""
    output_of(
        """
from torch import nn

layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
images = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten())
words = nn.Sequential(nn.Embedding(10, 16), layer, nn.ReLU(inplace=True), nn.Linear(16, 4))
with torch.no_grad():
    images.eval().to(device)(torch.randn(2, 3, 8, 8, device=device)).softmax(1).cpu()
    words.eval().to(device)(torch.arange(5, device=device)[None]).argmax(-1).cpu()
assert "torch._dynamo" not in sys.modules
""",
        device,
    )
