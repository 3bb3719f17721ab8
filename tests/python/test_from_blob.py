"""Device memory that PyTorch did not allocate becomes tensors, and goes back to its owner."""

import ctypes
import gc
import weakref

import pytest
import torch
from helpers import assert_equal

import torchplug.testing

pytestmark = pytest.mark.accelerator("torch.frombuffer does this for the CPU")


class Owner:
    """Somebody who wants to know that the memory is no longer needed."""


def test_a_range_inside_a_tensor_becomes_a_tensor(device):
    x = torch.arange(8.0, device=device)
    y = torchplug.from_blob(x.data_ptr() + 8, (2, 2), device=device, strides=(3, 1), owner=x)
    assert y.device == device and y.stride() == (3, 1) and y.dtype == torch.float32
    assert_equal(y, torch.tensor([[2.0, 3.0], [5.0, 6.0]]))
    y.zero_()
    assert x.tolist() == [0, 1, 0, 0, 4, 0, 0, 7]


def test_the_device_module_has_it_too(device, module):
    x = torch.arange(4, dtype=torch.int32, device=device)
    y = module.from_blob(x.data_ptr(), [4], torch.int32, owner=x)
    assert_equal(y, torch.arange(4, dtype=torch.int32))


def test_the_owner_lives_as_long_as_the_last_tensor(device):
    x, owner = torch.arange(4.0, device=device), Owner()
    gone = weakref.ref(owner)
    y = torchplug.from_blob(x.data_ptr(), (4,), device=device, owner=owner)
    view = y[1:]
    del owner, y
    gc.collect()
    assert gone() is not None and (view + 1).tolist() == [2, 3, 4]
    del view
    torchplug.device_module().ipc_collect()  # waits for what is released beside the caller
    gc.collect()
    assert gone() is None


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_the_owner_is_kept_until_the_stream_has_passed(device, module):
    x, owner = torch.ones(1000, device=device), Owner()
    x * 2  # the first call of an operator may wait for it
    gone = weakref.ref(owner)
    y = torchplug.from_blob(x.data_ptr(), (1000,), device=device, owner=owner)
    with torchplug.testing.hold(module.current_stream(), limit=20):
        z = y * 2
        del owner, y
        gc.collect()
        assert gone() is not None and module.current_stream().query() is False
    assert_equal(z, torch.full((1000,), 2.0))
    module.ipc_collect()
    assert gone() is None


def test_a_range_that_ends_beyond_the_memory_is_refused(device):
    x, owner = torch.arange(4.0, device=device), Owner()
    gone = weakref.ref(owner)
    with pytest.raises(RuntimeError, match="not within one allocation"):
        torchplug.from_blob(x.data_ptr(), (1 << 20,), device=device, owner=owner)
    del owner
    gc.collect()
    assert gone() is None


def test_such_a_tensor_keeps_its_size(device):
    x = torch.arange(4.0, device=device)
    y = torchplug.from_blob(x.data_ptr(), (4,), device=device, owner=x)
    assert not y.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="not resizable"):
        y.resize_(100)


@pytest.mark.accelerator("its memory is the host's", only="hello")
def test_memory_from_outside_is_used_as_it_is(device):
    buffer = (ctypes.c_float * 6)(*range(6))
    y = torchplug.from_blob(ctypes.addressof(buffer), (2, 3), device=device, owner=buffer)
    y.relu_().mul_(2)
    y[1].add_(1)
    assert list(buffer) == [0, 2, 4, 7, 9, 11]
    assert torch.from_dlpack(y).sum().item() == sum(buffer)
    overlapping = torchplug.from_blob(
        ctypes.addressof(buffer) + 8, (4,), device=device, owner=buffer
    )
    assert overlapping.tolist() == [4, 7, 9, 11]
    assert torch.cat([y.view(-1), overlapping]).tolist() == [0, 2, 4, 7, 9, 11, 4, 7, 9, 11]


@pytest.mark.accelerator("its memory is the host's", only="hello")
def test_memory_of_another_library_comes_in_by_dlpack(device):
    """The capsule names memory that the allocator has never seen."""
    host = torch.arange(4.0)
    capsule = host.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    kind = ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8)
    kind.value = torch.utils.dlpack.DLDeviceType.kDLExtDev
    y = torch.from_dlpack(capsule)
    assert y.device == device
    y.relu_().add_(1)
    assert host.tolist() == y.tolist() == [1, 2, 3, 4]


@pytest.mark.accelerator("its memory is out of the host's reach", only="sim")
def test_memory_that_is_not_the_devices_is_refused_in_the_plugins_words(device):
    y = torchplug.from_blob(1 << 20, (4,), device=device)
    with pytest.raises(RuntimeError, match="not in the memory of sim:0"):
        y.cpu()
