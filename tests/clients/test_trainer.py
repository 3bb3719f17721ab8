"""transformers.Trainer: an unchanged script trains, saves and resumes on the device."""

import functools
import json
import tempfile
from pathlib import Path

import pytest
import torch
from processes import run_script, run_script_on_the_cpu
from safetensors.torch import load_file

SCRIPT = "train_with_trainer.py"

OPTIONS = {
    "accumulation": {"gradient_accumulation_steps": 2, "gradient_checkpointing": True},
    "workers": {"dataloader_num_workers": 1, "torch_empty_cache_steps": 1, "optim": "adamw_torch"},
    "best_model": {"load_best_model_at_end": True, "optim": "adafactor"},
}


class Run:
    """What a training left in its folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        result = json.loads((self.folder / "result.json").read_text())
        self.device, self.losses = torch.device(result["device"]), result["losses"]
        self.evaluations, self.predictions = result["evaluations"], result["predictions"]
        self.mixed_precision = result["mixed_precision"]
        self.weights = load_file(self.folder / "final/model.safetensors")


@functools.cache
def uninterrupted(device):
    """Kept for the tests that compare with it."""
    folder = tempfile.TemporaryDirectory()
    if device == "cpu":
        run_script_on_the_cpu(SCRIPT, folder.name)
    else:
        run_script(device, SCRIPT, folder.name)
    run = Run(folder.name)
    run.keep = folder
    return run


def assert_same_bits(actual, expected):
    assert actual.keys() == expected.keys()
    for name, weight in actual.items():
        assert torch.equal(weight, expected[name]), name


def test_an_unchanged_script_trains_on_the_device_as_on_the_cpu(device):
    run, expected = uninterrupted(device.type), uninterrupted("cpu")
    assert run.device == device and expected.device == torch.device("cpu")
    torch.testing.assert_close(run.losses, expected.losses, rtol=1e-4, atol=0)
    torch.testing.assert_close(run.evaluations, expected.evaluations, rtol=1e-4, atol=0)
    assert run.losses[-1] < 0.95 * run.losses[0]
    assert run.predictions == [48, 9, 64]


def test_a_resumed_training_ends_where_the_uninterrupted_one_does(device, tmp_path):
    whole = uninterrupted(device.type)
    run_script(device.type, SCRIPT, tmp_path, "--resume", whole.folder / "checkpoint-4")
    resumed = Run(tmp_path)
    assert resumed.device == device
    assert not (tmp_path / "checkpoint-4").exists(), "it was trained from the beginning"
    assert resumed.losses == whole.losses
    assert resumed.evaluations == whole.evaluations
    assert_same_bits(resumed.weights, whole.weights)


def test_a_checkpoint_of_the_device_is_resumed_on_the_cpu(device, tmp_path):
    whole = uninterrupted(device.type)
    run_script_on_the_cpu(SCRIPT, tmp_path, "--resume", whole.folder / "checkpoint-4")
    resumed = Run(tmp_path)
    assert resumed.device == torch.device("cpu")
    torch.testing.assert_close(resumed.losses, whole.losses, rtol=1e-4, atol=0)


@pytest.mark.accelerator("Trainer keeps the CPU's random state itself")
def test_dropout_resumes_where_the_device_random_state_is_kept(device, tmp_path):
    kept, lost = ["--dropout", "0.3", "--device-randomness"], ["--dropout", "0.3"]
    whole, resumed, other = (tmp_path / name for name in ("whole", "resumed", "other"))
    resume = ["--resume", whole / "checkpoint-4"]
    run_script(
        device.type,
        SCRIPT,
        *[whole, *kept, "and", resumed, *kept, *resume, "and", other, *lost, *resume],
    )
    assert Run(resumed).losses == Run(whole).losses
    assert_same_bits(Run(resumed).weights, Run(whole).weights)
    assert Run(other).losses != Run(whole).losses, "Trainer keeps it itself: docs/clients.md"


def test_the_options_of_training_arguments_train_as_on_the_cpu(device, tmp_path):
    line = []
    for name, arguments in OPTIONS.items():
        options = ["--arguments", json.dumps(arguments)]
        line += [tmp_path / name, *options, "and"]
        run_script_on_the_cpu(SCRIPT, tmp_path / "cpu" / name, *options)
    run_script(device.type, SCRIPT, *line[:-1])
    for name in OPTIONS:
        run, expected = Run(tmp_path / name), Run(tmp_path / "cpu" / name)
        assert run.device == device
        torch.testing.assert_close(run.losses, expected.losses, rtol=1e-4, atol=0, msg=name)


def test_mixed_precision_comes_from_the_environment(device, tmp_path):
    run_script(device.type, SCRIPT, tmp_path, ACCELERATE_MIXED_PRECISION="bf16")
    run = Run(tmp_path)
    assert run.device == device
    assert run.mixed_precision == "bf16"
    assert run.losses[-1] < 0.95 * run.losses[0]
