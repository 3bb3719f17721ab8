"""docs/graph-compilers.md: its code is the example's, its commands work, and what it names is in plug.h."""

import os
import re
import subprocess
import sys

import pytest
import torch  # noqa: F401 - _C needs its types
from pages import ROOT, blocks_of, read

from torchplug import _C
from torchplug.cli import plug_check

PAGE = read("graph-compilers.md")
blocks = blocks_of("graph-compilers.md")
SOURCE = (ROOT / "examples" / "compiler" / "compiler.c").read_text()
HEADER = (ROOT / "include" / "torchplug" / "plug.h").read_text()


@pytest.mark.parametrize("block", blocks("c"), ids=lambda block: block.split("(")[0].split()[-1])
def test_every_piece_of_code_is_in_the_example(block):
    assert block in SOURCE


def test_there_is_no_other_code():
    assert set(re.findall(r"^```(\w+)", PAGE, re.MULTILINE)) == {"c", "sh", "python", "text"}


def test_the_graph_that_is_shown_is_canonical_and_has_the_examples_operators():
    (text,) = blocks("text")
    assert str(_C.CompilerGraph(text)) == text
    listed = re.findall(r'^    "(aten::.*)",$', SOURCE, re.MULTILINE)
    shown = re.findall(r"^operator (\d+) (.*)$", text, re.MULTILINE)
    assert len(shown) == 4 and all(listed[int(place)] == schema for place, schema in shown)


def test_the_commands_build_and_check_it_and_the_program_runs(tmp_path):
    (commands,) = blocks("sh")
    build, check = commands.splitlines()
    library = tmp_path / "libfuse.so"
    subprocess.run(build.replace("libfuse.so", str(library)).split(), check=True, cwd=ROOT)
    assert check == "torchplug plug-check ./libfuse.so"
    done = subprocess.run(
        [plug_check.program(), library], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    (program,) = blocks("python")
    script = tmp_path / "program.py"
    script.write_text(program)
    environment = os.environ | {"TORCHPLUG_DEVICE": str(library), "TORCHPLUG_LEDGER": "1"}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "torch.Size([1000])" in done.stdout
    assert re.search(r"^engine ", done.stdout + done.stderr, re.MULTILINE)


def test_what_it_names_is_in_the_header():
    named = set(re.findall(r"`((?:plug_|PLUG_)\w+)", PAGE))
    assert len(named) > 10
    assert [name for name in named if not re.search(rf"\b{name}\b", HEADER)] == []


def test_every_flag_of_a_compiler_is_there():
    flags = set(re.findall(r"\bPLUG_COMPILER_\w+", HEADER))
    assert set(re.findall(r"^\| `(PLUG_COMPILER_\w+)`", PAGE, re.MULTILINE)) == flags


def test_every_function_of_a_compiler_is_named():
    table = HEADER.partition("typedef struct plug_compiler {")[2].partition("} plug_compiler;")[0]
    functions = {*re.findall(r"\(\*(\w+)\)\(", table)} - {"write", "take"}
    functions |= set(re.findall(r"plug_kernel_fn (\w+);", table))
    assert len(functions) == 10
    assert [name for name in functions if not re.search(rf"\b{name}\b", PAGE)] == []


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links and [link for link in links if not (ROOT / "docs" / link).exists()] == []
