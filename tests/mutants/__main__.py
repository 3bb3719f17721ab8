"""make mutants: how many of the faults in faults.py the tests find.

All faults are compiled into one build, each switched on by its number in the environment variable MUTANT. A
fault is found when one of the tests named with it fails, crashes or hangs; without a fault they all pass.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from faults import FAULTS, Fault

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build-mutants"
TREE = BUILD / "tree"
SITE = BUILD / "site"
BIN = ROOT / ".venv" / "bin"
WANTED = 0.95
LIMIT = 240  # seconds for the tests of one fault; more is a hang

SWITCH = """#pragma once
#include <cstdlib>
inline bool is_mutant(int number) {
  static const char* const text = std::getenv("MUTANT");
  static const int chosen = text == nullptr ? 0 : std::atoi(text);
  return chosen == number;
}
"""


@dataclass
class Outcome:
    fault: Fault
    found_by: str


def switched(fault: Fault, number: int) -> str:
    """Source text that is right unless the fault is switched on."""
    if fault.right.endswith((";", "}")):
        return f"if (is_mutant({number})) {{ {fault.wrong} }} else {{ {fault.right} }}"
    return f"(is_mutant({number}) ? ({fault.wrong}) : ({fault.right}))"


def mutated_sources() -> dict[Path, str]:
    texts: dict[Path, str] = {}
    for number, fault in enumerate(FAULTS, start=1):
        path = Path("src") / fault.file
        text = texts.get(path) or (ROOT / path).read_text()
        if text.count(fault.right) != 1:
            times = text.count(fault.right)
            sys.exit(f"{path} has '{fault.right}' {times} times. Give a text that is there once.")
        texts[path] = text.replace(fault.right, switched(fault, number))
    return texts


def write(path: Path, text: str) -> None:
    """Leaves a file that is right as it is, so that nothing is compiled for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def make_tree() -> None:
    """The checkout, with the faults in its src."""
    changed = mutated_sources()
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    for name in listed:
        path = Path(name)
        write(TREE / path, changed.get(path) or (ROOT / path).read_text())
    for stale in set(TREE.glob("src/**/*.*")) - {TREE / name for name in listed}:
        stale.unlink()
    write(TREE / "is_mutant.h", SWITCH)
    for entry in ROOT.iterdir():
        link = TREE / entry.name
        if entry.name[0] != "." and not entry.name.startswith("build") and not link.exists():
            link.symlink_to(entry)


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, env=environment())


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **extra}


def build(jobs: int) -> None:
    out = BUILD / "out"
    run(
        *("cmake", "-S", TREE, "-B", out, "-G", "Ninja", "--log-level=WARNING"),
        *("-DCMAKE_BUILD_TYPE=Release", "-DTORCHPLUG_TESTS=ON"),
        f"-DCMAKE_CXX_FLAGS=-include {TREE / 'is_mutant.h'} -Wno-error",
        f"-DCMAKE_PREFIX_PATH={ROOT / '.venv' / 'debian' / 'usr'}",
        f"-DPython_EXECUTABLE={BIN / 'python'}",
    )
    run("ninja", "-C", out, "-j", jobs, "--quiet")
    run("cmake", "--install", out, "--prefix", SITE)
    run("cp", "-r", f"{ROOT / 'torchplug'}/.", SITE / "torchplug")


def command_of(test: str) -> tuple[list[str], dict[str, str]]:
    """A test is `core_tests:Filter`, or a file under tests with pytest's `::`; settings may stand before it."""
    *settings, name = test.split()
    extra = dict(setting.split("=", 1) for setting in settings)
    if "_tests:" in name:
        program, chosen = name.split(":", 1)
        found = next((BUILD / "out").glob(f"**/{program}"))
        return [str(found), f"--gtest_filter={chosen}", "--gtest_brief=1"], extra
    extra.setdefault("TORCHPLUG_DEVICE", "sim")
    extra["TORCHPLUG_TEST_SITE"] = str(SITE)
    extra["PYTHONPATH"] = str(ROOT / "tests" / "sanitize")
    # Not in the checkout, whose own torchplug would be found first.
    command = [str(BIN / "python"), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    return [*command, str(ROOT / "tests" / name)], extra


def failure_of(test: str, mutant: int) -> str:
    """Empty if the test passes."""
    command, extra = command_of(test)
    try:
        done = subprocess.run(
            command,
            cwd=BUILD,
            env=environment(MUTANT=str(mutant), OMP_NUM_THREADS="1", **extra),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"crashes (signal {-done.returncode})"
    lines = [line for line in done.stdout.splitlines() if "FAILED" in line or line.startswith("E ")]
    return lines[-1].strip() if lines else f"fails: {done.stdout[-300:]}{done.stderr[-300:]}"


def try_fault(number: int) -> Outcome:
    fault = FAULTS[number - 1]
    for test in fault.tests:
        if failure_of(test, number):
            return Outcome(fault, test)
    return Outcome(fault, "")


def check_sound(tests: list[str], pool: ThreadPoolExecutor) -> None:
    """Without a fault every test passes: otherwise its failure would prove nothing."""
    for test, failure in zip(tests, pool.map(lambda test: failure_of(test, 0), tests), strict=True):
        if failure:
            sys.exit(f"{test} fails without any fault: {failure}")


def report(outcomes: list[Outcome]) -> int:
    survivors = [outcome.fault for outcome in outcomes if not outcome.found_by]
    for fault in survivors:
        print(f"not found: src/{fault.file}: {fault.right}  ->  {fault.wrong}")
    found = len(outcomes) - len(survivors)
    folders = len({str(Path(outcome.fault.file).parent) for outcome in outcomes})
    print(f"{found} of {len(outcomes)} faults in {folders} folders of src were found")
    entries = [
        {
            "file": o.fault.file,
            "right": o.fault.right,
            "wrong": o.fault.wrong,
            "found_by": o.found_by,
        }
        for o in outcomes
    ]
    (BUILD / "report.json").write_text(json.dumps(entries, indent=1))
    return 0 if found >= WANTED * len(outcomes) else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="faults of files whose path contains this")
    options = parser.parse_args()
    make_tree()
    build(options.jobs)
    chosen = [n for n, fault in enumerate(FAULTS, start=1) if options.only in fault.file]
    tests = sorted({test for number in chosen for test in FAULTS[number - 1].tests})
    outcomes = []
    with ThreadPoolExecutor(options.jobs) as pool:
        check_sound(tests, pool)
        for outcome in pool.map(try_fault, chosen):
            outcomes.append(outcome)
            print(f"{outcome.fault.file}: {outcome.found_by or 'NOT FOUND'}", flush=True)
    return report(outcomes)


if __name__ == "__main__":
    sys.exit(main())
