"""The page on operators of a plugin's own: its code is a test's plugin, and what it says happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operators.md").read_text()
SOURCE = (ROOT / "tests/plugins/first_operator.c").read_text()
OPERATORS = " ".join(
    re.sub(r'"\s+"', "", (ROOT / "tests/plugins/own_operators.h").read_text()).split()
)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", blocks("c"), ids=lambda block: block.split("\n")[0])
def test_every_piece_of_code_is_in_the_plugin(block):
    assert block in SOURCE


def test_every_example_of_shapes_and_gradients_is_a_tested_operator():
    rows = re.findall(r"^\| `(\w+\(.*\) -> .*)` \| `(.*)` \|$", PAGE, re.MULTILINE)
    assert len(rows) == 6
    for schema, shapes in rows:
        assert f"::{schema}" in OPERATORS
        assert '.shapes = "' + shapes.replace("\\|", "|") + '"' in OPERATORS
    for gradient in re.findall(r"^    (\w.*\(.*\))$", PAGE, re.MULTILINE):
        assert gradient.replace("acme::", '" NAME "::') in OPERATORS


def test_the_commands_build_it_and_it_prints_what_the_page_says(tmp_path):
    (build, _run) = blocks("sh")[0].splitlines()
    subprocess.run(
        build.replace("libfirst.so", str(tmp_path / "libfirst.so")),
        shell=True,
        check=True,
        cwd=ROOT,
    )
    (tmp_path / "first.py").write_text(blocks("python")[0])
    result = subprocess.run(
        [sys.executable, "first.py"],
        cwd=tmp_path,
        env=os.environ | {"TORCHPLUG_DEVICE": "none"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert result.stdout == blocks("text")[0]
