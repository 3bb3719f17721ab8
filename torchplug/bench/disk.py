"""The row about engines on disk: what a second process needs for them, beside what the first did.

`python -m torchplug.bench.disk` is told directories, line by line, and says for each what a process needs for its engines there.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import torch

from torchplug import _settings
from torchplug.bench import rows
from torchplug.bench.rounds import Contest, Result, play
from torchplug.bench.settings import Settings

COMMAND = [sys.executable, "-m", "torchplug.bench.disk"]


def measure(groups: list[rows.Group], place: torch.device, settings: Settings) -> dict[str, Result]:
    """Engines a second, each time in a process of its own; so the ratio is of speeds."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+") as errors,
        Server(errors) as server,
    ):
        pair = _Pair(server, Path(folder))
        contests = {name: Contest(pair.load, pair.compile) for name, _ in rows.calls_of(groups)}
        return play(settings.disk_pairs, contests)


class Server(subprocess.Popen[str]):
    """Starts the processes. They are forks of one that has imported everything and opened no device: imports take most of
    the time, and are not what is measured."""

    def __init__(self, errors: IO[str]) -> None:
        self.errors = errors
        pipe = subprocess.PIPE
        super().__init__(COMMAND, stdin=pipe, stdout=pipe, stderr=errors, text=True)

    def speed(self, directory: Path, *, expected: str) -> float:
        """How many engines a second a process has made. RuntimeError if it did not come by them as expected."""
        assert self.stdin is not None and self.stdout is not None
        self.stdin.write(f"{directory}\n")
        self.stdin.flush()
        answer = self.stdout.readline()
        if not answer:
            self.errors.seek(0)
            raise RuntimeError(self.errors.read().strip().rpartition("\n")[2])
        seconds, compiled, loaded = map(float, answer.split())
        if not {"compiled": compiled and not loaded, "loaded": loaded and not compiled}[expected]:
            raise RuntimeError(f"{compiled:.0f} engines were compiled and {loaded:.0f} loaded")
        return (compiled + loaded) / seconds


class _Pair:
    """Processes with a directory of engines: new for each that compiles."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.count = 0

    def compile(self) -> float:
        self.count += 1
        return self.server.speed(self.folder / str(self.count), expected="compiled")

    def load(self) -> float:
        if not self.count:
            self.compile()
        return self.server.speed(self.folder / str(self.count), expected="loaded")


# ---- in the processes ----


def serve() -> None:
    import torch._dynamo  # noqa: F401 - what each fork would import

    import torchplug.compile  # noqa: F401

    for line in sys.stdin:
        process = multiprocessing.get_context("fork").Process(target=answer, args=(line.strip(),))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)


def answer(directory: str) -> None:
    """Prints the seconds for the engines of a block, and how many were compiled and loaded."""
    import torchplug.compile
    from torchplug.bench import engines

    os.environ[_settings.CACHE_DIR] = directory
    place = torch.device(torch._C._get_privateuse1_backend_name(), 0)
    given = [torch.randn(64, engines.WIDTH).to(place), *torch.rand(2, engines.WIDTH).to(place)]
    with torch.no_grad():
        report = torchplug.compile.explain(engines.block, *given)
    print(report.seconds, report.compiled, report.loaded, flush=True)


if __name__ == "__main__":
    serve()
