"""docs/graphs.md: its example is run as it stands, on whichever device there is."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.accelerator("the CPU captures nothing")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "graphs.md"


def test_the_example_trains(device, module):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if module.graphs.own_stream() is None:  # a device with one stream has none to make
        example = example.replace("device.Stream()", "None")
    torch.manual_seed(0)
    model = nn.Linear(128, 10).to(device)
    data = [(torch.randn(64, 128), torch.randn(64, 10))] * 30
    losses = []

    class Batches:
        def __iter__(self):
            for batch in data:
                yield batch
                losses.append(names["loss"].item())

    names = {"torch": torch, "model": model, "loss_fn": nn.MSELoss(), "batches": Batches()}
    code = example.replace("torch.sim", f"torch.{device.type}").replace('"sim"', f'"{device.type}"')
    exec(code, names)  # noqa: S102
    assert len(losses) == 30 and losses[-1] < losses[0] * 0.9
