"""Memory of the device, and pinned memory of the host: what is in use, what is kept for reuse."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch

from torchplug import _C, _devices, _text

if TYPE_CHECKING:
    from torchplug._devices import Device


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
    torch.accelerator.empty_cache()


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
