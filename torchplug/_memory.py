"""Memory of the device, and pinned memory of the host: what is in use, what is kept for reuse."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from torchplug import _C, _devices, _memory_history, _memory_pools, _text

if TYPE_CHECKING:
    from torchplug._devices import Device


# Parts of torch.<device>.memory that have files of their own.
memory_snapshot = _memory_history.memory_snapshot
_snapshot = _memory_history._snapshot
_dump_snapshot = _memory_history._dump_snapshot
_record_memory_history = _memory_history._record_memory_history
_allocation_traceback = _memory_history._allocation_traceback
_set_memory_metadata = _memory_history._set_memory_metadata
_get_memory_metadata = _memory_history._get_memory_metadata
_save_segment_usage = _memory_history._save_segment_usage
_save_memory_usage = _memory_history._save_memory_usage
_attach_out_of_memory_observer = _memory_history._attach_out_of_memory_observer
MemPool = _memory_pools.MemPool
use_mem_pool = _memory_pools.use_mem_pool
PluggableAllocator = _memory_pools.PluggableAllocator
change_current_allocator = _memory_pools.change_current_allocator
get_allocator_backend = _memory_pools.get_allocator_backend


def memory_allocated(device: Device = None) -> int:
    """Bytes in tensors."""
    return torch.accelerator.memory_allocated(_devices.index_of(device))


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes in tensors since the peak was reset."""
    return torch.accelerator.max_memory_allocated(_devices.index_of(device))


def memory_reserved(device: Device = None) -> int:
    """Bytes taken from the device: in tensors, or kept for reuse."""
    return torch.accelerator.memory_reserved(_devices.index_of(device))


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes taken from the device since the peak was reset."""
    return torch.accelerator.max_memory_reserved(_devices.index_of(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Bytes that are free on the device, and bytes that it has."""
    return torch.accelerator.get_memory_info(_devices.index_of(device))


def device_memory_used(device: Device = None) -> int:
    """Bytes of the device in use by anybody."""
    free, total = mem_get_info(device)
    return total - free


def empty_cache() -> None:
    """Gives back to the device what is kept for reuse."""
    _C.empty_cache()


def empty_host_cache() -> None:
    """Gives back to the host the pinned memory that is kept for reuse."""
    _C.empty_host_cache()


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Lets this process have no more than a part of the device's memory: from 0.0 to 1.0."""
    if not isinstance(fraction, float):
        raise TypeError(f"A memory fraction must be a float, not {type(fraction).__name__}.")
    _C.set_memory_fraction(_devices.index_of(device), fraction)


def get_per_process_memory_fraction(device: Device = None) -> float:
    """The part of the device's memory that this process may have."""
    return _C.memory_fraction(_devices.index_of(device))


def _set_allocator_settings(env: str) -> None:
    """What TORCHPLUG_ALLOC_CONF sets, from now on."""
    _C.set_allocator_settings(env)


def caching_allocator_alloc(
    size: int, device: Device = None, stream: torch.Stream | int | None = None
) -> int:
    """The address of device memory for another library, in the order of a stream (or its id)."""
    index = _devices.index_of(device)
    if stream is None:
        stream = torch.accelerator.current_stream(index)
    if isinstance(stream, torch.Stream):
        stream = stream.stream_id
    if not isinstance(stream, int):
        raise TypeError(f"A stream must be a Stream or the id of one, not {type(stream).__name__}.")
    return _C.raw_allocate(size, index, stream)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives back what caching_allocator_alloc gave."""
    _C.raw_release(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Whether memory that is given back is kept for reuse. Without that every allocation asks the plugin."""
    _C.set_caching(value)


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Every allocation meanwhile asks the plugin, and what is given back goes back to it."""
    before = _C.is_caching()
    caching_allocator_enable(False)
    try:
        yield
    finally:
        caching_allocator_enable(before)


def memory_stats(device: Device = None) -> OrderedDict[str, Any]:
    """The allocator's counts, as torch.accelerator.memory_stats names them."""
    return torch.accelerator.memory_stats(_devices.index_of(device))


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """`memory_stats` with a dictionary for each part of a name."""
    stats: dict[str, Any] = torch._C._accelerator_getDeviceStats(_devices.index_of(device))
    return stats


def reset_peak_memory_stats(device: Device = None) -> None:
    """Begins the peaks anew."""
    torch.accelerator.reset_peak_memory_stats(_devices.index_of(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Begins the sums of what was allocated and freed anew."""
    torch.accelerator.reset_accumulated_memory_stats(_devices.index_of(device))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """`host_memory_stats` with a dictionary for each part of a name."""
    return _C.host_memory_stats()


def host_memory_stats() -> OrderedDict[str, Any]:
    """The counts of the allocator of pinned host memory, as torch.cuda.host_memory_stats names them."""
    flat: dict[str, Any] = {}
    for name, value in host_memory_stats_as_nested_dict().items():
        if isinstance(value, dict):
            flat |= {f"{name}.{part}": count for part, count in value.items()}
        else:
            flat[name] = value
    return OrderedDict(sorted(flat.items()))


def reset_peak_host_memory_stats() -> None:
    """Begins the peaks of pinned host memory anew."""
    _C.reset_peak_host_memory_stats()


def reset_accumulated_host_memory_stats() -> None:
    """Begins the sums of pinned host memory anew."""
    _C.reset_accumulated_host_memory_stats()


_SUMMARY = (
    ("allocated_bytes", "Allocated memory"),
    ("active_bytes", "Active memory"),
    ("requested_bytes", "Requested memory"),
    ("reserved_bytes", "Reserved memory"),
    ("inactive_split_bytes", "Non-releasable memory"),
    ("allocation", "Allocations"),
    ("active", "Active allocations"),
    ("segment", "Reserved segments"),
    ("inactive_split", "Non-releasable allocs"),
)
_COLUMNS = ("current", "peak", "allocated", "freed")


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """`memory_stats` as a table for people; abbreviated: without the pools."""
    index = _devices.index_of(device)
    stats = memory_stats(index)
    pools = (
        {"all": ""} if abbreviated else {"all": "", "large_pool": "large", "small_pool": "small"}
    )
    title = f"{_devices.name()}:{index}: {stats.get('num_ooms', 0)} times out of memory, "
    title += f"{stats.get('num_alloc_retries', 0)} allocations tried again"
    heads = ("now", "peak", "allocated", "freed")
    lines = [title, f"{'':<27}" + "".join(f"{head:>12}" for head in heads)]
    for key, label in _SUMMARY:
        show = _text.size if key.endswith("_bytes") else str
        for pool, pool_label in pools.items():
            values = (stats.get(f"{key}.{pool}.{column}", 0) for column in _COLUMNS)
            text = f"  from the {pool_label} pool" if pool_label else label
            lines.append(f"{text:<27}" + "".join(f"{show(value):>12}" for value in values))
    return "\n".join(lines) + "\n"
