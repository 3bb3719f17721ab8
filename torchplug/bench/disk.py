"""The row about engines on disk: what a second process needs for them, beside what the first did."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from torchplug import _settings
from torchplug.bench import rows
from torchplug.bench.rounds import Contest, Result, play
from torchplug.bench.settings import Settings

CODE = """
import torch, torchplug.compile
from torchplug.bench import engines
place = torch.device(torch._C._get_privateuse1_backend_name(), 0)
given = [torch.randn(64, engines.WIDTH).to(place), *torch.rand(2, engines.WIDTH).to(place)]
with torch.no_grad():
    report = torchplug.compile.explain(engines.block, *given)
groups = [group for graph in report.graphs for group in graph.groups]
print(sum(g.seconds for g in groups), sum(g.compiled for g in groups), sum(g.loaded for g in groups))
"""


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """Engines a second, each time in a fresh process; so the ratio is of speeds."""
    with tempfile.TemporaryDirectory() as folder:
        pair = _Pair(Path(folder))
        contests = {name: Contest(pair.load, pair.compile) for name, _ in rows.calls_of(groups)}
        return play(settings.disk_pairs, contests)


class _Pair:
    """Processes with a directory of engines: new for each that compiles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def compile(self) -> float:
        self.count += 1
        return speed_of(self.folder / str(self.count), expected="compiled")

    def load(self) -> float:
        if not self.count:
            self.compile()
        return speed_of(self.folder / str(self.count), expected="loaded")


def speed_of(directory: Path, *, expected: str) -> float:
    """How many engines a second a process has made. RuntimeError if it did not come by them as expected."""
    environment = {**os.environ, _settings.CACHE_DIR: str(directory)}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    seconds, compiled, loaded = map(float, done.stdout.split())
    if not {"compiled": compiled and not loaded, "loaded": loaded and not compiled}[expected]:
        raise RuntimeError(f"{compiled:.0f} engines were compiled and {loaded:.0f} loaded")
    return (compiled + loaded) / seconds
