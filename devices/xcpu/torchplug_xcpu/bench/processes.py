"""The processes that measure: contestants and probes. Each answers a line with a line, and waits in between."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WORKER = HERE / "worker"
PROBE = HERE / "xcpu_probe"
TIMEOUT = 600
"""Seconds, of one answer."""

Answer = dict[str, Any]


class Process:
    """A program that answers lines with lines, until it is closed."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process lives
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
        )

    def ask(self, line: str) -> str:
        """RuntimeError if there is no answer."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # read() says why it has ended
        return self.read()

    def read(self) -> str:
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(TIMEOUT):
                raise RuntimeError(f"it did not answer within {TIMEOUT} seconds")
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait()
            self.said.seek(0)
            last = self.said.read().strip().rpartition("\n")[2]
            raise RuntimeError(last or f"it ended with code {self.process.returncode}")
        return answer

    def seconds(self) -> float:
        """Of processors, that it has used so far."""
        try:
            after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        except OSError:
            return 0.0
        user, system = after_name.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.said.close()


class Contestant(Process):
    def __init__(self, name: str, python: str, threads: int) -> None:
        command = [python, str(WORKER), name, str(threads)]
        super().__init__(name, command, environment_of(name, threads))
        try:
            self.torch: str = json.loads(self.read())["torch"]
        except RuntimeError:
            self.close()
            raise

    def wish(self, **wish: Any) -> Answer:
        """RuntimeError with what it says, if it cannot."""
        answer: Answer = json.loads(self.ask(json.dumps(wish)))
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer


class Probes(Process):
    """What memory and multiplication give at most."""

    def __init__(self, threads: int, cycle: int) -> None:
        memory = max(1, cycle >> 20)
        super().__init__("probe", [str(PROBE), str(threads), str(memory)], os.environ)

    def read_bandwidth(self, part: int) -> float:
        return float(self.ask(f"read {part}"))

    def products(self, unit: str) -> float:
        return float(self.ask(unit))


def environment_of(name: str, threads: int) -> dict[str, str]:
    """With the same number of threads for all; nothing of torchplug but in our own process, and no device there."""
    plain = {k: v for k, v in os.environ.items() if k not in ("TORCHPLUG_DEVICE", "PYTHONPATH")}
    loads = "1" if name == "xcpu" else "0"
    return plain | {
        "OMP_NUM_THREADS": str(threads),
        "TORCHPLUG_DEVICE": "none",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": loads,
    }


PEERS = {"zentorch": "zentorch 2.13.0.2", "pace": "amd-pace 1.3.0"}


def python_of(name: str, peers: Path) -> str:
    """The interpreter of a contestant. RuntimeError, with how to get it, if there is none."""
    if name not in PEERS:
        return sys.executable
    python = peers / name / "bin" / "python"
    if not python.exists():
        raise RuntimeError(f"{PEERS[name]} is not in {peers / name}: run make peers")
    return str(python)
