"""Registering kernels with PyTorch over those that torchplug has registered: `torchplug.overriding`."""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import TYPE_CHECKING, Any, cast

import torch  # noqa: F401 - _C needs its types

from torchplug import _C

if TYPE_CHECKING:
    from collections.abc import Iterator

# How PyTorch's warning about it begins. What is registered from Python warns through Python, the rest is for _C.
_WARNING = "Warning only once for all operators"

_lock = threading.Lock()
_users = 0


@contextlib.contextmanager
def overriding() -> Iterator[None]:
    """Documented where users find it: torchplug.overriding."""
    with _C.Overriding(), _without_warning():
        yield


@contextlib.contextmanager
def _without_warning() -> Iterator[None]:
    """One more filter, and no other change: what is imported meanwhile may have filters of its own to add."""
    global _users
    filters = cast("list[Any]", warnings.filters)
    with _lock:
        _users += 1
        if _users == 1:
            warnings.filterwarnings("ignore", message=_WARNING)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                filters[:] = [entry for entry in filters if not _is_ours(entry)]


def _is_ours(entry: tuple[Any, ...]) -> bool:
    return entry[1] is not None and getattr(entry[1], "pattern", entry[1]) == _WARNING
