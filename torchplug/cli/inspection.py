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
from typing import Any

LOADING_SECONDS = 20.0
IMPORTING_SECONDS = 120.0
READY = b"ready\n"


def inspect(
    wish: str, *, compute: bool = False, seconds: float = LOADING_SECONDS
) -> dict[str, Any]:
    """What the plugin named `wish`, or at that path, says of itself; "error" if it cannot be loaded.

    With `compute` its first device also computes something, and "computes" says whether that is right.
    """
    answer, given = os.pipe()
    command = [sys.executable, "-m", "torchplug.cli.inspection", str(given), wish]
    environment = os.environ | {"TORCHPLUG_DEVICE": "none"}
    environment.pop("TORCHPLUG_LEDGER", None)
    with subprocess.Popen(
        [*command, *(["--compute"] if compute else [])],
        env=environment,
        pass_fds=[given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(given)
        with os.fdopen(answer, "rb", buffering=0) as pipe:
            return _outcome(process, pipe.fileno(), seconds)


def _outcome(process: subprocess.Popen[bytes], pipe: int, seconds: float) -> dict[str, Any]:
    try:
        said = _read(pipe, len(READY), IMPORTING_SECONDS)
        said = _read(pipe, None, seconds) if said == READY else b""
        _, errors = process.communicate(timeout=seconds)
    except (TimeoutError, subprocess.TimeoutExpired):
        process.kill()
        process.communicate()
        return {"error": f"It did not finish loading within {seconds:.0f} seconds."}
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return {"error": f"It ended the process with {name}."}
    if not said:
        words = errors.decode(errors="replace").strip().splitlines()
        return {"error": words[-1] if words else f"It ended with code {process.returncode}."}
    facts: dict[str, Any] = json.loads(said)
    return facts


def _read(pipe: int, most: int | None, seconds: float) -> bytes:
    """Up to `most` bytes, or all until the pipe is closed."""
    said = b""
    while most is None or len(said) < most:
        if not select.select([pipe], [], [], seconds)[0]:
            raise TimeoutError
        part = os.read(pipe, 65536 if most is None else most - len(said))
        if not part:
            break
        said += part
    return said


def look(wish: str, compute: bool) -> dict[str, Any]:
    """In the process of its own: loads the plugin and asks it."""
    from torchplug import _C, _autoload, _plugins

    plugin = _plugins.find(wish, _plugins.installed_plugins())
    _autoload.use(plugin.name, plugin.resolve())
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
        try:
            facts = look(sys.argv[2], "--compute" in sys.argv)
        except Exception as error:  # noqa: BLE001 - the reason is the answer
            facts = {"error": str(error)}
        answer.write(json.dumps(facts).encode())


if __name__ == "__main__":
    main()
