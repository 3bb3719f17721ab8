"""Streams as objects: their names, handles and priorities, and those that others made."""

import ctypes

import pytest
import torch
from helpers import output_of
from vendors import plugin_library, shadow

pytestmark = pytest.mark.accelerator("streams are real or absent", only="sim")


def test_a_stream_has_the_attributes_of_cudas(module, device, other_device):
    low, high = module.Stream.priority_range()
    stream = module.Stream(other_device, priority=high)
    assert stream.priority == high and module.Stream(priority=low).priority == low
    assert module.Stream(priority=high - 5).priority == high
    assert module.default_stream().priority == 0
    handle = getattr(stream, f"{device.type}_stream")
    assert handle == stream.native_handle == stream._as_parameter_.value != 0
    assert repr(stream) == f"<torch.sim.Stream device=sim:1 sim_stream={handle:#x}>"
    assert handle != module.Stream(other_device, priority=high).native_handle
    with pytest.raises(AttributeError, match="'Stream' object has no attribute 'nonsense'"):
        stream.nonsense  # noqa: B018
    generic = torch.Stream(
        stream_id=stream.stream_id, device_index=1, device_type=stream.device_type
    )
    assert generic == stream and hash(generic) == hash(stream)
    assert generic.native_handle == handle


def test_streams_and_events_have_every_name_that_cudas_have(module):
    def names(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    ours = names(module.Stream) | names(module.Stream())
    named_by_cuda = {"cuda_stream"}
    assert names(torch.cuda.Stream) - ours - named_by_cuda == set()
    assert names(torch.cuda.Event) - names(module.Event) - {"cuda_event"} == set()
    assert hasattr(module.Stream(), "sim_stream")


def test_a_stream_of_torchplugs_own_comes_back_by_its_handle(module, other_device):
    stream = module.Stream(1)
    same = module.ExternalStream(stream.native_handle, device=1)
    assert same == stream and isinstance(same, module.Stream)
    assert module.get_stream_from_external(stream.native_handle, other_device) == stream
    default = module.default_stream()
    assert module.ExternalStream(default.native_handle) == default
    with pytest.raises(RuntimeError, match="is not a stream of sim:0"):
        module.ExternalStream(stream.native_handle, device=0)
    with pytest.raises(RuntimeError, match="stream_import"):
        module.ExternalStream(0xDEAD)


MADE_ELSEWHERE = """
import ctypes, torchplug.testing
library = ctypes.CDLL(sys.argv[2])
library.shadow_make_stream.restype = ctypes.c_void_p
module = torch.get_device_module(device)
x = torch.zeros(1000, device="shadow:1")
(x.add_(1) + torch.ones(1000, device="shadow:1")).sum()  # the first calls may wait
x.zero_()
handle = library.shadow_make_stream(1)
stream = module.ExternalStream(handle, device=1)
again = module.ExternalStream(handle, device="shadow:1")
assert stream == again and stream.device == torch.device("shadow:1")
assert stream.native_handle == handle == stream.shadow_stream
assert stream.stream_id != module.Stream(1).stream_id and stream != module.default_stream(1)

module.synchronize(1)
with torchplug.testing.hold(stream) as gate, module.stream(stream):
    assert module.current_stream() == stream
    x.add_(1)
    y = torch.ones(1000, device="shadow:1")  # memory of this stream's
    event = stream.record_event()
    assert not stream.query() and not event.query(), "the stream is held"
    assert module.Stream(1).query(), "another stream is not"
    gate.open()
    event.synchronize()
    assert (x + y).sum().item() == 2000

z = torch.full((100_000,), 3.0, device="shadow:1")
address = z.data_ptr()
module.synchronize(1)
with torchplug.testing.hold(stream) as gate:
    z.record_stream(stream)
    del z
    meanwhile = torch.empty(100_000, device="shadow:1")
    assert meanwhile.data_ptr() != address, "the stream still uses it"
    gate.open()
    stream.synchronize()
    assert torch.empty(100_000, device="shadow:1").data_ptr() == address
"""


@pytest.mark.parametrize("names", ["of_its_own", "none"])
def test_a_stream_that_another_library_made_can_be_used(names, tmp_path):
    """With stream_import and stream_native, and without."""
    plain = {"TORCHPLUG_SHADOW_PLAIN": "1"} if names == "none" else {}
    path, settings = shadow(tmp_path)
    output_of(MADE_ELSEWHERE, "shadow", path, **settings, **plain)


def test_the_plugin_is_asked_for_streams_as_they_are_needed_and_for_their_priority(tmp_path):
    code = """
    import ctypes
    library = ctypes.CDLL(sys.argv[2])
    made = lambda: library.shadow_count(b"stream_create")
    module = torch.get_device_module(device)
    torch.ones(3, device=device)
    assert made() == 0
    low, high = module.Stream.priority_range()
    for count, priority in enumerate((low, high, high - 9, low + 9), start=1):
        module.Stream(priority=priority)
        assert library.shadow_priority() == max(high, min(low, priority))
        assert made() == count
    torch.Stream(device, priority=high)
    assert library.shadow_priority() == high and made() == 5
    streams = [module.Stream() for _ in range(100)]
    assert len(set(streams)) == 32 and made() == 35
    """
    path, settings = shadow(tmp_path)
    output_of(code, "shadow", path, **settings)


def test_the_plugins_library_is_where_its_package_says():
    assert ctypes.CDLL(plugin_library("sim")).torchplug_plugin_v0 is not None
