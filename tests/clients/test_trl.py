"""trl: SFTTrainer trains, saves and resumes on the device, as on the CPU."""

import functools
import importlib
import json

import pytest
import torch
from processes import accelerate_on
from tiny_models import TOKENS, llama, seeded
from words import tokenizer

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def trl():
    """Imported late: it takes long, and not every process that collects these tests runs some."""
    return importlib.import_module("trl")


def sentences():
    """Counting in steps of 1 to 4."""
    words = range(3, TOKENS)
    texts = [[words[(i + k * (i % 4 + 1)) % len(words)] for k in range(9)] for i in range(24)]
    dataset = importlib.import_module("datasets").Dataset
    return dataset.from_list([{"text": " ".join(f"w{word}" for word in text)} for text in texts])


@pytest.fixture(scope="module")
def train(trl, tmp_path_factory):
    """Trains on the device; returns the losses, the trainer and the folder of the checkpoints."""

    @functools.cache
    def run(device, resume=None, precision="no"):
        results = tmp_path_factory.mktemp("run")
        with accelerate_on(device, ACCELERATE_MIXED_PRECISION=precision):
            arguments = trl.SFTConfig(
                str(results),
                bf16=False,
                max_steps=6,
                save_steps=3,
                logging_steps=1,
                per_device_train_batch_size=4,
                learning_rate=1e-2,
                report_to=[],
                disable_tqdm=True,
            )
            trainer = trl.SFTTrainer(
                seeded(llama), arguments, train_dataset=sentences(), processing_class=tokenizer()
            )
            trainer.train(resume_from_checkpoint=resume)
            assert trainer.accelerator.mixed_precision == precision
        history = trainer.state.log_history
        return [entry["loss"] for entry in history if "loss" in entry], trainer, results

    return run


def test_supervised_tuning_learns_on_the_device_as_on_the_cpu(device, train):
    losses, trainer, _ = train(device)
    expected, _, _ = train("cpu")
    assert trainer.model.device == device
    assert expected[-1] < 0.9 * expected[0]
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=0)


def test_the_second_device_trains_as_the_cpu(other_device, train):
    losses, trainer, _ = train(other_device)
    expected, _, _ = train("cpu")
    assert trainer.model.device == other_device
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=0)


def test_a_resumed_tuning_ends_where_the_uninterrupted_one_does(device, train):
    losses, whole, folder = train(device)
    again, resumed, results = train(device, folder / "checkpoint-3")
    assert not (results / "checkpoint-3").exists(), "it was trained from the beginning"
    assert again == losses
    assert resumed.model.device == device
    for weight, expected in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(weight, expected)


@pytest.mark.usefixtures("mixed_precision")
def test_mixed_precision_comes_from_the_environment(device, train):
    in_full, _, _ = train(device)
    losses, trainer, _ = train(device, precision="bf16")
    assert trainer.model.device == device
    assert losses != in_full, "it computed in float32"
    torch.testing.assert_close(losses, in_full, rtol=0.05, atol=0)


@pytest.mark.accelerator("the page is about a device")
@pytest.mark.parametrize("options", [{}, {"bf16": True}], ids=json.dumps)
def test_the_precision_that_trl_takes_by_itself_is_refused(device, trl, tmp_path, options):
    with accelerate_on(device), pytest.raises(ValueError, match="bf16"):
        trl.SFTConfig(str(tmp_path), **options)
