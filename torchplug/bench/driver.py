"""Has a device measured, in processes of its own: a process has one device plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from torchplug import _plugins
from torchplug.bench import environment, imports, rows
from torchplug.bench.rounds import Result
from torchplug.bench.settings import COPY_BYTES, ELEMENTS, FEWEST_ROUNDS, Settings

TIMEOUT = 600

CONDITIONS = (
    f"small operators: {ELEMENTS} float32 elements, torch.inference_mode, torch.set_num_threads(1); "
    "large ones: PyTorch's default number of threads; device and CPU in turns, ratios within each "
    "round, medians of the rounds"
)

Progress = Callable[[str], None]


class Found(TypedDict):
    """What the processes found; rows and groups by name."""

    device: str
    hardware: str
    """What the device calls itself."""
    torch: str
    compiler: str
    threads: int
    results: dict[str, Result]
    ways: dict[str, list[str]]
    left_out: dict[str, str]
    """Groups that do not apply to this device, and why."""
    failures: dict[str, str]
    """Groups that were to be measured and could not be, and why."""


def measure(
    groups: Sequence[rows.Group],
    settings: Settings,
    chosen: Mapping[str, str],
    progress: Progress = lambda text: None,
) -> Found:
    """All groups on the device that the environment `chosen` gives. RuntimeError if there is none."""
    importing = [group for group in groups if group.kind == "import"]
    first, *others = batches_of([group for group in groups if group not in importing])
    progress(progress_text(first))
    found = work(first, settings, chosen)
    for batch in others:
        progress(progress_text(batch))
        try:
            merge(found, work(batch, settings, chosen))
        except RuntimeError as error:
            found["failures"] |= {group.name: str(error) for group in batch}
    if importing:
        progress("Measuring import torch")
        measure_import(found, importing, settings, chosen)
    return found


def batches_of(groups: list[rows.Group]) -> list[list[rows.Group]]:
    """What a process measures: one with one thread, one with all, and one that compiles, which others are not to notice."""
    compiling = [group for group in groups if group.kind in rows.COMPILING]
    others = [group for group in groups if group not in compiling]
    with_all_threads = [group for group in others if group.kind in rows.DEFAULT_THREADS]
    with_one = [group for group in others if group not in with_all_threads]
    return [batch for batch in (with_one, with_all_threads, compiling) if batch] or [[]]


def progress_text(batch: list[rows.Group]) -> str:
    return f"Measuring {', '.join(group.name for group in batch)}".strip()


def work(groups: Iterable[rows.Group], settings: Settings, chosen: Mapping[str, str]) -> Found:
    """What one process finds."""
    wishes = {"settings": asdict(settings), "groups": [group._asdict() for group in groups]}
    command = [sys.executable, "-m", "torchplug.bench.worker", json.dumps(wishes)]
    env = {**chosen, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"It did not finish within {TIMEOUT} seconds.") from None
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr) or f"It ended with code {done.returncode}.")
    found: Found = json.loads(done.stdout)
    return found


def merge(found: Found, more: Found) -> None:
    found["results"] |= more["results"]
    found["ways"] |= more["ways"]
    found["left_out"] |= more["left_out"]
    found["failures"] |= more["failures"]


def measure_import(
    found: Found, groups: list[rows.Group], settings: Settings, chosen: Mapping[str, str]
) -> None:
    try:
        found["results"] |= imports.measure(groups, settings, chosen)
    except RuntimeError as error:
        found["left_out"] |= {group.name: str(error) for group in groups}
    except subprocess.SubprocessError as error:
        found["failures"] |= {group.name: str(error) for group in groups}


def make_report(
    groups: Sequence[rows.Group],
    settings: Settings,
    chosen: Mapping[str, str],
    progress: Progress = lambda text: None,
) -> dict[str, Any]:
    """What `torchplug bench --json` gives."""
    here = environment.describe()
    here["variables"] = {k: v for k, v in sorted(chosen.items()) if k.startswith("TORCHPLUG_")}
    found = measure(groups, settings, chosen, progress)
    here |= {"torch": found["torch"], "compiler": found["compiler"]}
    here["load_after"] = environment.load()
    titles = {group.name: group.title for group in groups}
    return {
        "device": found["device"],
        "hardware": found["hardware"],
        "environment": here,
        "conditions": CONDITIONS,
        "settings": settings_used(settings),
        "rows": [row for group in groups for row in rows_of(group, found)],
        "notes": [
            *too_few_rounds(settings),
            *(f"Left out, {titles[name]}: {why}." for name, why in found["left_out"].items()),
        ],
        "failures": [f"{titles[name]}: {why}" for name, why in found["failures"].items()],
    }


def rows_of(group: rows.Group, found: Found) -> list[dict[str, Any]]:
    about = {
        name: value for name, value in group._asdict().items() if name not in ("name", "calls")
    }
    measured = [call for call in group.calls if rows.key(group, call) in found["results"]]
    return [
        {
            "group": group.name,
            "call": call,
            **about,
            "ways": found["ways"].get(rows.key(group, call), []),
            "result": found["results"][rows.key(group, call)],
        }
        for call in measured
    ]


def settings_used(settings: Settings) -> dict[str, int]:
    return asdict(settings) | {"elements": ELEMENTS, "copy_bytes": COPY_BYTES}


def too_few_rounds(settings: Settings) -> list[str]:
    few = settings.rounds < FEWEST_ROUNDS
    return ["Too few rounds for the numbers to mean anything."] if few else []


def environment_with(device: str | None) -> dict[str, str]:
    """This process's, with another device if one is given. RuntimeError if there is no such device."""
    chosen = {**os.environ} if device is None else {**os.environ, "TORCHPLUG_DEVICE": device}
    wish = chosen.get("TORCHPLUG_DEVICE", "")
    if wish not in ("", "none"):
        _plugins.find(wish, _plugins.installed_plugins())
    return chosen


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
