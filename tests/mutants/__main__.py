"""make mutants: how many of the faults in faults.py the tests find.

A fault is found when one of the tests named with it fails, crashes or hangs. Without a fault all of them pass.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from faults import FAULTS, Fault
from mutated import BIN, BUILD, ROOT, SITE, build, environment, path_of

WANTED = 0.95
LIMIT = 300  # seconds for the tests of one fault; more is a hang

AT_FIRST_FAILURE = {"PYTEST_ADDOPTS": "-x", "GTEST_FAIL_FAST": "1"}

Settings = dict[str, str]
Command = tuple[list[str], Settings]


def program_of(test: str) -> str:
    """The program of tests/cpp that has it, or pytest."""
    found = re.fullmatch(r"(\w+_tests):\S+", test)
    return found[1] if found else "pytest"


def commands_of(tests: Iterable[str]) -> Iterator[Command]:
    """One process for all that have the same program and settings."""
    groups: dict[tuple[str, str], list[str]] = {}
    for test in dict.fromkeys(tests):
        settings, _, name = test.rpartition(" ")
        groups.setdefault((program_of(name), settings), []).append(name)
    for (program, settings), names in groups.items():
        yield command_of(program, names), dict(pair.split("=") for pair in settings.split())


def command_of(program: str, names: list[str]) -> list[str]:
    if program == "pytest":
        files = [str(ROOT / "tests" / name) for name in names]
        return [str(BIN / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    chosen = ":".join(name.partition(":")[2] for name in names)
    return [str(path_of(program)), f"--gtest_filter={chosen}", "--gtest_brief=1"]


def failure_of(command: Command, mutant: int) -> str:
    """Empty if its tests pass."""
    arguments, settings = command
    process = subprocess.Popen(
        arguments,
        cwd=BUILD,  # not in the checkout, whose own torchplug would be found first
        env={
            **environment(),
            "MUTANT": str(mutant),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(SITE),
            "TORCHPLUG_DEVICE": "sim",
            **settings,
            **(AT_FIRST_FAILURE if mutant else {}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LIMIT if mutant else None)
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        end_all(process)
    if process.returncode == 0:
        return "no such test" if re.search(r"\b0 tests from", output) else ""
    lines = [line for line in output.splitlines() if "FAILED" in line or line.startswith("ERROR")]
    return "\n".join(lines) or f"exit status {process.returncode}: {output[-500:]}"


def end_all(process: subprocess.Popen[str]) -> None:
    """And what it has started: a rank of a process group may wait for one that has crashed."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def found_by(fault: Fault) -> str:
    """How the fault shows; empty if no test finds it."""
    for command in commands_of(fault.tests):
        if failure := failure_of(command, fault.number):
            return failure.splitlines()[0]
    return ""


def check_sound(tests: list[str], pool: ThreadPoolExecutor) -> None:
    """A test that fails without a fault proves nothing."""
    failures = pool.map(lambda command: failure_of(command, 0), commands_of(tests))
    if failed := [failure for failure in failures if failure]:
        sys.exit("\n".join(["These fail without any fault:", *failed]))


def report(outcomes: list[tuple[Fault, str]]) -> int:
    survivors = [fault for fault, found in outcomes if not found]
    for fault in survivors:
        print(f"not found: src/{fault.file}: {fault.right}  ->  {fault.wrong}")
    found = len(outcomes) - len(survivors)
    folders = len({Path(fault.file).parent for fault, _ in outcomes})
    print(f"{found} of {len(outcomes)} faults in {folders} folders of src were found")
    entries = [{**asdict(fault), "found_by": found_by} for fault, found_by in outcomes]
    (BUILD / "report.json").write_text(json.dumps(entries, indent=1))
    return 0 if found >= WANTED * len(outcomes) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="faults of files whose path contains this")
    options = parser.parse_args()
    build({program_of(test) for fault in FAULTS for test in fault.tests} - {"pytest"}, options.jobs)
    chosen = [fault for fault in FAULTS if options.only in fault.file]
    outcomes = []
    with ThreadPoolExecutor(options.jobs) as pool:
        check_sound([test for fault in chosen for test in fault.tests], pool)
        for fault, found in zip(chosen, pool.map(found_by, chosen), strict=True):
            outcomes.append((fault, found))
            print(f"{fault.file}: {found or 'NOT FOUND'}", flush=True)
    return report(outcomes)


if __name__ == "__main__":
    sys.exit(main())
