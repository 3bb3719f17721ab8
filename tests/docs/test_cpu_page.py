"""docs/cpu.md: its programs print what it shows, but for the machine's numbers; what it lists exists."""

import re
import sys

import pytest
from pages import ROOT, blocks_of, read, run

import torchplug.cpu
from torchplug.cpu import _libraries

PAGE = read("cpu.md")
blocks = blocks_of("cpu.md")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return [run([sys.executable, "-c", code], folder) for code in blocks("python")]


def first_words(text):
    return [line.split()[0] for line in text.splitlines()]


def test_the_report_has_the_rows_that_the_page_shows(printed):
    shown, _ = blocks("text")
    assert first_words(printed[0]) == first_words(shown)


def test_the_measurement_has_the_columns_operators_and_calls_that_the_page_shows(printed):
    _, shown = blocks("text")

    def facts(text):
        head, *rows, roof = text.splitlines()
        calls = {tuple(row.split()[:2]) for row in rows}
        return head.split(), calls, re.sub(r"\d+\.\d", "N", roof)

    assert facts(printed[1]) == facts(shown)


def test_every_function_named_exists():
    named = set(re.findall(r"torchplug\.cpu\.(\w+)", PAGE))
    assert len(named) > 5 and named <= set(torchplug.cpu.__all__)
    assert set(re.findall(r"measured\.(\w+)", PAGE)) <= set(dir(torchplug.cpu.Measurement))


def test_the_packages_are_those_that_a_refusal_names():
    named = set(re.findall(r"\| `(lib[\w-]+)` \|", PAGE))
    libraries = [*_libraries.ALLOCATORS.values(), _libraries.NUMA]
    assert named == {library.package for library in libraries}


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
    assert "](docs/cpu.md)" in (ROOT / "README.md").read_text()
