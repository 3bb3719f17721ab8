"""Memory pools of a user's own, and allocators of a user's own."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchplug import _C, _devices, _memory_history

if TYPE_CHECKING:
    from torchplug._devices import Device


class PluggableAllocator:
    """Where device memory comes from: two functions of a shared library.

    void* allocate(ssize_t bytes, int device, void* stream);
    void release(void* memory, ssize_t bytes, int device, void* stream);

    What `allocate` returns must be memory as the plugin knows it: an address of the device's own, or what mem_alloc
    returned (torchplug.hpp's plugin_runtime() has it).
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        self._library = ctypes.CDLL(path_to_so_file)
        functions = [
            ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0
            for name in (alloc_fn_name, free_fn_name)
        ]
        self._allocator = _C.pluggable_memory(*functions)

    def allocator(self) -> _C.MemorySource:
        """What MemPool takes."""
        return self._allocator


def change_current_allocator(allocator: PluggableAllocator) -> None:
    """Allocates all device memory with this allocator, uncached. Only before the first allocation."""
    _C.replace_memory_source(allocator.allocator())


def get_allocator_backend() -> str:
    """ "native": torchplug's caching allocator; "pluggable": that of change_current_allocator."""
    return "native" if _C.has_plugins_memory() else "pluggable"


class MemPool:
    """Memory for those who use the pool only: see torch.cuda.MemPool.

    allocator: where the memory comes from, PluggableAllocator.allocator(); None: the plugin.
    use_on_oom: whether its free memory serves others before they run out of memory.
    no_split: whether each allocation has a segment of its own.
    """

    def __init__(
        self,
        allocator: _C.MemorySource | None = None,
        use_on_oom: bool = False,
        no_split: bool = False,
    ) -> None:
        self._id = _C.new_pool_id(True)
        self._device = _devices.index_of(None)
        self._allocator = allocator
        _C.make_pool(self._device, self._id, allocator, not no_split, use_on_oom)

    @property
    def id(self) -> tuple[int, int]:
        """Two numbers that no other pool has."""
        return self._id

    @property
    def device(self) -> int:
        """The device that was current when the pool was made."""
        return self._device

    @property
    def allocator(self) -> _C.MemorySource | None:
        """What it was made with."""
        return self._allocator

    def use_count(self) -> int:
        """How many use it: this object, and everybody who allocates to it."""
        return _C.pool_users(self._device, self._id)

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Its segments."""
        return _memory_history.memory_snapshot(self._id, include_traces)

    def __del__(self) -> None:
        # At the end of the process the device may be gone, and with it the memory.
        with contextlib.suppress(Exception):
            _C.release_pool(self._device, self._id)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Device = None) -> Iterator[None]:
    """What this thread allocates meanwhile comes from the pool."""
    index = _devices.index_of(device)
    _C.begin_allocate_to_pool(index, pool.id)
    try:
        yield
    finally:
        _C.end_allocate_to_pool(index, pool.id)
        _C.release_pool(index, pool.id)
