"""Tables in docs/ whose rows name the test that proves them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rows_of(page):
    """The rows of all tables of docs/<page>, without their headings."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    below = {i for i, line in enumerate(lines) if line.startswith("|---")}
    headings = {i - 1 for i in below}
    return [
        line
        for i, line in enumerate(lines)
        if line.startswith("| ") and i not in headings and i not in below
    ]


def cells_of(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def assert_names_a_test(text):
    """The text names a file of tests, or a test in one, that exists."""
    named = re.search(r"`(\w+\.(?:py|cpp))(?:::(\w+))?`", text)
    assert named, "no test is named"
    (path,) = (ROOT / "tests").rglob(named[1])
    if named[2] is not None:
        test = rf"def {named[2]}\(" if path.suffix == ".py" else rf"TEST\w*\(\w+, {named[2]}\)"
        assert re.search(test, path.read_text()), f"{named[1]} has no test {named[2]}"
