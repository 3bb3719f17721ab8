"""The rows from C++, which the programs `operators` and `allocator` measure (benchmarks/*.cpp)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from torchplug.bench import rows
from torchplug.bench.rounds import Result
from torchplug.bench.settings import Settings

TIMEOUT = 600


def measure(program: Path, device: str, plugin: str, settings: Settings) -> dict[str, Result]:
    """All rows of one device that the program has."""
    groups = [group for group in rows.groups_of(device) if group.cpp]
    results = measure_alone(program, device, plugin, settings)
    for kind, options in kinds(settings).items():
        mine = [group for group in groups if kind_of(group) == kind]
        names = dict.fromkeys(call for group in mine for call in group.calls)
        if names:
            found = run(program, plugin, options, names)
            results |= {
                rows.key(group, call): found[call] for group in mine for call in group.calls
            }
    return results


def measure_alone(program: Path, device: str, plugin: str, settings: Settings) -> dict[str, Result]:
    """The rows of the programs beside `operators`."""
    results: dict[str, Result] = {}
    for group in rows.groups_of(device):
        beside = program.with_name(group.program) if group.program else None
        if beside is not None and beside.exists():
            found = run(beside, plugin, kinds(settings)["plain"], group.calls)
            results |= {
                rows.key(group, call): {**found[call], "reference": None} for call in group.calls
            }
    return results


def kind_of(group: rows.Group) -> str:
    kind, _, _ = group.name.partition("-")
    return kind if kind in ("held", "burst") else "plain"


def kinds(settings: Settings) -> dict[str, list[str]]:
    """The program's options for each kind of rows; it waits for the device after every round."""
    plain = ["--rounds", settings.rounds, "--calls", settings.calls]
    held = ["--rounds", settings.short_rounds, "--calls", settings.short]
    burst = ["--rounds", settings.rounds, "--calls", settings.burst, "--wait", "1"]
    return {
        name: list(map(str, options))
        for name, options in (("plain", plain), ("held", held), ("burst", burst))
    }


def run(program: Path, plugin: str, options: list[str], names: Iterable[str]) -> dict[str, Result]:
    """The results by the name of the call."""
    only = [word for name in names for word in ("--only", name)]
    command = [str(program), plugin, *options, *only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr) or f"exit code {done.returncode}")
    results: dict[str, Result] = json.loads(done.stdout)
    return results


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
