"""docs/sharing.md: its code runs."""

import re
from pathlib import Path

import numpy
import pytest
import torch

import torchplug

PAGE = (Path(__file__).resolve().parents[2] / "docs/sharing.md").read_text()
BLOCKS = re.findall(r"(?:^    .+\n)+", PAGE, re.MULTILINE)


def test_the_page_is_read_whole():
    assert len(BLOCKS) == 4


@pytest.mark.accelerator("the page is about a device")
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_code_runs(device, block):
    if "interprocess" in block and device.type != "sim":
        pytest.skip("events are shared by plugins that can")
    x = torch.arange(6.0, device=device)
    names = {
        "torch": torch,
        "torchplug": torchplug,
        "numpy": numpy,
        "x": x,
        "address": x.data_ptr(),
    }
    code = "\n".join(line.strip() for line in block.splitlines()).replace("sim", device.type)
    exec(code, {**names, "buffer": x})  # noqa: S102 - the page's own words
