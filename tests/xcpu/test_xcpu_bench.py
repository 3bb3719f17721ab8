"""`torchplug bench --xcpu` runs, and says what it found. How fast anything is, no test asks."""

import json
import os
import subprocess
import sys

import pytest
import torch
from torchplug_xcpu.bench import BEGIN, END, cases, processes, report, with_table
from torchplug_xcpu.bench.rounds import Match, Times, row

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

TIMEOUT = 1200


def bench(*args):
    """Exit code, stdout and stderr of `torchplug bench`."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPLUG_")}
    done = subprocess.run(
        [sys.executable, "-m", "torchplug", "bench", *map(str, args)],
        env=plain,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """One round of everything, where none of the peers is."""
    folder = tmp_path_factory.mktemp("bench")
    found = folder / "found.json"
    code, output, errors = bench("--xcpu", "--quick", "--json", found, "--peers", folder / "none")
    assert code == 0, output + errors
    return found


@pytest.fixture(scope="module")
def measured(file):
    return json.loads(file.read_text())


def test_every_row_is_measured_and_every_result_is_right(measured):
    expected = [(group.name, name) for group in cases.groups(cases.QUICK) for name in group.calls]
    assert [(row["group"], row["call"]) for row in measured["rows"]] == expected
    assert measured["failures"] == []


def test_pytorchs_own_operators_are_beside_those_that_have_some(measured):
    beside = {row["group"] for row in measured["rows"] if "torch" in row["peers"]}
    assert beside == {
        *(f"linear-{kind}" for kind in cases.BITS),
        "decode-bf16",
        "rms-norm",
        "mlp",
    }
    assert measured["peers"] == {"torch": "torch"}


def test_a_row_has_a_share_of_the_roof_where_it_reads_or_multiplies_much(measured):
    if not processes.PROBE.exists():
        assert any("no probes" in note for note in measured["notes"])
        return
    for found in measured["rows"]:
        has_roof = found["group"] not in ("rms-norm", "rotary")
        assert (found["of_roof"] is not None) == has_roof
        assert found["roof"] in (("read", "bf16", "int8") if has_roof else ("",))


def test_who_is_missing_is_named_with_how_to_get_it(measured):
    for name, package in processes.PEERS.items():
        (note,) = (note for note in measured["notes"] if note.startswith(f"Without {name}: "))
        assert package in note and note.endswith("run make peers.")


def test_it_says_where_and_how_it_was_measured(measured):
    for fact in ("date", "cpu", "cores", "load", "load_after", "python", "torchplug", "kernels"):
        assert measured["environment"][fact]
    assert measured["environment"]["torch"] == torch.__version__
    assert measured["rounds"] == 1 and measured["threads"] >= 1


def test_results_in_a_file_are_shown_again_and_written_into_a_readme(file, measured, tmp_path):
    code, table, _ = bench("--xcpu", "--from", file)
    assert code == 0
    for found in measured["rows"]:
        assert found["title"].split()[0] in table and f"  {found['call']}" in table
    readme = tmp_path / "README.md"
    readme.write_text(with_table(empty_readme(), "of another day"))
    code, _, errors = bench("--xcpu", "--from", file, "--readme", readme)
    assert code == 0, errors
    text = readme.read_text()
    assert "of another day" not in text and text.startswith("before\n") and text.endswith("after\n")
    assert all(f"| {group.title}: " in text for group in cases.groups(cases.QUICK))


def empty_readme():
    return f"before\n{BEGIN}{END}\nafter\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--xcpu", "--quick", "--only", "sums"), "There is no 'sums'; choose of linear-bf16"),
        (("--abacus", "--quick"), "no installed package announces a benchmark of that name"),
    ],
)
def test_what_is_not_there_is_not_measured_and_a_sentence_says_so(args, words):
    code, output, errors = bench(*args)
    assert (code, output) == (2, "") and words in errors
    assert "Traceback" not in errors


# ---- how it measures ----


def times(ours, theirs, reading=(), multiplying=()):
    return Times(list(reading), list(multiplying), {"xcpu": list(ours), "other": list(theirs)})


def group_of(call):
    return cases.Group("some", "some", "linear", {"copies": 1}, {"call": call})


def test_a_ratio_is_of_one_round():
    """The machine gets ten times slower, and one half of one round is disturbed."""
    call = cases.Call(1, of_peer=0.9)
    found = row(group_of(call), "call", times([1, 10, 10], [2, 20, 9999]))
    assert found["peers"]["other"]["figure"] == 0.5
    assert not report.misses_peer(found)


def test_the_roof_is_the_longer_of_reading_and_multiplying():
    call = cases.Call(1, bytes=1, products=1, unit="int8", of_roof=0.9)
    reads = row(group_of(call), "call", times([4.0], [1.0], reading=[2.0], multiplying=[1.0]))
    assert (reads["roof"], reads["of_roof"]["figure"]) == ("read", 0.5)
    computes = row(group_of(call), "call", times([4.0], [1.0], reading=[2.0], multiplying=[3.8]))
    assert (computes["roof"], computes["of_roof"]["figure"]) == ("int8", 0.95)
    assert report.misses_roof(reads) and not report.misses_roof(computes)


def test_a_probe_that_is_disturbed_in_one_round_is_not_the_roof():
    call = cases.Call(1, bytes=1, products=1, unit="bf16")
    found = times([4.0] * 3, [1.0] * 3, reading=[2.0] * 3, multiplying=[0.5, 0.5, 9999.0])
    assert row(group_of(call), "call", found)["roof"] == "read"


def test_the_fastest_peer_is_the_one_to_beat():
    call = cases.Call(1, of_peer=0.9)
    found = row(group_of(call), "call", Times(of={"xcpu": [1.0], "slow": [4.0], "fast": [1.05]}))
    assert report.fastest(found) == pytest.approx(1 / 1.05)
    assert report.misses_peer(found)


class Wrong:
    """A contestant whose results are wrong, or that cannot."""

    name = "wrong"

    def __init__(self, error, says):
        self.error, self.says = error, says

    def wish(self, prepare):
        if self.says:
            raise RuntimeError(self.says)
        return {"calls": {"call": {"error": self.error, "way": "way"}}}


@pytest.mark.parametrize(
    ("error", "says", "words"),
    [
        (0.5, "", "its result is wrong by 0.5"),
        (float("nan"), "", "wrong by nan"),
        (0.0, "no memory", "no memory"),
    ],
)
def test_a_wrong_result_is_a_failure_and_has_no_time(error, says, words):
    match = Match([Wrong(error, says)], None, 1)
    assert match.play(group_of(cases.Call(1))) == []
    assert len(match.failures) == 1 and words in match.failures[0]


def test_who_waits_uses_no_processor():
    contestant = processes.Contestant("torch", sys.executable, 2)
    try:
        work = cases.linear("bf16", cases.QUICK).work
        contestant.wish(prepare=work)
        contestant.wish(measure="M = 8", calls=1000)
        before = contestant.seconds()
        contestant.process.wait(1)
    except subprocess.TimeoutExpired:
        assert contestant.seconds() - before <= 0.05
    finally:
        contestant.close()
