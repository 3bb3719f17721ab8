"""Has everything measured, each device in a process of its own, one after the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from torchplug.bench import chain, environment, imports, native, rows
from torchplug.bench.places import FOLDERS, Places
from torchplug.bench.rounds import Result
from torchplug.bench.settings import COPY_BYTES, ELEMENTS, Settings

TIMEOUT = 600
FEWEST_ROUNDS = 7

CONDITIONS = (
    f"{ELEMENTS} float32 elements, torch.inference_mode, torch.set_num_threads(1); device and CPU "
    "in turns, ratios within each round, medians of the rounds"
)


class Measuring:
    """Gathers the results. What cannot be measured becomes a note, what goes wrong a failure."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self.places = places
        self.settings = settings
        self.environment = environment.describe()
        self.python: dict[str, Result] = {}
        self.cpp: dict[str, Result] = {}
        self.ways: dict[str, list[str]] = {}
        quick = settings.rounds < FEWEST_ROUNDS
        self.notes = ["Too few rounds for the numbers to mean anything."] if quick else []
        self.failures: list[str] = []

    def measure_python(self, device: str) -> None:
        try:
            found = work(self.places.plugins[device], self.settings)
        except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
            self.failures.append(f"{device} from Python: {error}")
            return
        self.python |= found["results"]
        self.ways |= found["ways"]
        self.environment |= found["versions"]

    def measure_cpp(self, device: str) -> None:
        program = self.places.program
        if program is None:
            return
        try:
            self.cpp |= native.measure(program, device, self.places.plugins[device], self.settings)
        except (RuntimeError, ValueError, KeyError, subprocess.SubprocessError) as error:
            self.failures.append(f"{device} from C++: {error}")

    def measure_import(self) -> None:
        for group in rows.groups_of(""):
            try:
                self.python |= imports.measure(group, self.settings)
            except RuntimeError as error:
                self.notes.append(f"Rows left out ({group.title}): {error}.")
            except subprocess.SubprocessError as error:
                self.failures.append(f"{group.title}: {error}")

    def check_ways(self) -> None:
        """A row is about one way of running an operator."""
        for group in rows.GROUPS:
            for call in group.calls if group.way else ():
                found = self.ways.get(rows.key(group, call), [group.way])
                if found != [group.way]:
                    took = " and ".join(found) or "none"
                    self.failures.append(
                        f"{call} on {group.device} was to go the way {group.way}, and went {took}"
                    )

    def report(self) -> dict[str, Any]:
        settings = asdict(self.settings) | {"elements": ELEMENTS, "copy_bytes": COPY_BYTES}
        return {
            "environment": self.environment,
            "conditions": CONDITIONS,
            "settings": settings,
            "cpp_built": self.places.program is not None,
            "rows": list(filter(None, map(self.row, *zip(*every_row(), strict=True)))),
            "notes": self.notes,
            "failures": self.failures,
        }

    def row(self, group: rows.Group, call: str) -> dict[str, Any] | None:
        key = rows.key(group, call)
        if key not in self.python and key not in self.cpp:
            return None
        about = ("device", "against", "unit", "figure", "at_least")
        return {
            "group": group.name,
            "title": group.title,
            "call": call,
            **{name: getattr(group, name) for name in about},
            "python": self.python.get(key),
            "python_aim": group.python_aim,
            "cpp": self.cpp.get(key),
            "cpp_aim": group.cpp_aim,
            "first_aims": group.first_aims,
        }


def every_row() -> list[tuple[rows.Group, str]]:
    return [(group, call) for group in rows.GROUPS for call in group.calls]


def measure(
    places: Places, settings: Settings, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Everything that can be measured here."""
    measuring = Measuring(places, settings)
    for device in FOLDERS:
        if device not in places.plugins:
            titles = "; ".join(g.title for g in rows.GROUPS if device in (g.device, g.against))
            measuring.notes.append(f"Rows left out, because {device} is not here: {titles}.")
            continue
        progress(f"Measuring {device} from Python")
        measuring.measure_python(device)
        progress(f"Measuring {device} from C++")
        measuring.measure_cpp(device)
    measuring.python |= chain.compare(measuring.python)
    progress("Measuring import torch")
    measuring.measure_import()
    measuring.check_ways()
    measuring.environment["load_after"] = [round(load, 2) for load in os.getloadavg()]
    return measuring.report()


def work(plugin: str, settings: Settings) -> dict[str, Any]:
    """What `worker` finds on the device of this plugin."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCHPLUG_")}
    env |= {"TORCHPLUG_DEVICE": plugin, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "torchplug.bench.worker", json.dumps(asdict(settings))]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(native.last_line(done.stderr) or f"exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
