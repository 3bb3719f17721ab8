"""The rows from C++, which the programs `operators` and `allocator` measure (benchmarks/*.cpp)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks import rows
from torchplug.bench.driver import TIMEOUT, last_line
from torchplug.bench.rounds import Result
from torchplug.bench.rows import calls_of
from torchplug.bench.settings import Settings

KINDS = ("plain", "launch", "burst")


def measure(
    programs: Mapping[str, Path], device: str, plugin: str, settings: Settings
) -> dict[str, Result]:
    """All rows of one device that the programs have."""
    results: dict[str, Result] = {}
    targets = list(rows.targets_of(device))
    if "operators" in programs:
        for kind in KINDS:
            of_this_kind = [target for target in targets if target.cpp == kind]
            results |= run(programs["operators"], plugin, options(kind, settings), of_this_kind)
    for program, path in programs.items():
        own = [target for target in targets if target.program == program]
        results |= run(path, plugin, options("plain", settings), own)
    return results


def options(kind: str, settings: Settings) -> list[str]:
    """The program's options for a kind of rows; it waits for the device after every round."""
    found = {
        "plain": ["--rounds", settings.rounds, "--calls", settings.calls],
        "launch": ["--rounds", settings.short_rounds, "--calls", settings.short],
        "burst": ["--rounds", settings.rounds, "--calls", settings.burst, "--wait", "1"],
    }[kind]
    return list(map(str, found))


def run(
    program: Path, plugin: str, options: list[str], targets: Iterable[rows.Target]
) -> dict[str, Result]:
    """The results by the name of the row."""
    wanted = list(calls_of(target.group for target in targets))
    if not wanted:
        return {}
    only = [word for call in dict.fromkeys(call for _, call in wanted) for word in ("--only", call)]
    command = [str(program), plugin, *options, *only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr) or f"exit code {done.returncode}")
    found: dict[str, Result] = json.loads(done.stdout)
    return {name: found[call] for name, call in wanted}
