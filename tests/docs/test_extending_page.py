"""docs/extending.md shows the code of examples/extending, which tests/extension runs."""

import re

import pytest
from pages import ROOT, blocks_of, read

PAGE = read("extending.md")
blocks = blocks_of("extending.md")
EXAMPLE = ROOT / "examples" / "extending"


@pytest.mark.parametrize("block", blocks("cpp"), ids=lambda block: block.splitlines()[0])
def test_every_piece_of_cpp_is_in_the_example(block):
    assert block in (EXAMPLE / "extending.cpp").read_text()


def test_every_piece_of_python_is_in_the_example_but_how_to_load_it():
    build, load, *rest = blocks("python")
    assert "cpp_extension.load" in build and "load_library" in load and rest
    for block in rest:
        assert block in (EXAMPLE / "extending.py").read_text()


def test_what_the_example_includes_and_imports_is_on_the_page():
    for name in ("extending.cpp", "extending.py"):
        source = (EXAMPLE / name).read_text()
        needed = re.findall(r"^(?:#include|import|from) .*", source, re.MULTILINE)
        assert needed
        for line in needed:
            assert line in PAGE


def test_every_registration_of_the_example_is_on_the_page():
    source = (EXAMPLE / "extending.cpp").read_text()
    for registration in re.findall(r"^TORCH_LIBRARY(?:_IMPL)?\(.*", source, re.MULTILINE):
        assert registration in PAGE
