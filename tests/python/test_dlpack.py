"""DLPack: memory goes to other libraries and comes from them without a copy, in stream order."""

import ctypes
import functools
import gc
import inspect
import weakref

import numpy
import pytest
import torch
from helpers import assert_equal
from torch.utils.dlpack import DLDeviceType, to_dlpack

import torchplug.testing

pytestmark = pytest.mark.accelerator("the CPU has a name in DLPack")

hold = functools.partial(torchplug.testing.hold, limit=20)


class Producer:
    """An array of another library, which shows what it was asked."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.asked = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.tensor.__dlpack__(**options)


class OldProducer(Producer):
    """One of the time before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__(stream=stream)


def test_a_tensor_says_that_it_is_on_an_external_device(device):
    x = torch.ones(2, device=device)
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, device.index)
    assert torch.ones(2).__dlpack_device__() == (DLDeviceType.kDLCPU, 0)


def test_the_index_of_a_second_device_arrives(other_device):
    x = torch.arange(3.0, device=other_device)
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, 1)
    assert torch.from_dlpack(x).device == other_device


@pytest.mark.parametrize(
    "pack",
    [
        lambda x: x,
        to_dlpack,
        lambda x: x.__dlpack__(),
        lambda x: x.__dlpack__(max_version=(1, 0)),
        Producer,
        OldProducer,
    ],
    ids=["tensor", "to_dlpack", "unversioned", "versioned", "library", "old library"],
)
def test_memory_is_shared_on_the_same_device(device, pack):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    y = torch.from_dlpack(pack(x.t()))
    assert y.device == device and y.shape == (3, 2) and y.stride() == (1, 3)
    assert y.data_ptr() == x.data_ptr()
    y[0, 1] = 70
    assert x[1, 0].item() == 70
    x += 1
    assert_equal(y, torch.tensor([[1.0, 71.0], [2.0, 5.0], [3.0, 6.0]]))


@pytest.mark.parametrize(
    "dtype",
    [
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.complex64,
        torch.float8_e4m3fn,
    ],
)
def test_types_of_elements_arrive(device, dtype):
    x = torch.tensor([[0, 1], [2, 3]], device=device).to(dtype)
    y = torch.from_dlpack(x[:, 1])
    assert y.dtype == dtype
    assert_equal(y.cpu().to(torch.complex64), x.cpu()[:, 1].to(torch.complex64))


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 0)])
def test_small_and_empty_tensors_arrive(device, shape):
    y = torch.from_dlpack(torch.full(shape, 5.0, device=device))
    assert y.device == device
    assert_equal(y, torch.full(shape, 5.0))


def test_copies_are_made_where_they_are_asked_for_or_needed(device):
    x = torch.arange(3.0, device=device)
    assert torch.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, device=device).data_ptr() == x.data_ptr()
    copied = torch.from_dlpack(x, copy=True)
    assert copied.device == device and copied.data_ptr() != x.data_ptr()
    on_cpu = torch.from_dlpack(x, device="cpu")
    assert on_cpu.device.type == "cpu"
    moved = torch.from_dlpack(torch.arange(3.0), device=device)
    assert moved.device == device
    for each in (copied, on_cpu, moved):
        assert each.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="without copying"):
        torch.from_dlpack(x, device="cpu", copy=False)


def test_numpy_refuses_the_device_and_takes_a_copy_on_the_cpu(device):
    x = torch.arange(3.0, device=device)
    with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
        numpy.from_dlpack(x)
    capsule = x.__dlpack__(dl_device=(DLDeviceType.kDLCPU, 0))
    assert torch.from_dlpack(capsule).device.type == "cpu"
    array = numpy.arange(4)
    shared = torch.from_dlpack(array)
    shared[0] = 9
    assert array[0] == 9


def test_what_dlpack_cannot_say_is_refused(device):
    with pytest.raises(BufferError, match="gradient"):
        torch.ones(2, device=device, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="conjugate"):
        torch.ones(2, device=device, dtype=torch.complex64).conj().__dlpack__()
    with pytest.raises(TypeError, match="stream"):
        torch.ones(2, device=device).__dlpack__(stream="default")


# ---- lifetime ----


def test_the_memory_lives_as_long_as_its_consumer(device, module):
    gc.collect()  # what other tests left
    before = module.memory_allocated()
    x = torch.full((1000,), 3.0, device=device)
    held = module.memory_allocated()
    y = torch.from_dlpack(x)
    del x
    gc.collect()
    assert module.memory_allocated() == held > before
    torch.zeros(1000, device=device)  # would take the memory if it were free
    assert y.sum().item() == 3000
    del y
    assert module.memory_allocated() == before


def test_a_capsule_that_nobody_consumes_gives_the_memory_back(device, module):
    before = module.memory_allocated()
    capsule = torch.ones(1000, device=device).__dlpack__(max_version=(1, 0))
    assert module.memory_allocated() > before
    del capsule
    assert module.memory_allocated() == before


def test_another_librarys_object_is_not_needed_once_its_memory_is_taken(device):
    producer = Producer(torch.arange(3.0, device=device))
    gone = weakref.ref(producer)
    y = torch.from_dlpack(producer)
    del producer
    gc.collect()
    assert gone() is None and y.tolist() == [0, 1, 2]


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_record_stream_reaches_the_memory_of_an_imported_tensor(device, module):
    """Otherwise what the exporter had is given out again while the side stream reads it."""
    x = torch.full((64, 64), 7.0, device=device)
    y = torch.from_dlpack(x)
    y * 2  # the first call of an operator may wait for it
    side = module.Stream()
    side.wait_stream(module.current_stream())
    with hold(side):
        with module.stream(side):
            z = y * 2
        y.record_stream(side)
        del x, y
        torch.full((64, 64), -1.0, device=device)
        module.current_stream().synchronize()
        assert side.query() is False
    side.synchronize()
    assert_equal(z, torch.full((64, 64), 14.0))


