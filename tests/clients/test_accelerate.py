"""accelerate.Accelerator: an unchanged script trains on the device."""

import functools
import json
import tempfile
from pathlib import Path

import accelerate
import pytest
import torch
from processes import run_script, run_script_here

SCRIPT = "train_with_accelerate.py"

VARIANTS = {
    "plain": [],
    "mixed": ["--mixed-precision", "bf16"],
    "interrupted": ["--interrupt"],
    "dropout": ["--dropout", "0.3", "--device-randomness"],
    "dropout_interrupted": ["--dropout", "0.3", "--device-randomness", "--interrupt"],
    "dropout_forgetful": ["--dropout", "0.3", "--interrupt"],
}


@functools.cache
def result(device, variant="plain"):
    """Of a training in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "result.json")
        run_script_here(device, SCRIPT, file, *VARIANTS[variant])
        return json.loads(file.read_text())


def test_an_unchanged_script_trains_on_the_device_as_on_the_cpu(device, tmp_path):
    run_script(device, SCRIPT, tmp_path / "result.json")
    trained, expected = json.loads((tmp_path / "result.json").read_text()), result("cpu")
    assert trained["device"] == str(device) and expected["device"] == "cpu"
    torch.testing.assert_close(trained["losses"], expected["losses"], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(trained["weights"], expected["weights"], rtol=1e-3, atol=1e-4)


def test_the_second_device_can_be_chosen(other_device):
    trained = result(other_device)
    assert trained["device"] == str(other_device)
    torch.testing.assert_close(trained["losses"], result("cpu")["losses"], rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("mixed_precision")
def test_training_in_mixed_precision_learns_on_the_device(device):
    losses, in_full = result(device, "mixed")["losses"], result(device)["losses"]
    assert result(device, "mixed")["device"] == str(device)
    assert sum(losses[-8:]) < 0.7 * sum(losses[:8])
    assert losses != in_full, "it computed in float32"
    torch.testing.assert_close(losses, in_full, rtol=0.1, atol=0.05)


def test_a_state_saved_and_loaded_changes_nothing(device):
    assert result(device, "interrupted") == result(device)


@pytest.mark.accelerator("accelerate keeps the CPU's random state itself")
def test_dropout_goes_on_where_the_device_random_state_is_registered(device):
    whole = result(device, "dropout")
    assert result(device, "dropout_interrupted") == whole
    assert result(device, "dropout_forgetful") != whole, (
        "accelerate keeps it itself: docs/clients.md"
    )


@pytest.mark.accelerator("the CPU promises more memory than it has")
def test_a_batch_that_does_not_fit_is_made_smaller(device):
    tried = []

    @accelerate.utils.find_executable_batch_size(starting_batch_size=8)
    def train_with(batch_size):
        tried.append(batch_size)
        torch.empty(1 << 46 if batch_size > 2 else 1, dtype=torch.uint8, device=device)
        return batch_size

    assert train_with() <= 2
    assert len(tried) > 1
