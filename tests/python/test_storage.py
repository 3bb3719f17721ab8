"""Methods of storages and Parameters do on the device what they do on the CPU."""

import copy
import inspect
import io
import pickle

import pytest
import torch
from helpers import assert_equal
from torch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def bytes_on(device, values=(1, 2, 3, 4)):
    return torch.tensor(values, dtype=torch.uint8, device=device).untyped_storage()


# ---- UntypedStorage ----


def test_elements_are_read_and_written(device):
    storage = bytes_on(device)
    assert len(storage) == storage.size() == storage.nbytes() == 4
    assert (
        storage[2] == 3 and storage[-1] == 4 and list(storage) == storage.tolist() == [1, 2, 3, 4]
    )
    storage[2] = 9
    storage[:2] = 7
    assert storage.tolist() == [7, 7, 9, 4]
    assert storage.fill_(5).tolist() == [5, 5, 5, 5]
    assert str(device) in repr(storage)


def test_a_slice_shares_the_memory(device):
    storage = bytes_on(device)
    storage[1:3].fill_(0)
    assert storage.tolist() == [1, 0, 0, 4]


def test_copies_go_between_storages(device):
    host = bytes_on("cpu", (9, 8, 7, 6))
    storage = bytes_on(device)
    assert storage.copy_(host).tolist() == [9, 8, 7, 6]
    assert torch.UntypedStorage(4).copy_(storage).tolist() == [9, 8, 7, 6]
    for duplicate in (
        storage.clone(),
        copy.copy(storage),
        copy.deepcopy(storage),
        host.to(device=device),
    ):
        assert duplicate.device == device and duplicate.data_ptr() != storage.data_ptr()
        assert duplicate.tolist() == [9, 8, 7, 6]
    assert storage.cpu().device.type == storage.to(device="cpu").device.type == "cpu"


@pytest.mark.accelerator("has methods of its own")
def test_the_methods_named_after_the_device(device):
    host = bytes_on("cpu")
    moved = getattr(host, device.type)()
    assert moved.device == device and moved.tolist() == [1, 2, 3, 4]
    assert getattr(moved, f"is_{device.type}") and not getattr(host, f"is_{device.type}")
    typed = torch.arange(3.0).storage()
    assert getattr(typed, device.type)().tolist() == [0, 1, 2]
    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError), match=r"(?i)cuda|nvidia"):
            moved.cuda()


def test_a_storage_is_made_on_the_device(device):
    assert torch.UntypedStorage(8, device=device).nbytes() == 8
    made = torch.UntypedStorage([3, 1], device=device)
    assert made.device == device and made.tolist() == [3, 1]
    assert made.new().device == device
    assert torch.UntypedStorage._new_shared(8, device=device).device == device


def test_resizing_keeps_what_fits(device):
    storage = bytes_on(device)
    assert storage.resizable()
    assert storage.resize_(6).nbytes() == 6 and storage.tolist()[:4] == [1, 2, 3, 4]
    assert storage.resize_(2).tolist() == [1, 2]
    assert storage.resize_(0).nbytes() == 0


@pytest.mark.accelerator("memory of the CPU can be pinned")
def test_device_memory_is_not_pinned_memory(device):
    storage = bytes_on(device)
    assert not storage.is_pinned()
    with pytest.raises(TypeError, match="only CPU memory can be pinned"):
        storage.pin_memory()


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.float64, torch.complex64])
def test_bytes_are_swapped(device, dtype):
    host, there = (torch.arange(1, 4).to(dtype).to(d) for d in ("cpu", device))
    host.untyped_storage().byteswap(dtype)
    there.untyped_storage().byteswap(dtype)
    assert there.untyped_storage().tolist() == host.untyped_storage().tolist()
    assert (
        there.untyped_storage().tolist() != torch.arange(1, 4).to(dtype).untyped_storage().tolist()
    )


@pytest.mark.accelerator("the CPU needs no patch")
def test_the_byteswap_patch_is_still_needed():
    """Fails when PyTorch no longer follows the addresses of device memory there."""
    source = inspect.getsource(inspect.unwrap(torch.UntypedStorage.byteswap))
    assert "_byteswap" in source and "device" not in source


def test_storages_are_saved_and_loaded(device):
    file = io.BytesIO()
    typed = torch.arange(3.0, device=device).storage()
    torch.save(typed, file)
    file.seek(0)
    back = torch.load(file, weights_only=False)
    assert back.device == device and back.tolist() == [0, 1, 2]
    again = pickle.loads(pickle.dumps(typed))
    assert again.device == device and again.tolist() == [0, 1, 2]


