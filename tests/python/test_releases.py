"""Tests of what only some releases of PyTorch have say so, and one page lists them."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.accelerator("it is about the tests", only="sim")

HERE = Path(__file__).parent
ROW = re.compile(r"^\| `(?P<test>.+)` \| (?P<since>[\d.]+) \| (?P<before>.+) \|$", re.MULTILINE)


def marked(path):
    """(test or class, first release, reason) of every marker in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        for mark in getattr(node, "decorator_list", []):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.pytorch":
                (reason,), (since,) = mark.args, mark.keywords
                release = ".".join(map(str, ast.literal_eval(since.value)))
                yield f"{path.name}::{node.name}", release, ast.literal_eval(reason)


def test_the_page_lists_every_test_that_an_earlier_pytorch_skips():
    listed = ROW.findall((HERE / "pytorch-2.11.md").read_text())
    assert listed == sorted(row for path in HERE.glob("test_*.py") for row in marked(path))
    assert listed
