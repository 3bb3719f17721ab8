"""Notes on a tensor go with it where PyTorch's BackendMeta goes."""

import io

import pytest
import torch
from helpers import assert_equal, output_of

import torchplug

pytestmark = pytest.mark.accelerator("BackendMeta is for devices like torchplug's")

NOTES = {"format": "fractal=16:z", "layout of Müller": ""}


@pytest.fixture
def noted(device):
    tensor = torch.arange(6.0, device=device).reshape(2, 3)
    torchplug.set_backend_meta(tensor, NOTES)
    return tensor


def saved_and_loaded(value, **how):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **how)


def test_a_tensor_has_no_notes_until_it_gets_some(device, noted):
    plain = torch.ones(2, device=device)
    assert torchplug.get_backend_meta(plain) == {}
    assert torchplug.get_backend_meta(noted) == NOTES
    torchplug.set_backend_meta(noted, {"format": "plain"})
    assert torchplug.get_backend_meta(noted) == {"format": "plain"}
    torchplug.set_backend_meta(noted, {})
    assert torchplug.get_backend_meta(noted) == {}


def test_torch_save_and_load_keep_them(noted):
    back = saved_and_loaded({"x": noted}, weights_only=True)["x"]
    assert_equal(back, noted.cpu())
    assert torchplug.get_backend_meta(back) == NOTES
    assert torch._utils.get_tensor_metadata(back) == torch._utils.get_tensor_metadata(noted)


def test_a_parameter_keeps_them(noted):
    parameter = torch.nn.Parameter(noted)
    assert torchplug.get_backend_meta(parameter) == NOTES
    assert torchplug.get_backend_meta(saved_and_loaded(parameter)) == NOTES


def test_they_stay_behind_on_the_cpu(noted):
    on_cpu = saved_and_loaded(noted, map_location="cpu")
    assert_equal(on_cpu, noted.cpu())
    assert torchplug.get_backend_meta(on_cpu) == torchplug.get_backend_meta(noted.cpu()) == {}


def test_a_process_without_the_device_reads_the_tensor(noted, tmp_path):
    torch.save(noted.cpu(), tmp_path / "host.pt")
    torch.save(noted, tmp_path / "x.pt")
    code = """
        print(torch.load(sys.argv[2], map_location="cpu").tolist())
    """
    read = output_of(code, "cpu", tmp_path / "x.pt", TORCHPLUG_DEVICE="none")
    assert read == "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"


def test_detach_and_data_keep_them_and_operators_do_not(noted):
    assert torchplug.get_backend_meta(noted.detach()) == NOTES
    assert torchplug.get_backend_meta(noted.data) == NOTES
    assert torchplug.get_backend_meta(noted + 1) == torchplug.get_backend_meta(noted.clone()) == {}


def test_conjugate_bits_and_notes_travel_together(device):
    x = torch.tensor([1 + 2j], device=device).conj()
    torchplug.set_backend_meta(x, NOTES)
    back = saved_and_loaded(x)
    assert back.is_conj() and torchplug.get_backend_meta(back) == NOTES
    assert back.tolist() == [1 - 2j]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_keeps_them(noted):
    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(noted)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight.t()

    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Holder()), file)
    file.seek(0)
    back = torch.jit.load(file)
    x = torch.ones(1, 3, device=noted.device)
    assert back(x).tolist() == [[3.0, 12.0]]
    assert torchplug.get_backend_meta(back.weight) == NOTES


def test_a_tensor_of_the_cpu_takes_none(device):
    with pytest.raises(RuntimeError, match=f"tensors of device '{device.type}'"):
        torchplug.set_backend_meta(torch.ones(2), {"a": "b"})
