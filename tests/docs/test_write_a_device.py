"""The page on writing a device: its code is hello.c's, and what it says happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/write-a-device.md").read_text()
SOURCE = (ROOT / "examples/hello/hello.c").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", blocks("c"), ids=lambda block: block.split("(")[0].split()[-1])
def test_every_piece_of_code_is_in_hello_c(block):
    assert block in SOURCE


@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("cmake", "CMakeLists.txt"),
        ("toml", "pyproject.toml"),
        ("python", "torchplug_hello/__init__.py"),
    ],
)
def test_every_piece_of_the_package_is_in_its_file(language, file):
    pieces = blocks(language)[1:] if language == "python" else blocks(language)
    assert pieces
    for piece in pieces:
        assert piece in (ROOT / "examples/hello" / file).read_text()


def test_the_wheel_is_named_as_the_page_says():
    name = re.search(r"pip install (\S+)\.whl", PAGE)[1]
    version = re.search(
        r'^version = "(.*)"', (ROOT / "examples/hello/pyproject.toml").read_text(), re.MULTILINE
    )
    assert name == f"torchplug_hello-{version[1]}-py3-none-linux_x86_64"


def test_the_whole_of_the_six_functions_is_on_the_page():
    page = "".join(blocks("c"))
    for function in re.findall(r"^static plug_status (\w+)\(", SOURCE, re.MULTILINE):
        assert f"{function}(" in page


def test_the_commands_build_it_and_it_prints_what_the_page_says(tmp_path):
    (build, _run) = blocks("sh")[0].splitlines()
    library = tmp_path / "libhello.so"
    command = build.replace("libhello.so", str(library))
    subprocess.run(command, shell=True, check=True, cwd=ROOT)
    script = tmp_path / "hello.py"
    script.write_text(blocks("python")[0])
    result = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"TORCHPLUG_DEVICE": str(library)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert result.stdout == blocks("text")[0]
