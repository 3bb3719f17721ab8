"""The benchmarks measure what they say. How fast anything is, no test asks."""

import json
import os
import subprocess
import sys

import pytest

from torchplug.bench import report, rounds, rows

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

TIMEOUT = 600


def bench(*args):
    done = subprocess.run(
        [sys.executable, "-m", "torchplug", "bench", *map(str, args)],
        env={k: v for k, v in os.environ.items() if not k.startswith("TORCHPLUG_")},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def measured():
    return json.loads(bench("--quick", "--json", "-"))


def test_every_row_is_measured_or_its_device_is_named_in_a_note(measured):
    found = {(row["group"], row["call"]) for row in measured["rows"]}
    only_cpp = [g for g in rows.GROUPS if g.program or (g.cpp and g.python_aim is None)]
    built = [g for g in rows.GROUPS if g not in only_cpp or measured["cpp_built"]]
    missing = [g for g in built if any((g.name, call) not in found for call in g.calls)]
    absent = {"direct" if group.against == "direct" else group.device for group in missing}
    assert absent <= {"direct", "hello"}, "these are built with the checkout; all others are here"
    notes = [note for note in measured["notes"] if "is not here" in note]
    assert all(any(group.title in note for note in notes) for group in missing)
    assert len(notes) == len(absent)
    assert measured["failures"] == []


def test_every_number_is_positive(measured):
    for row in measured["rows"]:
        sides = [row[side] for side in report.SIDES if row[side] is not None]
        assert sides
        for result in sides:
            assert result["device"] > 0 and result["rounds"] > 0
            assert (result["reference"] is None) == (row["against"] == "")
            assert result["reference"] is None or result["reference"] > 0


def test_it_says_where_and_when_it_was_measured(measured):
    for fact in ("date", "cpu", "cores", "load", "python", "torch", "torchplug", "compiler"):
        assert measured["environment"][fact]


def test_results_in_a_file_are_shown_again(measured, tmp_path):
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(measured))
    table, markdown = bench("--from", file), bench("--from", file, "--markdown")
    for row in measured["rows"]:
        assert row["title"] in table and row["title"] in markdown
    assert measured["environment"]["date"][:10] in markdown


def test_the_ratio_is_of_halves_of_one_round():
    """The machine gets ten times slower, and one half of one round is disturbed."""
    device, cpu = iter([9, 2, 2, 20, 999, 20]), iter([9, 1, 1, 10, 10, 10])
    contest = rounds.Contest(lambda: next(device), lambda: next(cpu))
    result = rounds.play(5, {"call": contest})["call"]
    assert (result["figure"], result["low"], result["rounds"]) == (2, 2, 5)


def test_who_begins_alternates():
    order = []
    contest = rounds.Contest(lambda: order.append("device") or 1, lambda: order.append("cpu") or 1)
    rounds.play(2, {"call": contest})
    assert order[2:] == ["device", "cpu", "cpu", "device"]


@pytest.mark.parametrize(
    ("figure", "at_least", "mark"),
    [
        (1.0, False, ""),
        (1.1, False, report.NEARLY),
        (1.3, False, report.MISSED),
        (1.0, True, ""),
        (0.9, True, report.MISSED),
    ],
)
def test_a_missed_aim_is_marked(figure, at_least, mark):
    first = None if at_least else (1.2, 1.35)
    row = {"python": {"figure": figure}, "python_aim": 1.0, "at_least": at_least}
    assert report.mark(row | {"first_aims": first}, "python") == mark
