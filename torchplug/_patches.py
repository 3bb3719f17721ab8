"""What PyTorch leaves no hook for. Each part names the versions that need it; a test fails when one
no longer does."""

from __future__ import annotations

import atexit
from pathlib import Path

import torch

from torchplug import _C


def apply(name: str) -> None:
    """Applies every patch, for the device called `name`."""
    atexit.register(finish_backward, name)


def _has_autograd_threads() -> bool:
    try:
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    except OSError:
        return True
    return any(name.startswith("pt_autograd") for name in names)


def finish_backward(name: str) -> None:
    """Lets autograd's device threads let go of the last backward before Python ends.

    backward() returns while its device thread still holds the Python object that
    torch.autograd.graph._engine_run_backward put into the task (PyTorch 2.11 to 2.13). The thread
    needs the GIL to release it; if Python has ended by then, the process aborts. The thread takes the
    next task only when it has released the last one, so an empty one is run, without such an object.
    """
    if _C.is_forked() or not _has_autograd_threads():
        return
    for index in range(_C.device_count()):
        if _C.is_open(index):
            leaf = torch.zeros((), device="cpu").to(torch.device(name, index)).requires_grad_()
            engine = torch.autograd.Variable._execution_engine
            engine.run_backward(
                (leaf.view(1),), (leaf.detach().view(1),), False, False, (leaf,), True, False
            )