def test_tensors_and_their_storages_point_at_each_other(device):
    x = torch.arange(6.0, device=device)
    assert x.untyped_storage().data_ptr() == x.storage().data_ptr() == x.data_ptr()
    assert x[2:].untyped_storage().data_ptr() == x.data_ptr() != x[2:].data_ptr()
    y = torch.empty(0, device=device).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert_equal(y, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert torch.ones(2, device=device).set_().numel() == 0
    if device.type != "cpu":
        with pytest.raises(RuntimeError, match="different device"):
            torch.empty(0, device=device).set_(torch.ones(2).untyped_storage())


# ---- TypedStorage ----


def test_typed_storages_read_and_write_numbers(device):
    x = torch.arange(4.0, device=device)
    typed = x.storage()
    assert typed.dtype == torch.float32 and typed.device == device and len(typed) == 4
    typed[1] = 5.0
    typed[2:] = 8.0
    assert x.tolist() == typed.tolist() == [0, 5, 8, 8]
    assert typed.double().dtype == torch.float64 and typed.int().tolist() == [0, 5, 8, 8]
    assert typed.cpu().device.type == "cpu" and typed.untyped().device == device
    assert typed.clone().tolist() == copy.deepcopy(typed).tolist() == [0, 5, 8, 8]
    made = torch.TypedStorage(3, dtype=torch.int16, device=device)
    assert made.fill_(2).tolist() == [2, 2, 2]


# ---- Parameters ----


def test_a_parameter_is_copied_whole(device):
    parameter = Parameter(torch.arange(3.0, device=device))
    for duplicate in (
        copy.deepcopy(parameter),
        pickle.loads(pickle.dumps(parameter)),
    ):
        assert type(duplicate) is Parameter and duplicate.device == device
        assert duplicate.requires_grad and duplicate.is_leaf
        assert duplicate.data_ptr() != parameter.data_ptr()
        assert_equal(duplicate, torch.arange(3.0))


def test_copies_of_views_stay_views_of_one_storage(device):
    x = torch.arange(4.0, device=device)
    a, b = copy.deepcopy([x, x[1:3]])
    b.zero_()
    assert a.tolist() == [0, 0, 0, 3] and x.tolist() == [0, 1, 2, 3]


def test_data_of_a_parameter_moves_in_place(device):
    parameter = Parameter(torch.ones(3))
    parameter.data = parameter.data.to(device)
    assert parameter.device == device and parameter.is_leaf and type(parameter) is Parameter
    parameter.data.set_(torch.zeros(2, device=device))
    (parameter * 2).sum().backward()
    assert_equal(parameter.grad, torch.full_like(parameter.cpu().detach(), 2.0))


def test_parameters_without_a_shape_get_one_on_the_device(device):
    parameter = UninitializedParameter(device=device)
    assert parameter.device == device and UninitializedBuffer(device=device).device == device
    parameter.materialize((2, 3))
    assert type(parameter) is Parameter and parameter.shape == (2, 3)
    layer = torch.nn.LazyLinear(3, device=device)
    assert layer(torch.ones(2, 5, device=device)).shape == (2, 3)
    assert layer.weight.device == device
    moved = torch.nn.LazyLinear(2).to(device)
    assert moved(torch.ones(1, 4, device=device)).device == device


def test_tensors_are_swapped(device):
    a, b = torch.ones(2, device=device), torch.zeros(3, device=device)
    torch.utils.swap_tensors(a, b)
    assert_equal(a, torch.zeros(3))
    assert_equal(b, torch.ones(2))


def test_a_module_moves_by_swapping(device):
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer = torch.nn.Linear(2, 2)
        weight = layer.weight
        layer.to(device)
        assert layer.weight is weight and weight.device == device
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


class Marked(torch.Tensor):
    """A subclass with nothing of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})

    def new_empty(self, *sizes, **options):
        return super().new_empty(*sizes, **options).as_subclass(Marked)


def test_a_subclass_has_storage_and_copies(device):
    x = torch.arange(3.0, device=device).as_subclass(Marked)
    assert type(x + 1) is Marked and x.untyped_storage().device == device
    duplicate = copy.deepcopy(x)
    assert type(duplicate) is Marked and duplicate.data_ptr() != x.data_ptr()
    assert_equal(duplicate.as_subclass(torch.Tensor), torch.arange(3.0))
