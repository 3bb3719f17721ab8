"""docs/streams.md says what is true."""

import os
import re
from pathlib import Path

import warm_interpreter

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "streams.md").read_text()


def run(code):
    environment = os.environ | {"TORCHPLUG_DEVICE": "sim"}
    done = warm_interpreter.run(code, [], environment, 120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_examples_do_what_is_said():
    ordering, holding = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert run(ordering) == ["2000.0"]
    assert run(holding) == ["[0.0, 0.0, 0.0, 0.0] False", "[1.0, 1.0, 1.0, 1.0]"]


def test_an_error_reads_as_shown():
    code = """
import torch
x, index = torch.arange(4.0, device="sim"), torch.tensor([0], device="sim")
x[index]
try:
    x[index + 10].cpu()
except IndexError as error:
    print(f"IndexError: {error}")
"""
    (shown,) = re.findall(r"^    (IndexError: .*)$", PAGE, re.MULTILINE)
    (said,) = run(code)
    assert re.sub(r"call \d+", "call 17", said) == shown
