"""safetensors writes tensors of the device and reads them back onto it, bit for bit."""

import pytest
import safetensors
import torch
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.int64,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def some(dtype):
    if dtype == torch.bool:
        return torch.rand(5, 3) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(5, 3, dtype=torch.complex64 if dtype.is_complex else None).to(dtype)
    return torch.randint(0, 100, (5, 3)).to(dtype)


def tensors():
    """Of every dtype, none of them of one element only; NaN, infinity and -0 among them."""
    result = {str(dtype): some(dtype) for dtype in DTYPES}
    result["special"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    result["empty"] = torch.empty(0, 4)
    result["scalar"] = torch.tensor(3.5)
    return result


def on(device, state):
    return {name: tensor.to(device) for name, tensor in state.items()}


def bits(tensor):
    return tensor.cpu().reshape(-1).view(torch.uint8).tolist()


def assert_same_bits(actual, expected, device):
    assert actual.keys() == expected.keys()
    for name, tensor in actual.items():
        assert tensor.device == device, name
        assert tensor.dtype == expected[name].dtype, name
        assert tensor.shape == expected[name].shape, name
        assert bits(tensor) == bits(expected[name]), name


def number(device):
    """How safetensors can be told the device: by its number."""
    return "cpu" if device.type == "cpu" else device.index


def test_a_file_saved_from_the_device_is_the_one_saved_from_the_cpu(device, tmp_path):
    state = tensors()
    save_file(state, tmp_path / "cpu", metadata={"format": "pt"})
    save_file(on(device, state), tmp_path / "device", metadata={"format": "pt"})
    assert (tmp_path / "device").read_bytes() == (tmp_path / "cpu").read_bytes()


def test_what_is_still_being_computed_is_saved_complete(device, tmp_path):
    x = torch.full((64, 64), 0.5, device=device)
    for _ in range(50):
        x = x @ x / 16
    save_file({"x": x}, tmp_path / "x")
    assert bits(load_file(tmp_path / "x")["x"]) == bits(x)


def test_views_and_slices_of_device_tensors_are_saved(device, tmp_path):
    base = torch.arange(24.0).reshape(4, 6)
    whole = base.to(device)
    save_file({"rows": whole[1:3].clone(), "turned": whole.t().contiguous()}, tmp_path / "x")
    loaded = load_file(tmp_path / "x", device=number(device))
    assert_same_bits(loaded, {"rows": base[1:3], "turned": base.t().contiguous()}, device)


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_load_file_with_a_number_loads_onto_the_device(device, tmp_path, backend):
    state = tensors()
    save_file(on(device, state), tmp_path / "x")
    loaded = load_file(tmp_path / "x", device=number(device), backend=backend)
    assert_same_bits(loaded, state, device)


def test_load_file_with_a_number_loads_onto_the_second_device(device, other_device, tmp_path):
    state = tensors()
    save_file(on(device, state), tmp_path / "x")
    loaded = load_file(tmp_path / "x", device=other_device.index)
    assert_same_bits(loaded, state, other_device)


def test_a_loaded_file_can_be_moved_onto_the_device(device, tmp_path):
    state = tensors()
    save_file(state, tmp_path / "x")
    assert_same_bits(on(device, load_file(tmp_path / "x")), state, device)


@pytest.mark.accelerator("safetensors knows the CPU's name")
def test_the_name_of_the_device_is_unknown_to_safetensors(device, tmp_path):
    save_file({"x": torch.ones(2)}, tmp_path / "x")
    for name in (device.type, str(device)):
        with pytest.raises(safetensors.SafetensorError, match="is invalid"):
            load_file(tmp_path / "x", device=name)
        with pytest.raises(safetensors.SafetensorError, match="is invalid"):
            safetensors.safe_open(tmp_path / "x", framework="pt", device=name)


def test_safe_open_reads_tensors_and_slices_onto_the_device(device, tmp_path):
    state = {"a": torch.randn(6, 4), "b": torch.arange(5)}
    save_file(on(device, state), tmp_path / "x", metadata={"step": "7"})
    with safetensors.safe_open(tmp_path / "x", framework="pt", device=number(device)) as file:
        assert file.metadata() == {"step": "7"}
        assert_same_bits({name: file.get_tensor(name) for name in file.keys()}, state, device)  # noqa: SIM118
        part = file.get_slice("a")[2:4, 1:]
    assert part.device == device
    assert bits(part.contiguous()) == bits(state["a"][2:4, 1:].contiguous())


def test_bytes_carry_device_tensors(device):
    state = tensors()
    assert_same_bits(load(save(on(device, state))), state, torch.device("cpu"))


@pytest.mark.parametrize("read_onto", ["cpu", "device"])
def test_a_model_is_saved_and_loaded_in_place(device, tmp_path, read_onto):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    expected = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    save_model(model.to(device), tmp_path / "x")
    other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).to(device)
    where = "cpu" if read_onto == "cpu" else number(device)
    assert load_model(other, tmp_path / "x", device=where) == (set(), [])
    assert_same_bits(dict(other.state_dict()), expected, device)


def test_tied_weights_are_saved_once_and_stay_tied(device, tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

    model, other = Tied().to(device), Tied().to(device)
    with pytest.raises(RuntimeError, match="share memory"):
        save_file(model.state_dict(), tmp_path / "x")
    save_model(model, tmp_path / "x")
    with safetensors.safe_open(tmp_path / "x", framework="pt") as file:
        assert len(file.keys()) == 1
    load_model(other, tmp_path / "x")
    assert other.head.weight is other.embedding.weight
    assert bits(other.head.weight.detach()) == bits(model.head.weight.detach())
