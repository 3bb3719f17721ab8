"""`torchplug bench` measures any device. How fast anything is, no test asks."""

import json
import os
import subprocess
import sys
import time

import pytest
import torch
from vendors import compile_plugin

from torchplug.bench import chain, copies, report, rounds, rows, settings, shapes, small, worker

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

TIMEOUT = 1200


def bench(*args, **environment):
    """Exit code, stdout and stderr of `torchplug bench`."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPLUG_")}
    done = subprocess.run(
        [sys.executable, "-m", "torchplug", "bench", *map(str, args)],
        env=plain | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def results_of(*args, **environment):
    code, output, errors = bench("--quick", "--json", "-", *args, **environment)
    assert code == 0, output + errors
    return json.loads(output)


@pytest.fixture(scope="module")
def measured():
    """All rows, of a device that stages and has no streams."""
    return results_of(TORCHPLUG_DEVICE="hello")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A device that is not installed."""
    return compile_plugin(tmp_path_factory.mktemp("plugin"), "tiny")


# ---- which device ----


def test_it_measures_the_device_that_is_chosen(measured, tiny):
    assert measured["device"] == "hello"
    by_variable = results_of("--only", "item", TORCHPLUG_DEVICE=str(tiny))
    by_option = results_of("--only", "item", "--device", tiny, TORCHPLUG_DEVICE="hello")
    for found in (by_variable, by_option):
        assert found["device"] == "tiny"
        assert [row["group"] for row in found["rows"]] == ["item"]
        assert found["environment"]["variables"] == {"TORCHPLUG_DEVICE": str(tiny)}


@pytest.mark.parametrize(
    ("args", "chosen", "words"),
    [
        ((), "none", "There is no device to measure"),
        (("--device", "abacus"), "sim", "no device plugin named 'abacus'"),
        ((), "abacus", "no device plugin named 'abacus'"),
        (("--only", "call,colour"), "sim", "There is no 'colour'; choose of call, burst"),
        (("compile", "--only", "call"), "sim", "There is no 'call'; choose of residual, bert"),
        (("compile", "--only", "unet"), "hello", "Device hello has no compiler"),
    ],
)
def test_what_is_not_there_is_not_measured_and_a_sentence_says_so(args, chosen, words):
    code, output, errors = bench("--quick", *args, TORCHPLUG_DEVICE=chosen)
    assert (code, output) == (2, "") and words in errors
    assert "Traceback" not in errors


# ---- what it finds ----


def test_every_row_is_measured_or_a_note_says_why_not(measured):
    found = {(row["group"], row["call"]) for row in measured["rows"]}
    left_out = [g for g in rows.GROUPS if g is rows.BURST or g.kind in rows.COMPILING]
    for group in rows.GROUPS:
        expected = set() if group in left_out else {(group.name, call) for call in group.calls}
        assert {row for row in found if row[0] == group.name} == expected
    named = [group for group in rows.GROUPS if f"Left out, {group.title}" in str(measured["notes"])]
    assert named == left_out
    assert measured["failures"] == []


def test_of_one_round_the_result_is_that_of_the_rows_own_two_times(measured):
    figures = {
        "x": lambda device, reference: device / reference,
        "+s": lambda device, reference: device - reference,
        "us": lambda device, _: device / 1000,
    }
    for row in measured["rows"]:
        result = row["result"]
        assert result["rounds"] == 1 and result["device"] > 0
        assert (result["reference"] is None) == (row["against"] == "")
        expected = figures[row["figure"]](result["device"], result["reference"])
        assert result["figure"] == result["low"] == result["high"] == pytest.approx(expected)


def test_a_row_about_an_operator_says_which_way_it_went(measured):
    ways = {row["call"]: row["ways"] for row in measured["rows"] if row["group"] == "call"}
    assert ways == {call: ["kernel"] if call == "relu" else ["stage"] for call in rows.OPERATORS}


def test_it_says_where_and_when_it_was_measured(measured):
    for fact in ("date", "cpu", "cores", "load", "python", "torch", "torchplug", "compiler"):
        assert measured["environment"][fact]
    assert measured["environment"]["torch"] == torch.__version__


