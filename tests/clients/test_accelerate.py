"""accelerate.Accelerator: an unchanged script trains on the device."""

import functools
import json
import tempfile
from pathlib import Path

import accelerate
import pytest
import torch
from processes import run_script, run_script_on_the_cpu

SCRIPT = "train_with_accelerate.py"

VARIANTS = {
    "plain": [],
    "interrupted": ["--interrupt"],
    "dropout": ["--dropout", "0.3", "--device-randomness"],
    "dropout_interrupted": ["--dropout", "0.3", "--device-randomness", "--interrupt"],
    "dropout_forgetful": ["--dropout", "0.3", "--interrupt"],
}


@functools.cache
def results(device):
    """Of every variant, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in VARIANTS}
        line = []
        for name, arguments in VARIANTS.items():
            line += [files[name], *arguments, "and"]
        if device == "cpu":
            run_script_on_the_cpu(SCRIPT, *line[:-1])
        else:
            run_script(device, SCRIPT, *line[:-1])
        return {name: json.loads(file.read_text()) for name, file in files.items()}


def test_an_unchanged_script_trains_on_the_device_as_on_the_cpu(device):
    result, expected = results(device.type)["plain"], results("cpu")["plain"]
    assert result["device"] == str(device) and expected["device"] == "cpu"
    torch.testing.assert_close(result["losses"], expected["losses"], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(result["weights"], expected["weights"], rtol=1e-3, atol=1e-4)


def test_the_second_device_can_be_chosen(other_device, tmp_path):
    run_script(str(other_device), SCRIPT, tmp_path / "result")
    result = json.loads((tmp_path / "result").read_text())
    expected = results("cpu")["plain"]
    assert result["device"] == str(other_device)
    torch.testing.assert_close(result["losses"], expected["losses"], rtol=1e-4, atol=1e-6)


def test_training_in_mixed_precision_learns_on_the_device(device, tmp_path):
    run_script(device.type, SCRIPT, tmp_path / "result", "--mixed-precision", "bf16")
    result = json.loads((tmp_path / "result").read_text())
    losses = result["losses"]
    assert result["device"] == str(device)
    assert sum(losses[-8:]) < 0.7 * sum(losses[:8])
    in_full = results(device.type)["plain"]["losses"]
    assert losses != in_full, "it computed in float32"
    torch.testing.assert_close(losses, in_full, rtol=0.1, atol=0.05)


def test_a_state_saved_and_loaded_changes_nothing(device):
    assert results(device.type)["interrupted"] == results(device.type)["plain"]


@pytest.mark.accelerator("accelerate keeps the CPU's random state itself")
def test_dropout_goes_on_where_the_device_random_state_is_registered(device):
    variants = results(device.type)
    assert variants["dropout_interrupted"] == variants["dropout"]
    assert variants["dropout_forgetful"] != variants["dropout"], (
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
