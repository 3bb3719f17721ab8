"""Looks at a plugin in a process of its own.

A process has one device plugin, and a plugin that crashes or hangs while it loads must not take the
command with it. Run as a program, this module is that process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from torchplug import _plugins, _settings

IMPORTING_SECONDS = 120.0
LOADING_SECONDS = 20.0
LONGEST_SECONDS = 900.0
READY = b"ready\n"


class Patience:
    """How long a process may take, on whatever machine: while it waits for a processor no time passes.

    Raises TimeoutError in the end: after `seconds` of its own, or LONGEST_SECONDS on the clock.
    """

    def __init__(
        self,
        seconds: float,
        waited: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._waited, self._clock = seconds, waited, clock
        self._begun, self._had_waited = clock(), waited()

    def next_look(self) -> float:
        """In how many seconds to look again."""
        passed = self._clock() - self._begun
        own = passed - (self._waited() - self._had_waited)
        if own >= self._seconds or passed >= LONGEST_SECONDS:
            raise TimeoutError
        return min(1.0, self._seconds - own)


def waited_for_a_processor(pid: int) -> float:
    """How many seconds the thread of the process that was worst off has been ready to run, and did not."""
    longest = 0
    with suppress(OSError):  # it has ended, or the kernel does not say
        for task in Path(f"/proc/{pid}/task").iterdir():
            longest = max(longest, int((task / "schedstat").read_text().split()[1]))
    return longest * 1e-9


def inspect(
    wish: str, *, compute: bool = False, seconds: float = LOADING_SECONDS
) -> dict[str, Any]:
    """What the plugin named `wish`, or at that path, says of itself; "error" if it cannot be loaded.

    With `compute` its first device also computes something, and "computes" says whether that is right.
    """
    answer, given = os.pipe()
    command = [sys.executable, "-m", "torchplug.cli.inspection", str(given), wish]
    # Of the plugins only the one that is looked at: another may crash when it is loaded.
    environment = os.environ | {_settings.DEVICE: "none", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environment.pop(_settings.LEDGER, None)
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [*command, *(["--compute"] if compute else [])],
            env=environment,
            pass_fds=[given],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        ) as process,
    ):
        os.close(given)
        with os.fdopen(answer, "rb", buffering=0) as pipe:
            said = _answer(process, pipe.fileno(), seconds)
        return said if isinstance(said, dict) else _outcome(process, said, errors)


def _answer(process: subprocess.Popen[bytes], pipe: int, seconds: float) -> bytes | dict[str, Any]:
    """What it wrote into the pipe before it ended; "error" if it had to be ended."""

    def patience(limit: float) -> Patience:
        return Patience(limit, lambda: waited_for_a_processor(process.pid))

    stage, limit, said = "import PyTorch", IMPORTING_SECONDS, b""
    try:
        if _read(pipe, len(READY), patience(limit)) == READY:
            stage, limit = "load", seconds
            said = _read(pipe, None, patience(limit))
            stage = "end"
        _wait(process, patience(limit))
    except TimeoutError:
        process.kill()
        process.wait()
        return {"error": f"It did not {stage} within {limit:.0f} seconds.", "late": True}
    return said


def _wait(process: subprocess.Popen[bytes], patience: Patience) -> None:
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience.next_look())


def _outcome(process: subprocess.Popen[bytes], said: bytes, errors: IO[bytes]) -> dict[str, Any]:
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return {"error": f"It crashed with {name}."}
    if not said:
        errors.seek(0)
        words = errors.read().decode(errors="replace").strip().splitlines()
        return {"error": words[-1] if words else f"It ended with code {process.returncode}."}
    facts: dict[str, Any] = json.loads(said)
    return facts


def _read(pipe: int, most: int | None, patience: Patience) -> bytes:
    """Up to `most` bytes, or all until the pipe is closed."""
    said = b""
    while most is None or len(said) < most:
        if not select.select([pipe], [], [], patience.next_look())[0]:
            continue
        part = os.read(pipe, 65536 if most is None else most - len(said))
        if not part:
            break
        said += part
    return said


def look(wish: str, compute: bool) -> dict[str, Any]:
    """In the process of its own: loads the plugin and asks it. What its package lists is known all the same."""
    facts = {}
    try:
        plugin = _plugins.find(wish, _plugins.all_plugins())
        facts = options_of(plugin)
        return facts | load(plugin, compute)
    except Exception as error:  # noqa: BLE001 - the reason is the answer
        return facts | {"error": str(error)}


def load(plugin: _plugins.Plugin, compute: bool) -> dict[str, Any]:
    """Loads the plugin and asks it what it has."""
    from torchplug import _C, _autoload

    path = plugin.resolve()
    if not _C.describe_operators(path)["is_device"]:
        _autoload.load_operators(path)
        return dict(_C.describe_operators(path))
    _autoload.use(plugin.name, path)
    facts: dict[str, Any] = dict(_C.describe())
    facts["devices"] = [dict(_C.properties(index)) for index in range(_C.device_count())]
    for device in facts["devices"]:
        device["dtypes"] = [str(dtype).removeprefix("torch.") for dtype in device["dtypes"]]
    if not facts["devices"]:
        try:
            _C.properties(0)
        except RuntimeError as error:
            facts["no_device"] = str(error)
    elif compute:
        facts["computes"] = computes(facts["name"])
    return facts


def options_of(plugin: _plugins.Plugin) -> dict[str, Any]:
    """The variables that its package lists, or what is wrong with the list."""
    try:
        listed = plugin.options()
    except RuntimeError as error:
        return {"options": None, "options_error": str(error)}
    return {"options": None if listed is None else dict(listed)}


def computes(device: str) -> bool:
    """Whether a little computation gives on the device what it gives on the CPU."""
    import torch

    torch.manual_seed(0)
    values = torch.randn(32, 48), torch.randn(48, 16)

    def work(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.softmax((a @ b).relu() + 1, 1)

    here, there = work(*values), work(*(value.to(device) for value in values))
    return torch.allclose(here, there.cpu(), atol=1e-5)


def main() -> None:
    """Writes what it found into the pipe whose number is the first argument."""
    import torch  # noqa: F401  the core needs its libraries

    with os.fdopen(int(sys.argv[1]), "wb", buffering=0) as answer:
        answer.write(READY)
        facts = look(sys.argv[2], "--compute" in sys.argv)
        answer.write(json.dumps(facts).encode())


if __name__ == "__main__":
    main()
