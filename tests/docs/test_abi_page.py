"""docs/abi.md names for every need the member of plug.h that says it, and the test that holds it."""

import re

import pytest
from named_tests import ROOT, assert_names_a_test, cells_of, rows_of

HEADER = (ROOT / "include" / "torchplug" / "plug.h").read_text()
PAGE = (ROOT / "docs" / "abi.md").read_text()
ROWS = rows_of("abi.md")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cells_of(row)[0])
def test_every_row_names_a_test_that_exists(row):
    assert_names_a_test(cells_of(row)[2])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cells_of(row)[0])
def test_every_member_that_a_row_names_is_in_the_header(row):
    for name in re.findall(r"`((?:plug_\w+|PLUG_\w+|host)\b[\w.>-]*|\w+)`", cells_of(row)[1]):
        last = re.split(r"\.|->", name)[-1]
        assert last in ("name", "cudaLaunchHostFunc") or re.search(rf"\b{last}\b", HEADER), name


def test_the_tests_named_in_the_text_exist():
    text = PAGE.split("## ", maxsplit=1)[0]
    for named in re.findall(r"`\w+\.py::\w+`", text):
        assert_names_a_test(named)
