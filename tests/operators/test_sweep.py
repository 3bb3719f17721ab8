"""The sweep finds what it is for: each kind of fault, at the cost of one case."""

import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch

from .check_names import CHECK_NAMES
from .checks import CHECKS
from .driver import CannotStart, Options
from .expected import Gap
from .faults import FAULTS
from .report import CaseResult, Report
from .sweep import main, sweep

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

SWEEP = Path(__file__).with_name("sweep.py")
PACKAGE = Path(__file__).parent.name
FAULTY = f"{PACKAGE}.faults:Faulty"
SOUND = "mul"


def run(*operators: str, gaps: tuple[Gap, ...] = (), **options: object) -> Report:
    """A sweep over few operators, on the CPU unless the options name an adapter."""
    given = {"dtypes": ("float32",), "checks": CHECK_NAMES} | options
    return sweep(Options("cpu", operators=operators, **given), gaps)


def keys(cases: list[CaseResult]) -> set[tuple[str, str, str]]:
    return {(case.operator, case.dtype, case.check) for case in cases}


@pytest.fixture(scope="module")
def sound() -> Report:
    return run(SOUND, *FAULTS)


@pytest.fixture(scope="module")
def faulty() -> Report:
    return run(SOUND, *FAULTS, adapter=FAULTY, timeout=5.0, workers=2)


def test_a_sound_device_passes_every_check(sound: Report) -> None:
    assert sound.passed(), sound.text()
    # conjugated is for complex dtypes.
    assert {case.check for case in sound.cases} == set(CHECK_NAMES) - {"conjugated"}


@pytest.mark.parametrize("operator", FAULTS)
def test_a_fault_is_found_and_costs_one_case(faulty: Report, operator: str) -> None:
    fault = FAULTS[operator]
    (case,) = (case for case in faulty.undeclared() if case.operator == operator)
    assert (case.check, case.outcome) == (fault.check, fault.outcome)
    assert fault.words in case.reason


def test_a_fault_leaves_all_other_cases_as_they_are(sound: Report, faulty: Report) -> None:
    assert not faulty.passed()
    assert keys(faulty.cases) == keys(sound.cases)
    assert len(faulty.undeclared()) == len(FAULTS)


def test_the_driver_knows_every_check() -> None:
    assert tuple(CHECKS) == CHECK_NAMES


def test_a_draw_from_the_host_generator_is_found() -> None:
    adapter = f"{PACKAGE}.faults:HostGenerator"
    report = run("add", "bernoulli", adapter=adapter, checks=("forward",))
    assert keys(report.undeclared()) == {("bernoulli", "float32", "forward")}


def test_an_operator_that_hangs_again_and_again_is_given_up_and_reported() -> None:
    adapter = f"{PACKAGE}.faults:AlwaysHangs"
    checks = ("forward", "repeat", "view")
    report = run("add", adapter=adapter, checks=checks, timeout=2.0)
    assert [(case.check, case.outcome) for case in report.undeclared()] == [
        (check, "hang") for check in checks
    ]
    assert "not run" in report.undeclared()[-1].reason


def test_a_declared_failure_does_not_fail_the_run() -> None:
    gap = Gap("add", "forward", "one per cent too much")
    report = run("add", adapter=FAULTY, gaps=(gap,))
    assert report.passed()
    assert keys(report.declared()) == {("add", "float32", "forward")}


def test_a_declared_failure_that_passes_fails_the_run(sound: Report) -> None:
    report = Report("cpu", "first", sound.cases, (Gap("add", "forward", "too much"),))
    assert not report.passed()
    assert report.undeclared() == []
    assert report.closed()[0].endswith("declared to fail: too much")
    assert "DECLARED FAILURES THAT PASS (1)" in report.text()


def test_a_gap_of_all_samples_is_not_missed_among_the_first(sound: Report) -> None:
    gap = Gap("add", "forward", "shows in sample 7", all_samples_only=True)
    assert Report("cpu", "first", sound.cases, (gap,)).passed()
    assert not Report("cpu", "all", sound.cases, (gap,)).passed()


def test_a_gap_of_another_device_or_dtype_says_nothing(sound: Report) -> None:
    gaps = (
        Gap("add", "forward", "another device", device="elsewhere"),
        Gap("add", "forward", "another dtype", dtype="int64"),
    )
    assert Report("cpu", "first", sound.cases, gaps).passed()


def test_the_cpu_still_forgets_the_negative_bit_in_max_pool1d() -> None:
    # When this fails, the entry in exceptions.HOST_WRONG has to go.
    plain = torch.arange(8.0).reshape(1, 2, 4)
    lazy = torch._neg_view(-plain)
    assert torch.equal(plain, lazy)
    assert not torch.equal(torch.max_pool1d(plain, 2), torch.max_pool1d(lazy, 2))


def test_the_cpu_still_writes_gelu_beside_an_out_with_gaps() -> None:
    # When this fails, the entry in exceptions.HOST_WRONG has to go.
    out = torch.full((10, 10, 3), float("nan"))[..., 1]
    torch._C._nn.gelu(torch.randn(10, 10), out=out)
    assert out.isnan().all()


def test_a_device_that_does_not_open_is_no_pass() -> None:
    with pytest.raises(CannotStart, match="nowhere"):
        sweep(Options("nowhere", ("float32",), ("forward",), ("add",)))


def test_a_device_can_be_given_by_the_path_of_its_plugin() -> None:
    (hello,) = entry_points(group="torchplug.devices", name="hello")
    report = sweep(Options(hello.load(), ("float32",), ("forward",), ("exp", "add")), ())
    assert report.passed(), report.text()
    assert {case.operator for case in report.cases} >= {"exp", "add"}


def test_a_path_where_no_plugin_is_is_no_pass() -> None:
    with pytest.raises(CannotStart, match=r"/no/such/plugin\.so"):
        sweep(Options("/no/such/plugin.so", ("float32",), ("forward",), ("add",)))


def test_an_unknown_operator_is_no_pass() -> None:
    with pytest.raises(CannotStart, match="no such operator: nonesuch"):
        run("nonesuch")


def test_nothing_run_is_no_pass() -> None:
    assert not Report("cpu", "first").passed()


def test_a_case_draws_the_same_samples_alone_and_in_the_sweep(faulty: Report) -> None:
    alone = run("add", adapter=FAULTY, checks=("forward",))
    among = [case for case in faulty.undeclared() if case.operator == "add"]
    assert alone.undeclared() == among


def test_the_command_prints_the_table_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "sweep.json"
    options = ["--device", "cpu", "--dtypes", "float32,int64", "--samples", "1", "--op", "add"]
    command = [sys.executable, str(SWEEP), *options, "--checks", "out*", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^float32 +out_resized +1( +-)+$", done.stdout, re.MULTILINE)
    assert "operators, 0 failing" in done.stderr
    written = json.loads(file.read_text())
    assert written["passed"]
    assert {case["dtype"] for case in written["cases"]} == {"float32", "int64"}
    assert all(case["check"].startswith("out") for case in written["cases"])


def test_the_command_fails_when_a_case_fails(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--device", "cpu", "--dtypes", "float32", "--op", "add", "--workers", "1"]
    assert main([*options, "--checks", "forward", "--adapter", FAULTY]) == 1
    assert "add forward float32: differ (2 of 2): sample 0: output:" in capsys.readouterr().out
    assert main(["--device", "nowhere", "--op", "add"]) == 2
