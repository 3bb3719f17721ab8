"""Looks at a plugin in a process of its own.

A process has one device plugin, and a plugin that crashes or hangs while it loads must not take the
command with it. That process is a fork of the command's, so that PyTorch is imported once for all.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from torchplug import _plugins, _settings

LOADING_SECONDS = 20.0
LONGEST_SECONDS = 900.0
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
END = b"\n"
"""Of what the process says."""


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


def import_torch() -> None:
    """In the command's own process, of which those that load plugins are forks: once is enough.

    Starts no backend, whatever is installed. If it fails, the forks say why.
    """
    with autoload_off(), suppress(Exception):
        import torch  # noqa: F401
    gc.freeze()  # the forks need not go through all that when they end


@contextmanager
def autoload_off() -> Iterator[None]:
    """`import torch` calls no backend."""
    before = os.environ.get(AUTOLOAD)
    os.environ[AUTOLOAD] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[AUTOLOAD]
        else:
            os.environ[AUTOLOAD] = before


def inspect(wish: str) -> dict[str, Any]:
    """What the plugin named `wish`, or at that path, says of itself; "error" if it cannot be loaded."""
    import_torch()
    return Look(wish).facts()


class Look:
    """A look at the plugin named `wish`, or at that path, which begins at once.

    A fork must not meet another thread. With `compute` the plugin's first device also computes something, and
    "computes" says whether that is right.
    """

    def __init__(
        self, wish: str, *, compute: bool = False, seconds: float = LOADING_SECONDS
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by facts
        self._seconds = seconds
        self._answer, answer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _become_quiet(self._errors)
            os.write(answer, json.dumps(look(wish, compute)).encode() + END)
            raise SystemExit(0)  # as every process with a device ends; the answer is closed by that
        os.close(answer)
        self._patience = self._new_patience()

    def facts(self) -> dict[str, Any]:
        """What was found; "error" if the plugin cannot be loaded, or the process did not end well."""
        with self._errors:
            try:
                said = self._wait()
            except TimeoutError as late:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                return {"error": str(late), "late": True}
            finally:
                os.close(self._answer)
            code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            return _outcome(code, said, self._errors)

    def _wait(self) -> bytes:
        """What the process wrote before it ended."""
        said = stage = b""
        while True:
            try:
                part = _read(self._answer, self._patience)
            except TimeoutError:
                verb = "end" if stage == END else "load"
                raise TimeoutError(
                    f"It did not {verb} within {self._seconds:.0f} seconds."
                ) from None
            if not part:
                return said
            said += part
            if said.endswith(END):
                stage, self._patience = END, self._new_patience()

    def _new_patience(self) -> Patience:
        return Patience(self._seconds, lambda: waited_for_a_processor(self._pid))


def _become_quiet(errors: IO[bytes]) -> None:
    """Nothing that a plugin prints is the command's; nor do libraries and reports begin with what is left of it."""
    with open(os.devnull, "r+b", buffering=0) as nothing:
        for number, file in enumerate((nothing, nothing, errors)):
            os.dup2(file.fileno(), number)
    os.environ.pop(_settings.LEDGER, None)


def _outcome(code: int, said: bytes, errors: IO[bytes]) -> dict[str, Any]:
    if code < 0:
        return {"error": f"It crashed with {signal.Signals(-code).name}."}
    if not said.endswith(END):
        errors.seek(0)
        words = errors.read().decode(errors="replace").strip().splitlines()
        return {"error": words[-1] if words else f"It ended with code {code}."}
    facts: dict[str, Any] = json.loads(said)
    return facts


def _read(pipe: int, patience: Patience) -> bytes:
    """The next part of what is written; nothing at the end."""
    while not select.select([pipe], [], [], 0)[0]:
        select.select([pipe], [], [], patience.next_look())
    return os.read(pipe, 65536)


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
    facts["compiler"] = compiler() if facts["devices"] else None
    return facts


def compiler() -> dict[str, Any] | None:
    """What the first device's compiler lists and takes; None if there is none."""
    from torchplug import _C

    if not _C.has_compiler(0):
        return None
    try:
        takes = _C.describe_compiler(0)
        return {"operators": sorted(_C.compiler_operators(0)), **takes, "error": None}
    except RuntimeError as error:
        return {"operators": [], "error": str(error)}


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
