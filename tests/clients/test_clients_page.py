"""docs/clients.md: what it tells to write works, and what it tells not to write does not."""

import importlib
import importlib.metadata
import re
import warnings
from pathlib import Path

import accelerate
import pytest
import safetensors
import torch
import transformers
from processes import accelerate_on
from safetensors.torch import load_file, save_file
from tiny_models import llama, seeded, tokens
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.data import DataLoader
from words import tokenizer

import torchplug.lightning  # noqa: F401 - the rows with lightning's Trainer come after it

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/clients.md").read_text()
MAKEFILE = (HERE.parents[1] / "Makefile").read_text()
INSTEAD = PAGE.split("## What to write instead")[1]

LATE = {"Trainer": "lightning", "SentenceTransformer": "sentence_transformers"}
"""Imported for the rows that speak of them alone: it takes long."""

ROWS = re.findall(r"^\| (`.+?`(?: after `.+?`)?) \| `(.+?)` \|", INSTEAD, re.MULTILINE)


def expressions():
    """(expression, what is done before it, the better expression) of each row of the table."""
    found = []
    for wrong, right in ROWS:
        parts = re.findall(r"`(.+?)`", wrong)
        found.append((parts[0], parts[1] if len(parts) == 2 else "pass", right))
    return found


@pytest.fixture
def names(device, tmp_path):
    """What the expressions of the table speak of."""
    reference = seeded(llama).eval()
    reference.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    save_file({"x": torch.ones(2)}, tmp_path / "x.safetensors")
    with accelerate.init_empty_weights():
        empty = transformers.LlamaForCausalLM(reference.config)
    return {
        "AutoModelForCausalLM": transformers.AutoModelForCausalLM,
        "DataLoader": DataLoader,
        "F": F,
        "data": list(range(4)),
        "empty": empty,
        "file": tmp_path / "x.safetensors",
        "flex_attention": flex_attention,
        "folder": str(tmp_path),
        "load_checkpoint_and_dispatch": accelerate.load_checkpoint_and_dispatch,
        "load_file": load_file,
        "model": reference.to(device),
        "net": nn.Linear(16, 4).to(device),
        "nn": nn,
        "pipeline": transformers.pipeline,
        "q": torch.randn(1, 2, 128, 16, device=device),
        "safe_open": safetensors.safe_open,
        "torch": torch,
        "x": tokens().to(device),
    }


def place(value, device):
    """The type of the device an expression's value lives or works on."""
    if isinstance(value, torch.Tensor):
        return value.device.type
    if isinstance(value, dict):
        return place(next(iter(value.values())), device)
    if isinstance(value, nn.Module):
        return place(next(value.parameters()), device)
    if isinstance(value, transformers.Pipeline):
        return place(value.model, device)
    if hasattr(value, "strategy"):  # of lightning
        return value.strategy.root_device.type
    if isinstance(value, DataLoader):
        return place(next(iter(value)), device)
    if isinstance(value, torch.amp.GradScaler):
        return (
            value.scale(torch.ones(1, device=device)).device.type if value.is_enabled() else "cpu"
        )
    with value as file:  # of safe_open
        return place(file.get_tensor("x"), device)


def outcome(expression, before, names, device):
    """Where it works, or what it raises."""
    torch._dynamo.reset()
    late = {name: package for name, package in LATE.items() if f"{name}(" in expression}
    names |= {name: getattr(importlib.import_module(late[name]), name) for name in late}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(named(before, device), names)  # noqa: S102 - the page's own words
            return place(eval(named(expression, device), names), device)
    except Exception as error:  # noqa: BLE001 - of many kinds, from several libraries
        return error
    finally:
        torch.set_default_device(None)


def named(text, device):
    return text.replace('"sim', f'"{device.type}')


@pytest.mark.accelerator("the page is about a device")
@pytest.mark.parametrize(("wrong", "before", "right"), expressions(), ids=lambda text: text[:40])
def test_each_row_of_the_table(device, names, wrong, before, right):
    result = outcome(wrong, before, names, device)
    assert isinstance(result, Exception) or result == "cpu", (
        "it works: take the row out of the page"
    )
    assert outcome(right, before, names, device) == device.type


def test_the_table_is_read_whole():
    table = INSTEAD.split("\n\n")[2]
    assert len(ROWS) == len(table.strip().splitlines()) - 2 > 10


def test_the_versions_are_those_that_are_tested():
    pinned = dict(
        re.findall(r"^(\w+)==(\S+)$", (HERE / "requirements.txt").read_text(), re.MULTILINE)
    )
    unsaid = {"datasets", "tokenizers"}  # needed by others
    tested = re.search(r"Tested with(.*?), on `sim`", PAGE, re.DOTALL)[1]
    said = dict(re.findall(r"([\w-]+)\s(\d[\d.]*\d)", tested))
    assert said.pop("PyTorch") == re.search(r"torch==(\S+)", MAKEFILE)[1]
    said = {name.replace("-", "_"): version for name, version in said.items()}
    assert said == {name: version for name, version in pinned.items() if name not in unsaid}
    for name, version in pinned.items():
        assert version == importlib.metadata.version(name)


@pytest.mark.parametrize("number", [0, 1])
def test_the_classes_are_those_of_the_scripts(number):
    script = ["train_with_trainer.py", "train_with_accelerate.py"][number]
    block = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[number]
    assert block in (HERE / "scripts" / script).read_text()


@pytest.mark.accelerator("the page is about a device")
def test_the_lines_for_lightning_take_the_device(device):
    names = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[2], names)  # noqa: S102 - the page's own words
    trainer = names["trainer"]
    assert trainer.strategy.root_device == device
    assert (trainer.precision, trainer.precision_plugin.device) == ("bf16-mixed", device.type)


def test_every_test_file_it_names_exists():
    for name in re.findall(r"`(test_\w+\.py)`", PAGE):
        assert (HERE / name).exists()


@pytest.mark.accelerator("the page is about a device")
def test_without_the_variable_accelerate_takes_the_cpu():
    assert accelerate.PartialState().default_device == torch.device("cpu")


@pytest.mark.accelerator("the page is about a device")
def test_the_precisions_that_are_refused(device, tmp_path):
    with accelerate_on(device):
        with pytest.raises(ValueError, match="bf16"):
            transformers.TrainingArguments(str(tmp_path), bf16=True)
        with pytest.raises(ValueError, match="fp16"):
            accelerate.Accelerator(mixed_precision="fp16")
