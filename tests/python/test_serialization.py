"""Tensors, modules and optimizers on the device survive being saved, copied and pickled."""

import copy
import io
import pickle

import pytest
import torch
from helpers import assert_equal, output_of
from torch import nn

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def through_a_file(value, **how):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, **how)


def values(device, dtype=torch.float32):
    return torch.arange(12).reshape(3, 4).to(dtype).to(device)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_saved_tensor_comes_back_to_its_device(device, dtype, weights_only):
    x = values(device, dtype)
    loaded = through_a_file(x, weights_only=weights_only)
    assert loaded.device == device
    assert_equal(loaded, values("cpu", dtype))


@pytest.mark.parametrize("form", ["string", "device", "dictionary", "callable"])
def test_map_location_brings_a_tensor_to_the_cpu(device, form):
    target = {
        "string": "cpu",
        "device": torch.device("cpu"),
        "dictionary": {str(device): "cpu"},
        "callable": lambda storage, location: storage,
    }[form]
    loaded = through_a_file(values(device), map_location=target)
    assert loaded.device == torch.device("cpu")
    assert_equal(loaded, values("cpu"))


@pytest.mark.parametrize("form", ["string", "type", "device", "dictionary"])
def test_map_location_brings_a_tensor_to_the_device(device, form):
    target = {
        "string": str(device),
        "type": device.type,
        "device": device,
        "dictionary": {"cpu": str(device)},
    }[form]
    loaded = through_a_file(values("cpu"), map_location=target)
    assert loaded.device == device
    assert_equal(loaded, values("cpu"))


def test_map_location_moves_between_devices(device, other_device):
    loaded = through_a_file(values(device), map_location=str(other_device))
    assert loaded.device == other_device
    assert_equal(loaded, values("cpu"))
    assert through_a_file(values(other_device)).device == other_device


def test_strides_and_offset_are_kept(device):
    view = values(device).t()[1:, ::2]
    loaded = through_a_file(view)
    assert loaded.stride() == view.stride()
    assert loaded.storage_offset() == view.storage_offset()
    assert_equal(loaded, values("cpu").t()[1:, ::2])


def test_tensors_that_share_a_storage_share_it_again(device):
    x = values(device)
    whole, part = through_a_file([x, x[1]])
    part.fill_(50)
    assert whole[1].tolist() == [50, 50, 50, 50]
    assert whole.untyped_storage().data_ptr() == part.untyped_storage().data_ptr()


def test_requires_grad_and_parameters_are_kept(device):
    x = values(device).requires_grad_()
    assert through_a_file(x).requires_grad
    loaded = through_a_file(nn.Parameter(values(device)))
    assert isinstance(loaded, nn.Parameter)
    assert loaded.device == device


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)], ids=str)
def test_small_shapes_are_kept(device, shape):
    x = torch.full(shape, 3.0, device=device)
    loaded = through_a_file(x)
    assert loaded.device == device
    assert_equal(loaded, torch.full(shape, 3.0))


