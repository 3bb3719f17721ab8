"""transformers.Trainer: an unchanged script trains, saves and resumes on the device."""

import functools
import json
from pathlib import Path

import pytest
import torch
from processes import run_script, run_script_here
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


def train(device, folder, *options, **environment):
    """In this process."""
    run_script_here(device, SCRIPT, folder, *options, **environment)
    return Run(folder)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The training without options, once for each device."""
    return functools.cache(lambda device: train(device, tmp_path_factory.mktemp("uninterrupted")))


def assert_same_bits(actual, expected):
    assert actual.keys() == expected.keys()
    for name, weight in actual.items():
        assert torch.equal(weight, expected[name]), name


def test_an_unchanged_script_trains_on_the_device_as_on_the_cpu(device, uninterrupted, tmp_path):
    run_script(device, SCRIPT, tmp_path)
    run, expected = Run(tmp_path), uninterrupted("cpu")
    assert run.device == device and expected.device == torch.device("cpu")
    torch.testing.assert_close(run.losses, expected.losses, rtol=1e-4, atol=0)
    torch.testing.assert_close(run.evaluations, expected.evaluations, rtol=1e-4, atol=0)
    assert run.losses[-1] < 0.95 * run.losses[0]
    assert run.predictions == [48, 9, 64]


def test_a_resumed_training_ends_where_the_uninterrupted_one_does(device, uninterrupted, tmp_path):
    whole = uninterrupted(device)
    resumed = train(device, tmp_path, "--resume", whole.folder / "checkpoint-4")
    assert resumed.device == device
    assert not (tmp_path / "checkpoint-4").exists(), "it was trained from the beginning"
    assert resumed.losses == whole.losses
    assert resumed.evaluations == whole.evaluations
    assert_same_bits(resumed.weights, whole.weights)


def test_a_checkpoint_of_the_device_is_resumed_on_the_cpu(device, uninterrupted, tmp_path):
    whole = uninterrupted(device)
    resumed = train("cpu", tmp_path, "--resume", whole.folder / "checkpoint-4")
    assert resumed.device == torch.device("cpu")
    torch.testing.assert_close(resumed.losses, whole.losses, rtol=1e-4, atol=0)


@pytest.mark.accelerator("Trainer keeps the CPU's random state itself")
def test_dropout_resumes_where_the_device_random_state_is_kept(device, tmp_path):
    dropout, keep = ["--dropout", "0.3"], ["--device-randomness"]
    resume = ["--resume", tmp_path / "whole/checkpoint-4"]
    whole = train(device, tmp_path / "whole", *dropout, *keep)
    resumed = train(device, tmp_path / "resumed", *dropout, *keep, *resume)
    assert resumed.losses == whole.losses
    assert_same_bits(resumed.weights, whole.weights)
    other = train(device, tmp_path / "other", *dropout, *resume)
    assert other.losses != whole.losses, "Trainer keeps it itself: docs/clients.md"


@pytest.mark.parametrize("name", OPTIONS)
def test_the_options_of_training_arguments_train_as_on_the_cpu(device, tmp_path, name):
    options = ["--arguments", json.dumps(OPTIONS[name])]
    run, expected = (train(where, tmp_path / str(where), *options) for where in (device, "cpu"))
    assert run.device == device
    torch.testing.assert_close(run.losses, expected.losses, rtol=1e-4, atol=0)


@pytest.mark.usefixtures("mixed_precision")
def test_mixed_precision_comes_from_the_environment(device, tmp_path):
    run = train(device, tmp_path, ACCELERATE_MIXED_PRECISION="bf16")
    assert run.device == device
    assert run.mixed_precision == "bf16"
    assert run.losses[-1] < 0.95 * run.losses[0]