def test_results_in_a_file_are_shown_again(measured, tmp_path):
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(measured))
    code, table, _ = bench("--from", file)
    assert code == 0
    lines = table.splitlines()
    for row in measured["rows"]:
        below = lines[lines.index(row["title"]) :]
        (line, *_) = (line for line in below if line.startswith(f"  {row['call']} "))
        assert line.endswith(report.figure(row, row["result"]["figure"]))
    for note in measured["notes"]:
        assert note in table


# ---- how it measures ----


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


ON_CPU, ON_DEVICE, WAIT = 1000, 3000, 12000
OPERATORS = ("mul", "exp", "cos")


@pytest.fixture
def slow_operators(device, module, monkeypatch):
    """A clock that only operators and the wait for the device move, by the nanoseconds above."""
    now = 0

    def takes(name, owner, time_of):
        original = getattr(owner, name)

        def slow(*args, **options):
            nonlocal now
            now += time_of(args)
            return original(*args, **options)

        monkeypatch.setattr(owner, name, slow)

    for name in OPERATORS:
        takes(name, torch, lambda args: ON_CPU if args[0].is_cpu else ON_DEVICE)
    takes("synchronize", module, lambda _: WAIT)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now)


@pytest.mark.usefixtures("slow_operators")
@pytest.mark.parametrize(
    ("measure", "calls", "calls_per_wait"),
    [
        (small.measure, ("mul", "exp"), None),
        (small.measure_burst, ("mul", "exp"), 6),
        (shapes.measure, ("mul", "exp"), 4),
        (chain.measure, ("cos",), 6),
    ],
)
def test_a_time_is_that_of_one_call_with_its_part_of_the_wait_if_the_row_has_one(
    device, measure, calls, calls_per_wait
):
    used = settings.Settings(rounds=3, calls=10, short=5, burst=6, shapes=4, shape_rounds=3)
    group = rows.CALL._replace(calls=calls)
    found = measure([group], device, used)
    expected = ON_DEVICE + (WAIT / calls_per_wait if calls_per_wait else 0)
    assert set(found) == {rows.key(group, call) for call in calls}
    for result in found.values():
        assert result["rounds"] == (used.short_rounds if calls_per_wait is None else used.rounds)
        assert (result["device"], result["reference"]) == (expected, ON_CPU)
        assert result["figure"] == expected / ON_CPU


@pytest.mark.parametrize("call", rows.COPY.calls)
def test_a_copy_and_its_memcpy_use_the_host_memory_that_the_row_names(device, monkeypatch, call):
    monkeypatch.setattr(copies, "COPY_BYTES", 4096)
    direction, kind = call.split(", ")
    buffers = copies.allocate(device)
    host = getattr(buffers, kind)
    assert host.is_pinned() == (kind == "pinned")
    contest = copies.contest(call, buffers)
    halves = ((buffers.device, contest.device), (buffers.other, contest.reference))
    for number, (peer, clock) in enumerate(halves, start=2):
        source, target = (host, peer) if direction == "host to device" else (peer, host)
        source.fill_(number)
        clock()
        assert torch.equal(target.cpu(), torch.full((4096,), number, dtype=torch.uint8))


def test_a_row_that_does_not_apply_to_the_device_is_left_out(device):
    left_out = {kind for kind in worker.KINDS if worker.reason_to_leave_out(kind, device)}
    assert left_out == {"staging"}, "sim is asynchronous, and borrows"


@pytest.mark.parametrize("call", rows.SHAPES.calls)
def test_a_shape_that_is_to_be_new_is_new_in_every_round(call):
    used = settings.Settings(rounds=3, shapes=5)
    slices = list(shapes.growing_slices(call, torch.device("cpu"), used))
    assert len(slices) == used.shapes * (used.shape_rounds + 1), "one round is not counted"
    assert [operands[0].shape[0] for operands in slices] == list(range(1, len(slices) + 1))
    assert all(len({operand.shape for operand in operands}) == 1 for operands in slices)


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0.5, "0.5 ns"), (999, "999 ns"), (1234, "1.23 us"), (2e9, "2 s")]
)
def test_a_time_is_shown_in_a_unit_that_suits_it(nanoseconds, text):
    assert report.quantity(nanoseconds, "ns") == text
