"""`torchplug bench compile`: what the device's compiler makes of some models, and what that gains."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchplug import _settings, _text
from torchplug.bench import environment
from torchplug.bench.driver import last_line, too_few_rounds
from torchplug.bench.report import show_environment, show_remarks
from torchplug.bench.settings import Settings
from torchplug.cli import output

if TYPE_CHECKING:
    from rich.console import Console

Report = dict[str, Any]

TIMEOUT = 1800
NAMES = ("residual", "bert", "llama", "unet", "lstm", "mixture")
"""Of models.MODELS, which this process does not import: it has no device."""
CONDITIONS = (
    "float32, PyTorch's default number of threads; calls without gradients, with the wait for their end, in turns, "
    "medians of the rounds; Inductor compiles the same model for the CPU"
)


def make_report(
    names: Sequence[str],
    settings: Settings,
    chosen: Mapping[str, str],
    progress: Callable[[str], None] = lambda text: None,
) -> Report:
    """What `--json` gives. RuntimeError if there is no device, or none with a compiler."""
    here = environment.describe()
    here["variables"] = {k: v for k, v in sorted(chosen.items()) if k.startswith("TORCHPLUG_")}
    found: dict[str, Report] = {}
    with tempfile.TemporaryDirectory() as folder:
        env = {**chosen, _settings.CACHE_DIR: folder, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
        for name in names:
            progress(f"Compiling and measuring {name}")
            found[name] = work(name, settings, env, again=False)
            if "failure" not in found[name]:
                progress(f"Loading the engines of {name} from disk")
                add_disk(found[name], work(name, settings, env, again=True))
    about = next(iter(found.values()))
    here |= {key: about[key] for key in ("torch", "compiler")}
    here["load_after"] = environment.load()
    return {
        "device": about["device"],
        "hardware": about["hardware"],
        "environment": here,
        "conditions": CONDITIONS,
        "models": [{"model": n, **f} for n, f in found.items() if "failure" not in f],
        "notes": too_few_rounds(settings),
        "failures": [f"{n}: {f['failure']}" for n, f in found.items() if "failure" in f],
    }


def work(name: str, settings: Settings, env: Mapping[str, str], *, again: bool) -> Report:
    """What one process finds of a model; `again`: only what its engines cost when others have made them."""
    wish = json.dumps({"model": name, "rounds": settings.large_rounds, "again": again})
    command = [sys.executable, "-m", "torchplug.bench.compile_worker", wish]
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{name} did not finish within {TIMEOUT} seconds.") from None
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr) or f"It ended with code {done.returncode}.")
    found: Report = json.loads(done.stdout.splitlines()[-1])
    return found


def add_disk(found: Report, again: Report) -> None:
    """To each graph, how long a second process needed for its engines; None if it did not have them from disk."""
    for graph, other in zip(found["graphs"], again.get("graphs", []), strict=False):
        is_loaded = other["loaded"] == graph["engines"] and not other["compiled"]
        graph["disk_seconds"] = other["seconds"] if is_loaded and graph["engines"] else None


# ---- for people ----


def show(console: Console, report: Report) -> None:
    console.print(f"{report['device']}: {report['hardware']}", markup=False, soft_wrap=True)
    show_environment(console, report)
    output.put(console, graphs_table(console, report))
    console.print()
    output.put(console, times_table(console, report))
    show_remarks(console, report)


def graphs_table(console: Console, report: Report) -> Any:
    columns = (
        "model",
        "graph",
        "nodes",
        "in engines",
        "groups",
        "engines",
        "compiled",
        "from disk",
    )
    table = output.table(console, *columns, right=columns[2:])
    for model in report["models"]:
        for number, graph in enumerate(model["graphs"]):
            table.add_row(
                "" if number else model["model"],
                graph["kind"],
                str(graph["nodes"]),
                f"{graph['share']:.0%}",
                str(graph["groups"]),
                str(graph["engines"]),
                f"{graph['seconds']:.2f} s",
                seconds_text(graph.get("disk_seconds")),
            )
    return table


def times_table(console: Console, report: Report) -> Any:
    columns = ("a call", "eager", "compiled", "gain", "Inductor, CPU", "Inductor's over ours")
    table = output.table(console, *columns, right=columns[1:])
    for model in report["models"]:
        times = model["times"]
        table.add_row(
            model["model"],
            _text.duration(times["eager"]["reference"]),
            _text.duration(times["eager"]["device"]),
            f"{1 / times['eager']['figure']:.2f}x",
            _text.duration(times["inductor"]["reference"]),
            f"{1 / times['inductor']['figure']:.2f}x",
        )
    return table


def seconds_text(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3f} s"
