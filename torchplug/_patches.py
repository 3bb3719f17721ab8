"""What PyTorch leaves no hook for. Each part names the versions that need it; a test fails when one
no longer does."""

from __future__ import annotations

import atexit
import contextlib
from pathlib import Path

from torchplug import _C


def apply() -> None:
    """Applies every patch."""
    atexit.register(finish_backward)


def _has_autograd_threads() -> bool:
    try:
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    except OSError:
        return True
    return any(name.startswith("pt_autograd") for name in names)


def finish_backward() -> None:
    """Lets autograd's device threads let go of the last backward before Python ends.

    backward() returns while its device thread still holds the Python object that
    torch.autograd.graph._engine_run_backward put into the task (PyTorch 2.11 to 2.13). The thread
    needs the GIL to release it; if Python has ended by then, the process aborts. The thread takes the
    next task only when it has released the last one, so one without any Python object is run.
    """
    if _C.is_forked() or not _has_autograd_threads():
        return
    with contextlib.suppress(RuntimeError):  # of a device that no longer works
        _C.finish_backward()
