"""`python -m torchplug.bench.worker WISHES`: measures the device that `import torch` gives.

WISHES is a JSON object, the settings and the groups; what is printed is another, driver.Found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable

import torch

import torchplug
from torchplug.bench import (
    casts,
    chain,
    copies,
    disk,
    engines,
    graphs,
    idle,
    inductor,
    large,
    rows,
    scripted,
    shapes,
    small,
    staging,
    training,
)
from torchplug.bench.driver import Found, first_line
from torchplug.bench.rounds import Result
from torchplug.bench.settings import Settings

Measure = Callable[[list[rows.Group], torch.device, Settings], dict[str, Result]]

KINDS: dict[str, Measure] = {
    "call": small.measure,
    "burst": small.measure_burst,
    "pair": small.measure_pairs,
    "shapes": shapes.measure,
    "chain": chain.measure,
    "step": training.measure,
    "idle": idle.measure,
    "graph": graphs.measure,
    "copy": copies.measure,
    "cast": casts.measure,
    "large": large.measure,
    "staging": staging.measure,
    "fused": engines.measure,
    "fused-all": engines.measure_all_threads,
    "engine": engines.measure_call,
    "decode": engines.measure_decode,
    "scripted": scripted.measure,
    "inductor": inductor.measure,
    "disk": disk.measure,
}
OF_OPERATORS = ("call", "burst", "pair", "shapes", "chain")
"""Kinds of rows that are about one operator."""


def main() -> None:
    wishes = json.loads(sys.argv[1])
    groups = [rows.Group(**group) for group in wishes["groups"]]
    name = torch._C._get_privateuse1_backend_name()
    if name == "privateuseone":
        raise SystemExit("There is no device to measure. Set TORCHPLUG_DEVICE, or give --device.")
    if not any(group.kind in rows.DEFAULT_THREADS for group in groups):
        torch.set_num_threads(1)
    with torch.inference_mode():
        print(json.dumps(measure(torch.device(name, 0), groups, Settings(**wishes["settings"]))))


def measure(place: torch.device, groups: list[rows.Group], settings: Settings) -> Found:
    found: Found = {
        "device": place.type,
        "hardware": torch.get_device_module(place).get_device_name(place),
        "torch": torch.__version__,
        "compiler": torchplug._C.built_with()["compiler"],
        "threads": torch.get_num_threads(),
        "results": {},
        "ways": {},
        "left_out": {},
        "failures": {},
    }
    found["ways"] = ways(groups, place)
    for kind in dict.fromkeys(group.kind for group in groups):
        of_this_kind = [group for group in groups if group.kind == kind]
        reason = reason_to_leave_out(kind, place)
        if reason:
            found["left_out"] |= {group.name: reason for group in of_this_kind}
            continue
        try:
            found["results"] |= KINDS[kind](of_this_kind, place, settings)
        except RuntimeError as error:
            said = first_line(str(error))
            found["failures"] |= {group.name: said for group in of_this_kind}
    return found


def ways(groups: Iterable[rows.Group], place: torch.device) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    of_operators = [group for group in groups if group.kind in OF_OPERATORS]
    for name, call in rows.calls_of(of_operators):
        found[name] = small.ways(call, place)
    return found


def reason_to_leave_out(kind: str, place: torch.device) -> str:
    if kind == "burst" and not small.is_asynchronous():
        return "the device is synchronous: a call has done its work when it returns"
    if kind == "staging" and small.ways("sin", place) != ["stage"]:
        return "the device does not stage it"
    if kind in rows.OF_COMPILERS and not torchplug._C.has_compiler(place.index):
        return "the plugin has no compiler"
    if kind == "inductor" and not torchplug._C.can_launch_generated(place.index):
        return "the host has no view of its memory"
    if kind == "disk" and not torchplug._C.describe_compiler(place.index)["saves"]:
        return "the plugin saves no engines"
    return ""


if __name__ == "__main__":
    main()