# ---- streams ----


@pytest.mark.accelerator("streams run beside the caller", only="sim")
@pytest.mark.parametrize("by", ["native_handle", "stream_id"])
def test_the_consumers_stream_waits_for_the_producers(device, module, by):
    producer, consumer = module.current_stream(), module.Stream()
    x = torch.zeros(100, device=device)
    x.add_(0).clone()  # the first call of an operator may wait for it
    module.synchronize()
    with hold(producer):
        x.add_(1)
        capsule = x.__dlpack__(stream=getattr(consumer, by))
        with module.stream(consumer):
            y = torch.from_dlpack(capsule).clone()
        with module.stream(module.Stream()):  # a consumer that did not wait would be done by then
            for _ in range(100):
                torch.ones(100, device=device).add_(1).tolist()
        assert producer.query() is False
        assert consumer.query() is False, "it did not wait"
    consumer.synchronize()
    assert_equal(y, torch.ones(100))


@pytest.mark.accelerator("streams run beside the caller", only="sim")
@pytest.mark.parametrize(("stream", "waits"), [(-1, False), (None, True), (0, True)])
def test_stream_numbers_that_mean_something_else(device, module, stream, waits):
    """-1: nobody waits. None and 0: the default stream does."""
    default, side = module.default_stream(), module.Stream()
    x = torch.ones(2, device=device)
    x.add_(1)  # the first call of an operator may wait for it
    module.synchronize()
    with hold(side):
        with module.stream(side):
            x.__dlpack__(stream=stream)
        x.add_(1)
        if not waits:
            default.synchronize()
        assert default.query() is (not waits)
        assert side.query() is False


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_another_library_is_told_the_current_stream(device, module):
    producer = Producer(torch.arange(3.0, device=device))
    side = module.Stream()
    with module.stream(side):
        torch.from_dlpack(producer)
    assert producer.asked == [{"stream": side.native_handle, "max_version": (1, 0)}]


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_a_stream_that_does_not_exist_is_refused(device):
    with pytest.raises(RuntimeError, match="no stream 777"):
        torch.ones(2, device=device).__dlpack__(stream=777)


# ---- the interface for C ----


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


ToTensor = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))


class ExchangeAPI(ctypes.Structure):
    """DLPackExchangeAPI of DLPack 1.2."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        (
            "from_object",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p)),
        ),
        ("to_object", ToTensor),
        (
            "describe",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor)),
        ),
        (
            "current_stream",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
            ),
        ),
    ]


@pytest.fixture
def exchange():
    capsule = torch.Tensor.__dlpack_c_exchange_api__
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ExchangeAPI.from_address(pointer(capsule, b"dlpack_exchange_api"))


def test_c_sees_the_memory_and_its_place(device, exchange):
    x = torch.arange(6, dtype=torch.int16, device=device).reshape(2, 3)[1]
    seen = DLTensor()
    assert exchange.describe(x, ctypes.byref(seen)) == 0
    assert (seen.device_type, seen.device_id) == (DLDeviceType.kDLExtDev, device.index)
    assert seen.data == x.data_ptr() and seen.ndim == 1 and seen.shape[0] == 3
    assert (seen.code, seen.bits, seen.lanes, seen.strides[0]) == (0, 16, 1, 1)


def test_c_carries_a_tensor_without_a_copy(device, exchange):
    x = torch.arange(3.0, device=device)
    managed = ctypes.c_void_p()
    assert exchange.from_object(x, ctypes.byref(managed)) == 0
    result = ctypes.py_object()
    assert exchange.to_object(managed, ctypes.byref(result)) == 0
    y = result.value
    assert y.device == device and y.data_ptr() == x.data_ptr()
    y.add_(1)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.accelerator("streams are real or absent", only="sim")
@pytest.mark.pytorch("C is told of CUDA's streams only", since=(2, 12))
def test_c_learns_the_current_stream(device, module, exchange):
    side, seen = module.Stream(), ctypes.c_void_p()
    with module.stream(side):
        assert (
            exchange.current_stream(DLDeviceType.kDLExtDev, device.index, ctypes.byref(seen)) == 0
        )
    assert seen.value == side.native_handle


# ---- the patch ----


def originals():
    return {
        name: inspect.unwrap(function)
        for name, function in {
            "device": torch.Tensor.__dlpack_device__,
            "export": torch.Tensor.__dlpack__,
            "import": torch.utils.dlpack.from_dlpack,
        }.items()
    }


def test_the_device_patch_is_still_needed(device):
    """Fails when PyTorch's own __dlpack_device__ knows the device."""
    with pytest.raises(ValueError, match="Unknown device type"):
        originals()["device"](torch.ones(2, device=device))


@pytest.mark.accelerator("streams run beside the caller", only="sim")
def test_the_export_patch_is_still_needed(device, module):
    """Fails when PyTorch's own __dlpack__ makes a stream wait for the device."""
    producer, consumer = module.current_stream(), module.Stream()
    x = torch.ones(2, device=device)
    module.synchronize()
    with hold(producer):
        originals()["export"](x, stream=consumer.native_handle)
        with module.stream(consumer):
            torch.ones(2, device=device)
        consumer.synchronize()
        assert producer.query() is False


def test_the_import_patch_is_still_needed(device):
    """Fails when PyTorch's own from_dlpack tells an external device the consumer's stream."""
    producer = Producer(torch.ones(2, device=device))
    originals()["import"](producer)
    assert "stream" not in producer.asked[0]
