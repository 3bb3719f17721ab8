"""`python -m torchplug.bench.compile_worker WISH`: one model on the device that `import torch` gives.

WISH is a JSON object: the model's name, the rounds, and whether engines are only to be loaded; the last line printed is
another, with what was found.
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import torch

import torchplug
import torchplug.compile
from torchplug import _C
from torchplug.bench.clocks import CPU, until_done
from torchplug.bench.driver import first_line
from torchplug.bench.models import MODELS, Model
from torchplug.bench.rounds import Contest, Result, play


def main() -> None:
    wish = json.loads(sys.argv[1])
    name = torch._C._get_privateuse1_backend_name()
    if name == "privateuseone":
        raise SystemExit("There is no device to measure. Set TORCHPLUG_DEVICE, or give --device.")
    if not _C.has_compiler(0):
        raise SystemExit(
            f"Device {name} has no compiler (plug_module.compiler): there is nothing to measure."
        )
    place, model = torch.device(name, 0), MODELS[wish["model"]]
    found: dict[str, Any] = {
        "device": name,
        "hardware": torch.get_device_module(place).get_device_name(place),
        "torch": torch.__version__,
        "compiler": _C.built_with()["compiler"],
    }
    torch.manual_seed(0)
    try:
        with torch._dynamo.config.patch(**model.config):
            found["graphs"] = graphs(model, place)
            if not wish["again"]:
                found["times"] = times(model, place, wish["rounds"])
    except RuntimeError as error:
        found["failure"] = first_line(str(error))
    print(json.dumps(found))


def graphs(model: Model, place: torch.device) -> list[dict[str, Any]]:
    """Of a call without gradients, then of one with them: what became of each."""
    module = model.make().to(place)
    inputs = [x.to(place) for x in model.inputs()]
    with torch.no_grad():
        made = torchplug.compile.explain(module.eval(), *inputs).graphs
    for graph in made:
        graph.kind = "inference"
    made += torchplug.compile.explain(module.train(), *inputs).graphs
    return [
        {
            "kind": graph.kind,
            "nodes": graph.nodes,
            "share": graph.share,
            "groups": len(graph.groups),
            "engines": sum(group.engines for group in graph.groups),
            "compiled": sum(group.compiled for group in graph.groups),
            "loaded": sum(group.loaded for group in graph.groups),
            "seconds": sum(group.seconds for group in graph.groups),
        }
        for graph in made
    ]


def times(model: Model, place: torch.device, rounds: int) -> dict[str, Result]:
    """Nanoseconds a call, compiled for the device: beside eager there, and beside Inductor on the CPU."""
    torch._dynamo.reset()
    here = model.make().eval()
    there = copy.deepcopy(here).to(place)
    given = model.inputs()
    moved = [x.to(place) for x in given]
    ours: Any = torch.compile(there, backend="torchplug")
    theirs: Any = torch.compile(here, backend="inductor")
    with torch.no_grad():
        compiled = until_done(lambda: ours(*moved), place)
        return play(
            rounds,
            {
                "eager": Contest(compiled, until_done(lambda: there(*moved), place)),
                "inductor": Contest(compiled, until_done(lambda: theirs(*given), CPU)),
            },
        )


if __name__ == "__main__":
    main()
