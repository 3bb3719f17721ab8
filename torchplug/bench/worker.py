"""`python -m torchplug.bench.worker SETTINGS`: measures the device that TORCHPLUG_DEVICE gives.

Prints one JSON object: the results by row, which way the calls went, and what is here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from torchplug import _C
from torchplug.bench import chain, copies, graphs, idle, rows, small, training
from torchplug.bench.rounds import Result
from torchplug.bench.settings import Settings


def main() -> None:
    settings = Settings(**json.loads(sys.argv[1]))
    name = torch._C._get_privateuse1_backend_name()
    if name == "privateuseone":
        raise SystemExit("torchplug.bench.worker: there is no device; set TORCHPLUG_DEVICE")
    torch.set_num_threads(1)
    with torch.inference_mode():
        print(json.dumps(measure(torch.device(name, 0), settings)))


def measure(place: torch.device, settings: Settings) -> dict[str, Any]:
    groups = {group.name: group for group in rows.groups_of(place.type)}
    ways = {
        rows.key(group, call): small.ways(group, call, place)
        for group in groups.values()
        if group.way
        for call in group.calls
    }
    results: dict[str, Result] = {}
    beside_cpu = [group for group in groups.values() if group.against == "the CPU"]
    held = [group for group in beside_cpu if group.name.startswith("held-")]
    burst = [group for group in beside_cpu if group.name.startswith("burst-")]
    step = [group for group in beside_cpu if group.name == "step"]
    plain = [group for group in beside_cpu if group not in [*held, *burst, *step]]
    results |= small.measure(plain, place, settings)
    results |= small.measure_held(held, place, settings)
    results |= small.measure_burst(burst, place, settings)
    for group in step:
        results |= training.measure(group, place, settings)
    for group in groups.values():
        if group.name == "idle":
            results |= idle.measure(group, place, settings)
        if group.name == "graph":
            results |= graphs.measure(group, place, settings)
        if group.against == "memcpy":
            results |= copies.measure(group, place, settings)
    if place.type in chain.DEVICES:
        results |= chain.measure(place, settings)
    versions = {"torch": torch.__version__, "compiler": _C.built_with()["compiler"]}
    return {"results": results, "ways": ways, "versions": versions}


if __name__ == "__main__":
    main()
