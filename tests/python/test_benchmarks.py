"""`make bench`: our devices against our aims, and the README's table. How fast anything is, no test asks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks import driver, places, readme, report, rows
from torchplug.bench import rows as any_device
from torchplug.bench.settings import QUICK

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

TIMEOUT = 1200
RESULT = {"device": 3.0, "reference": 2.0, "figure": 1.5, "low": 1.4, "high": 1.6, "rounds": 9}


def benchmarks(*args):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, args)],
        env=os.environ | {"TORCHPLUG_DEVICE": "none"},  # it takes no notice
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def measured():
    if os.environ.get("TORCHPLUG_TEST_SWEEP") != "all":
        pytest.skip("half a minute: `make test-full` measures")
    return json.loads(benchmarks("--quick", "--json", "-"))


def test_every_row_is_measured_or_its_device_is_named_in_a_note(measured):
    """`direct`, `direct_any` and the programs are built for `make bench` only."""
    here = places.find()
    absent = set(rows.DEVICES) - set(here.plugins)
    expected = {
        (target.group.name, call, side)
        for target in rows.TARGETS
        if not rows.devices_of(target) & absent
        for call in target.group.calls
        for side, measures in (
            ("python", target.from_python),
            ("cpp", "operators" in here.programs and target.cpp),
            ("cpp", "allocator" in here.programs and target.program == "allocator"),
        )
        if measures
    }
    found = {
        (row["group"], row["call"], side)
        for row in measured["rows"]
        for side in report.SIDES
        if row[side] is not None
    }
    assert found == expected
    assert measured["failures"] == []
    assert [note for note in measured["notes"] if "is not available" in note] == [
        note
        for device in rows.DEVICES
        if device in absent
        for note in measured["notes"]
        if f"because {device} is" in note
    ]


def test_of_one_round_the_ratio_of_a_row_is_that_of_its_own_two_times(measured):
    beside_cpu = [row for row in measured["rows"] if row["against"] == "the CPU"]
    assert beside_cpu
    for row in beside_cpu:
        for result in (row[side] for side in report.SIDES if row[side] is not None):
            ratio = result["device"] / result["reference"]
            assert result["figure"] == pytest.approx(ratio, rel=1e-2)


# ---- with devices that are not there ----


def found_on(device, ways=None):
    """What measuring a device would give, with one result for every row."""
    names = [f"{group.name}/{call}" for group in rows.groups_of(device) for call in group.calls]
    right = {
        f"{target.group.name}/{call}": [target.way]
        for target in rows.targets_of(device)
        for call in target.group.calls
    }
    return {
        "torch": "2.13.0",
        "compiler": "GCC",
        "results": dict.fromkeys(names, RESULT),
        "ways": right | (ways or {}),
        "left_out": {},
        "failures": {},
    }


@pytest.fixture
def measure(monkeypatch):
    """measure(devices, ways): what `make bench` reports where these devices are here."""

    def run(devices, ways=None):
        def pretend(groups, settings, chosen):
            return found_on(chosen["TORCHPLUG_DEVICE"], ways)

        monkeypatch.setattr(driver.driver, "measure", pretend)
        monkeypatch.setattr(driver.imports, "measure", lambda *_: {})
        here = places.Places(None, {device: device for device in devices}, {})
        return driver.measure(here, QUICK)

    return run


def test_a_device_that_is_not_here_leaves_its_rows_out_by_name(measure):
    found = measure(["sim", "hello"])
    assert {row["device"] for row in found["rows"]} == {"sim", "hello"}
    assert "chain" not in {row["group"] for row in found["rows"]}, "it is compared with direct"
    (note,) = (note for note in found["notes"] if "because direct is" in note)
    for target in rows.TARGETS:
        assert (target.group.title in note) == ("direct" in (target.device, target.group.against))
    assert found["failures"] == []


def test_a_row_about_two_devices_compares_what_each_is_beside_the_cpu(measure):
    slower = RESULT | {"device": 6.0, "figure": 3.0}
    assert driver.compare(slower, RESULT)["figure"] == 2.0
    (row,) = (row for row in measure(rows.DEVICES)["rows"] if row["group"] == "chain")
    assert row["python"]["figure"] == 1.0
    assert row["python"]["reference"] == RESULT["device"]


def test_a_call_that_went_another_way_is_a_failure(measure):
    found = measure(rows.DEVICES, {"kernel/relu": ["borrow"]})
    assert found["failures"] == ["relu on direct should run as kernel and ran as borrow"]


# ---- what is made of the results ----


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


def test_the_readme_gets_the_table_of_the_results_and_nothing_else_changes(measured, tmp_path):
    results, page = tmp_path / "bench.json", tmp_path / "README.md"
    results.write_text(json.dumps(measured))
    page.write_text(f"# before\n\n{readme.BEGIN}old\n{readme.END}\n\nafter\n")
    benchmarks("--from", results, "--readme", page)
    before, _, rest = page.read_text().partition(readme.BEGIN)
    table, _, after = rest.partition(readme.END)
    assert (before, after) == ("# before\n\n", "\n\nafter\n")
    assert table.strip() == benchmarks("--from", results, "--markdown").strip()
    lines = table_lines(table)
    assert len(lines) == len({row["group"] for row in measured["rows"]})
    for row in measured["rows"]:
        title = row["title"]
        (cells,) = (cells for cells in lines if cells[0].partition(" (")[0] == title)
        for side, cell in zip(report.SIDES, (cells[2], cells[4]), strict=True):
            if row[side] is not None:
                low, _, high = cell.strip("*").partition(" to ")
                low, high = number(low), number(high or low)
                assert low <= number(report.figure(row, row[side]["figure"])) <= high
    assert measured["environment"]["date"][:10] in table


def test_a_readme_without_its_marks_is_refused():
    with pytest.raises(RuntimeError, match="no table between"):
        readme.with_table("# a page", "| a | table |")


def number(text):
    return float(re.match(r"[-+.\d]+", text)[0])


def table_lines(text):
    """The cells of the table's lines, the head left out."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [line for line in cells if line[0] not in ("", "row")]


def test_the_readmes_rows_are_measured():
    _, _, rest = (ROOT / "README.md").read_text().partition(readme.BEGIN)
    titles = [cells[0].partition(" (")[0] for cells in table_lines(rest.partition(readme.END)[0])]
    assert titles
    assert set(titles) <= {target.group.title for target in rows.TARGETS}


def section_of_the_page(title):
    """Its table's lines by their first cells."""
    _, _, rest = (ROOT / "docs" / "performance.md").read_text().partition(f"## {title}\n")
    return {cells[0]: cells for cells in table_lines(rest.partition("\n## ")[0])}


def test_the_page_has_every_row_of_any_device_with_its_name():
    names = {title: cells[1] for title, cells in section_of_the_page("Any device").items()}
    assert names == {group.title: f"`{group.name}`" for group in any_device.GROUPS}


def test_the_page_has_every_row_with_its_aims():
    shown = section_of_the_page("Our devices")
    assert list(shown) == [target.group.title for target in rows.TARGETS]
    for target in rows.TARGETS:
        device, aims = shown[target.group.title][1], shown[target.group.title][4:6]
        assert device == (target.device or "the default")
        row = target._asdict() | {"figure": target.group.figure}
        for place, side in enumerate(report.SIDES):
            first = f" (first {target.first_aims[place]:g}x)" if target.first_aims else ""
            assert aims[place] == report.aim_text(row, side) + first
