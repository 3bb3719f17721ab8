"""docs/compare.md says of torchplug only what a test proves."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    line
    for line in (ROOT / "docs" / "compare.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| |")
]


def promise(row):
    return row.split("|")[1].strip()


@pytest.mark.parametrize("row", ROWS, ids=promise)
def test_every_row_names_a_test_that_exists(row):
    named = re.search(r"`(\w+\.(?:py|cpp))(?:::(\w+))?`", row.split("|")[2])
    assert named, "no test is named"
    (path,) = [p for p in (ROOT / "tests").rglob(named[1])]
    assert named[2] is None or f"def {named[2]}(" in path.read_text()
