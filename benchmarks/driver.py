"""Has everything measured, one device after the other."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

from benchmarks import native, rows
from benchmarks.places import CHECKOUT, Places
from torchplug import _plugins
from torchplug.bench import driver, environment, imports
from torchplug.bench.driver import Found
from torchplug.bench.rounds import Result
from torchplug.bench.rows import calls_of, key
from torchplug.bench.settings import Settings


class Measuring:
    """Gathers the results. What cannot be measured becomes a note, what goes wrong a failure."""

    def __init__(self, places: Places, settings: Settings) -> None:
        self.places = places
        self.settings = settings
        self.environment = environment.describe() | {"commit": commit()}
        self.found: dict[str, Found] = {}
        self.python: dict[str, Result] = {}
        self.cpp: dict[str, Result] = {}
        self.notes = driver.too_few_rounds(settings)
        self.failures: list[str] = []

    def measure_python(self, device: str) -> None:
        chosen = own_environment() | {"TORCHPLUG_DEVICE": self.places.plugins[device]}
        try:
            found = driver.measure(rows.groups_of(device), self.settings, chosen)
        except RuntimeError as error:
            self.failures.append(f"{device} from Python: {error}")
            return
        self.found[device] = found
        self.environment |= {"torch": found["torch"], "compiler": found["compiler"]}
        for name, why in (found["left_out"] | found["failures"]).items():
            self.failures.append(f"{name} on {device}: {why}")

    def measure_cpp(self, device: str) -> None:
        plugin = self.places.plugins[device]
        try:
            self.cpp |= native.measure(self.places.programs, device, plugin, self.settings)
        except (RuntimeError, ValueError, KeyError, subprocess.SubprocessError) as error:
            self.failures.append(f"{device} from C++: {error}")

    def measure_import(self) -> None:
        """An installed device by name: beside an accelerator of PyTorch's own none is registered unasked."""
        chosen = own_environment()
        if installed := sorted(_plugins.installed_plugins()):
            chosen |= {"TORCHPLUG_DEVICE": installed[0]}
        for group in (target.group for target in rows.targets_of("")):
            try:
                self.python |= imports.measure([group], self.settings, chosen)
            except RuntimeError as error:
                self.notes.append(f"Rows left out ({group.title}): {error}.")
            except subprocess.SubprocessError as error:
                self.failures.append(f"{group.title}: {error}")

    def gather(self) -> None:
        """The rows from Python; one that is about two devices compares what each is beside the CPU."""
        for target in rows.TARGETS:
            for name, _ in calls_of([target.group]):
                ours = self.result(target.device, name)
                theirs = self.result(target.group.against, name)
                if target.group.against not in rows.DEVICES and ours is not None:
                    self.python[name] = ours
                elif ours is not None and theirs is not None:
                    self.python[name] = compare(ours, theirs)

    def result(self, device: str, name: str) -> Result | None:
        return self.found[device]["results"].get(name) if device in self.found else None

    def check_ways(self) -> None:
        """A row is about one way of running an operator."""
        for target in (target for target in rows.TARGETS if target.way):
            for call in target.group.calls if target.device in self.found else ():
                found = self.found[target.device]["ways"].get(key(target.group, call), [])
                if found != [target.way]:
                    took = " and ".join(found) or "none"
                    self.failures.append(
                        f"{call} on {target.device} should run as {target.way} and ran as {took}"
                    )

    def report(self) -> dict[str, Any]:
        every = [(target, call) for target in rows.TARGETS for call in target.group.calls]
        return {
            "environment": self.environment,
            "conditions": driver.CONDITIONS,
            "settings": driver.settings_used(self.settings),
            "cpp_built": "operators" in self.places.programs,
            "rows": [row for row in (self.row(*each) for each in every) if row is not None],
            "notes": self.notes,
            "failures": self.failures,
        }

    def row(self, target: rows.Target, call: str) -> dict[str, Any] | None:
        group = target.group
        name = key(group, call)
        if name not in self.python and name not in self.cpp:
            return None
        return {
            "group": group.name,
            "title": group.title,
            "call": call,
            "device": target.device,
            "against": group.against,
            "unit": group.unit,
            "figure": group.figure,
            "at_least": group.at_least,
            "python": self.python.get(name),
            "python_aim": target.python_aim,
            "cpp": self.cpp.get(name),
            "cpp_aim": target.cpp_aim,
            "first_aims": target.first_aims,
        }


def measure(
    places: Places, settings: Settings, progress: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Everything that can be measured here."""
    measuring = Measuring(places, settings)
    for device in rows.DEVICES:
        if device not in places.plugins:
            titles = "; ".join(t.group.title for t in rows.TARGETS if device in rows.devices_of(t))
            measuring.notes.append(f"Rows left out, because {device} is not available: {titles}.")
            continue
        progress(f"Measuring {device} from Python")
        measuring.measure_python(device)
        progress(f"Measuring {device} from C++")
        measuring.measure_cpp(device)
    progress("Measuring import torch")
    measuring.measure_import()
    measuring.gather()
    measuring.check_ways()
    measuring.environment["load_after"] = environment.load()
    return measuring.report()


def compare(ours: Result, theirs: Result) -> Result:
    """Of two devices, each measured beside the CPU."""
    return {
        "device": ours["device"],
        "reference": theirs["device"],
        "figure": ours["figure"] / theirs["figure"],
        "low": ours["low"] / theirs["high"],
        "high": ours["high"] / theirs["low"],
        "rounds": min(ours["rounds"], theirs["rounds"]),
    }


def own_environment() -> dict[str, str]:
    """Without the user's settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TORCHPLUG_")}


def commit() -> str:
    """Of the checkout, with `-dirty` if it has changes; "" without one."""
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