def test_a_memory_mapped_file_loads_onto_the_device(device, tmp_path):
    torch.save(values("cpu"), tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt", map_location="cpu", mmap=True).to(device)
    assert_equal(loaded, values("cpu"))


def test_deepcopy_is_equal_and_apart(device):
    x = values(device)
    twin = copy.deepcopy(x)
    x.zero_()
    assert twin.device == device
    assert_equal(twin, values("cpu"))


def test_deepcopy_keeps_sharing_and_strides(device):
    x = values(device)
    whole, turned = copy.deepcopy([x, x.t()])
    whole[0, 1] = 99
    assert turned[1, 0].item() == 99
    assert turned.stride() == x.t().stride()
    assert x[0, 1].item() == 1


def test_deepcopy_of_a_module_is_apart(device):
    module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(device)
    expected = copy.deepcopy(module).cpu().state_dict()
    twin = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in module.state_dict().values():
            tensor.zero_()
    assert all(tensor.device == device for tensor in twin.state_dict().values())
    assert_equal(dict(twin.state_dict()), dict(expected))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_value_and_device(device, protocol):
    loaded = pickle.loads(pickle.dumps(values(device).t(), protocol))
    assert loaded.device == device
    assert_equal(loaded, values("cpu").t())


def test_the_device_itself_can_be_pickled(device):
    assert pickle.loads(pickle.dumps(device)) == device


def test_deepcopy_of_a_storage_is_equal_and_apart(device):
    storage = values(device).untyped_storage()
    twin = copy.deepcopy(storage)
    assert twin.device == device
    assert twin.data_ptr() != storage.data_ptr()
    assert torch.empty(0, device=device).set_(twin).tolist() == list(range(12))


@pytest.mark.parametrize("saved_on_the_device", [True, False])
def test_a_state_dict_crosses_between_cpu_and_device(device, saved_on_the_device):
    source, target = ("cpu", device) if not saved_on_the_device else (device, "cpu")
    torch.manual_seed(1)
    trained = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(source)
    trained(torch.randn(5, 4).to(source))
    fresh = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(target)
    fresh.load_state_dict(through_a_file(trained.state_dict()))
    assert all(t.device == torch.device(target) for t in fresh.state_dict().values())
    assert_equal(dict(fresh.state_dict()), dict(trained.state_dict()))


def test_load_state_dict_can_assign(device):
    source = nn.Linear(4, 3).to(device)
    with torch.device("meta"):
        target = nn.Linear(4, 3)
    target.load_state_dict(through_a_file(source.state_dict()), assign=True)
    x = torch.randn(2, 4).to(device)
    assert_equal(target(x), source(x))


@pytest.mark.parametrize("fused", [False, True])
def test_training_continues_from_a_saved_optimizer(device, fused):
    def step(model, optimizer, times):
        for _ in range(times):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

    def pair():
        model = nn.Linear(4, 3, dtype=torch.float64).to(device)
        return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=fused)

    x = torch.randn(5, 4, dtype=torch.float64).to(device)
    model, optimizer = pair()
    step(model, optimizer, 3)
    state = through_a_file({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    step(model, optimizer, 3)

    resumed, resumed_optimizer = pair()
    resumed.load_state_dict(state["model"])
    resumed_optimizer.load_state_dict(state["optimizer"])
    step(resumed, resumed_optimizer, 3)
    assert_equal(dict(resumed.state_dict()), dict(model.state_dict()))
    averages = [entry["exp_avg"] for entry in resumed_optimizer.state.values()]
    assert all(average.device == device for average in averages)


def test_a_fresh_process_reads_the_file(device, tmp_path):
    path = tmp_path / "model.pt"
    model = nn.Linear(4, 3).to(device)
    x = torch.randn(2, 4)
    torch.save({"state": model.state_dict(), "view": values(device).t()}, path)
    expected = model(x.to(device)).tolist()
    code = """
        saved = torch.load(sys.argv[2])
        model = torch.nn.Linear(4, 3).to(device)
        model.load_state_dict(saved["state"])
        x = torch.tensor(eval(sys.argv[3]), device=device)
        assert saved["view"].device == device and saved["view"].stride() == (1, 4)
        print(model(x).tolist(), saved["view"].tolist())
    """
    printed = output_of(code, device, path, x.tolist())
    assert printed == f"{expected} {values('cpu').t().tolist()}"


@pytest.mark.accelerator("there is nothing to be without")
def test_a_process_without_the_device_reads_the_file_onto_the_cpu(device, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"x": values(device).t()}, path)
    code = """
        x = torch.load(sys.argv[2], map_location="cpu")["x"]
        print(x.device, x.tolist())
    """
    printed = output_of(code, "cpu", path, TORCHPLUG_DEVICE="none")
    assert printed == f"cpu {values('cpu').t().tolist()}"


@pytest.mark.accelerator("the CPU has no index")
def test_an_index_beyond_the_last_device_is_refused_by_name(device):
    buffer = io.BytesIO()
    torch.save(values("cpu"), buffer)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match=r"9"):
        torch.load(buffer, map_location=f"{device.type}:9")
