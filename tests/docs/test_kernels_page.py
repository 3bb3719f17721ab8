"""The page on writing kernels: its code is that of plugins that the tests compile and run."""

import re

import pytest
from pages import ROOT, blocks_of, read

from torchplug.cli import families, main

PAGE = read("kernels.md")
blocks = blocks_of("kernels.md")
SOURCES = {"c": "looping.c", "cpp": "typed.cpp"}


@pytest.mark.parametrize("language", SOURCES)
def test_every_piece_of_code_is_in_its_plugin(language):
    source = (ROOT / "tests" / "plugins" / SOURCES[language]).read_text()
    assert len(blocks(language)) > 2
    for block in blocks(language):
        for piece in block.split("\n\n"):
            assert piece.strip("\n") in source


def test_there_is_no_other_code():
    assert set(re.findall(r"^```(\w+)", PAGE, re.MULTILINE)) == {"text", *SOURCES}


def test_the_command_prints_what_is_shown(capsys):
    (shown,) = blocks("text")
    command, _, expected = shown.partition("\n")
    assert command == "$ torchplug schema relu"
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out == expected


def test_every_topic_is_named():
    assert [topic for topic in families.TOPICS if topic not in PAGE] == []


def test_every_link_leads_to_a_file():
    text = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_every_function_it_names_is_in_a_header():
    headers = "".join(path.read_text() for path in (ROOT / "include").rglob("*.h*"))
    names = set(re.findall(r"`((?:plug_|PLUG_|plug::)\w+)`", PAGE))
    assert len(names) > 15
    assert [n for n in names if n.removeprefix("plug::") not in headers] == []
