"""What the allocator holds and what it did, for PyTorch's memory visualiser."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.cuda import _memory_viz

from torchplug import _C

_ACTIONS = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "snapshot",
    "oom",
)


def _check(what: str, value: str | None, allowed: Sequence[str | None]) -> None:
    if value not in allowed:
        raise RuntimeError(f"{what} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")


def _record_memory_history(
    enabled: str | bool | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: object = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: Sequence[str] | None = None,
) -> None:
    """Records who allocates what from now on; None stops it. As torch.cuda.memory's function of this name."""
    if isinstance(enabled, bool):
        enabled = "all" if enabled else None
    _check("enabled", enabled, (None, "state", "all"))
    _check("context", context, (None, "state", "alloc", "all"))
    _check("stacks", stacks, ("python", "all"))
    for action in skip_actions or ():
        _check("An action", action, _ACTIONS)
    _C.record_memory_history(
        enabled,
        context,
        stacks,
        min(max_entries, sys.maxsize),
        clear_history,
        list(skip_actions or ()),
    )


def _snapshot(device: object = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Everything the allocators of all devices hold, and what was recorded: see torch.cuda.memory._snapshot."""
    snapshot = _C.memory_snapshot(None, True)
    if augment_with_fx_traces:
        augment: Callable[[dict[str, Any]], dict[str, Any]] = vars(torch._utils)[
            "_augment_memory_snapshot_stack_traces"
        ]
        return augment(snapshot)
    return snapshot


def _dump_snapshot(
    filename: str | Path = "dump_snapshot.pickle", augment_with_fx_traces: bool = False
) -> None:
    """Writes `_snapshot` to a file that pytorch.org/memory_viz and torch.cuda._memory_viz open."""
    with Path(filename).open("wb") as file:
        pickle.dump(_snapshot(augment_with_fx_traces=augment_with_fx_traces), file)


def memory_snapshot(
    mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> list[dict[str, Any]]:
    """The segments of all devices; with an id, those of one memory pool."""
    segments: list[dict[str, Any]] = _C.memory_snapshot(mempool_id, include_traces)["segments"]
    return segments


def _allocation_traceback(data_ptr: int) -> list[dict[str, Any]] | None:
    """Who allocated the memory that begins at an address, if that was recorded."""
    for segment in memory_snapshot(include_traces=False):
        for block in segment["blocks"]:
            if block["address"] == data_ptr and block["state"] == "active_allocated":
                return block["frames"] or None
    return None


def _set_memory_metadata(metadata: str) -> None:
    """A text that goes with whatever this thread allocates from now on; "" for none."""
    _C.set_memory_metadata(metadata)


def _get_memory_metadata() -> str:
    """The text that goes with what this thread allocates."""
    return _C.memory_metadata()


def _save_segment_usage(
    filename: str | Path = "output.svg", snapshot: dict[str, Any] | None = None
) -> None:
    """Draws the segments and the blocks in them."""
    draw: Callable[[dict[str, Any]], str] = vars(_memory_viz)["segments"]
    Path(filename).write_text(draw(_snapshot() if snapshot is None else snapshot))


def _save_memory_usage(
    filename: str | Path = "output.svg", snapshot: dict[str, Any] | None = None
) -> None:
    """Draws who holds how much."""
    draw: Callable[[dict[str, Any]], str] = vars(_memory_viz)["memory"]
    Path(filename).write_text(draw(_snapshot() if snapshot is None else snapshot))


def _attach_out_of_memory_observer(observer: Callable[[int, int, int, int], None]) -> None:
    """Calls `observer` before an out-of-memory error is raised, with the device, the bytes asked for, the bytes
    that the process may have and the bytes that are free."""
    _C.observe_out_of_memory(observer)
