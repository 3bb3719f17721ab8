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


def check_dlpack(x, names):
    y, copy = torch.from_dlpack(x), names["y"]
    assert y.data_ptr() == x.data_ptr()
    assert copy.device.type == "cpu" and torch.equal(copy, x.cpu())
    assert x.__dlpack_device__() == (12, 0)
    with pytest.raises((BufferError, TypeError, RuntimeError)):
        numpy.from_dlpack(x)


def check_from_blob(x, names):
    y = names["y"]
    y.add_(1)
    assert torch.equal(y.cpu(), x.cpu().view(2, 3)) and y.data_ptr() == x.data_ptr()


def check_event(x, names):
    names["event"].synchronize()
    assert names["event"].query()


def check_meta(x, names):
    assert torchplug.get_backend_meta(x.detach()) == {"format": "blocked"}


CHECKS = [check_dlpack, check_from_blob, check_event, check_meta]


@pytest.mark.accelerator("the page is about a device")
@pytest.mark.parametrize(("block", "check"), list(zip(BLOCKS, CHECKS, strict=True)), ids=range(4))
def test_the_code_does_what_the_page_says(device, block, check):
    if "interprocess" in block and device.type != "sim":
        pytest.skip("events are shared by plugins that can")
    x = torch.arange(6.0, device=device)
    names = {
        "torch": torch,
        "torchplug": torchplug,
        "numpy": numpy,
        "x": x,
        "address": x.data_ptr(),
        "buffer": x,
    }
    code = "\n".join(line.strip() for line in block.splitlines()).replace("sim", device.type)
    exec(code, names)  # noqa: S102 - the page's own words
    check(x, names)
