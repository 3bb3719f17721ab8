"""What is shared with other libraries and other processes: memory, tensors, storages, events.

torch.multiprocessing has no hook for a device. It reduces a tensor to its storage and how it lies there,
and that much is the same everywhere; so its reducer of storages is the one that is replaced, for storages
of the device only. Everything else, from Parameters to the refusal of tensors inside a graph, stays
PyTorch's.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import context, reduction
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from torchplug import _C, _devices

if TYPE_CHECKING:
    from torchplug._C import SharedStorage
    from torchplug._devices import Device

    Reduced = tuple[Callable[..., Any], tuple[Any, ...]]

Owner = TypeVar("Owner")


# ---- memory of other libraries ----


def from_blob(
    address: int,
    sizes: Sequence[int],
    dtype: torch.dtype | None = None,
    *,
    device: Device = None,
    strides: Sequence[int] | None = None,
    owner: object = None,
) -> torch.Tensor:
    """A tensor over device memory that PyTorch did not allocate.

    `address` is what the plugin knows the memory by, or an address inside another tensor. `owner` is kept
    until no tensor needs the memory and the streams that used it have passed.
    """
    index = _devices.index_of(device)
    laid_out = None if strides is None else list(strides)
    kind = torch.get_default_dtype() if dtype is None else dtype
    return _C.from_blob(address, list(sizes), laid_out, kind, index, owner)


def get_backend_meta(tensor: torch.Tensor) -> dict[str, str]:
    """The notes on a tensor that `set_backend_meta` made; empty if there are none."""
    return _C.backend_notes(tensor)


def set_backend_meta(tensor: torch.Tensor, notes: dict[str, str]) -> None:
    """Puts notes on a tensor of the device, in the place of those it has.

    They go with it through `detach`, `torch.save`, `torch.load` and TorchScript, not through operators.
    """
    _C.set_backend_notes(tensor, notes)


# ---- other processes ----


def ipc_collect() -> None:
    """Frees memory that was sent to other processes and that none of them uses any more."""
    _C.collect()


def reduce_storage(storage: Any) -> Reduced:
    """For ForkingPickler: how another process rebuilds a storage of the device."""
    name, device = _devices.name(), storage.device
    if storage.nbytes() == 0:
        return _rebuild_empty, (name,)
    if not _C.can_share(device.index):
        return _rebuild_from_copy, (name, device.index, _kept_while_spawning(storage.cpu()))
    shared = _C.share_storage(storage)
    fd = shared[2]
    return _rebuild_shared, (name, shared, reduction.DupFd(fd) if fd >= 0 else None)


def _rebuild_shared(name: str, shared: SharedStorage, passed: Any) -> torch.UntypedStorage:
    _check_device(name)
    device, handle, _, offset, size, reference = shared
    sender = reference[0]
    try:
        fd = _receive(passed)
    except RuntimeError:
        if sender != os.getpid():
            raise
        fd = (
            -1
        )  # it is this process's own memory that has come back, and nothing is needed to find it
    return _C.receive_storage((device, handle, fd, offset, size, reference))


def _rebuild_from_copy(name: str, index: int, copy: torch.UntypedStorage) -> Any:
    _check_device(name)
    return copy.to(device=torch.device(name, index))


def _rebuild_empty(name: str) -> Any:
    _check_device(name)
    return torch.UntypedStorage(0, device=name)  # type: ignore[no-untyped-call]


def _check_device(name: str) -> None:
    if _devices.name() != name:
        raise RuntimeError(
            f"A tensor of device '{name}' was sent to a process whose device is '{_devices.name()}'. "
            "Set TORCHPLUG_DEVICE to the same in both."
        )


def _receive(passed: Any) -> int:
    """The file descriptor that was sent along, or -1."""
    if passed is None:
        return -1
    try:
        fd: int = passed.detach()
    except (OSError, EOFError) as error:
        raise RuntimeError(
            "The process that sent this tensor ended before it was received. Keep it alive until then."
        ) from error
    return fd


# A process that is being started gets the descriptors that are open when it starts, which is after its
# arguments were pickled.
_kept: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


def _kept_while_spawning(owner: Owner) -> Owner:
    """The owner of a descriptor that the process gets, which would close it before."""
    started = context.get_spawning_popen()
    if started is not None:
        _kept.setdefault(started, []).append(owner)
    return owner


# ---- events of several processes ----


class EventHandle:
    """What another process needs to have an event too. Send it through torch.multiprocessing."""

    def __init__(self, name: str, device: int, handle: bytes, fd: int) -> None:
        self.name = name
        self.device = device
        self.handle = handle
        self.fd = fd

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def __reduce__(self) -> Reduced:
        passed = reduction.DupFd(_kept_while_spawning(self).fd) if self.fd >= 0 else None
        return _rebuild_handle, (self.name, self.device, self.handle, passed)


def _rebuild_handle(name: str, device: int, handle: bytes, passed: Any) -> EventHandle:
    return EventHandle(name, device, handle, _receive(passed))


class SharedEvent(torch.Event):
    """An event that other processes can wait for and record: `Event(interprocess=True)`."""

    def ipc_handle(self) -> EventHandle:  # type: ignore[override]
        """What `Event.from_ipc_handle` takes in another process."""
        return EventHandle(_devices.name(), *_C.share_event(self))

    def __reduce__(self) -> Reduced:
        return _rebuild_event, (self.ipc_handle(),)


def make_event() -> SharedEvent:
    """A new event that can be shared."""
    event = torch.Event.__new__(SharedEvent, torch.device(_devices.name()))
    _C.share_new_event(event, _C.current_device())
    return event


def open_event(handle: EventHandle) -> SharedEvent:
    """The event of another process, or of this one."""
    _check_device(handle.name)
    event = torch.Event.__new__(SharedEvent, torch.device(_devices.name()))
    fd = os.dup(handle.fd) if handle.fd >= 0 else -1
    _C.receive_event(event, handle.device, handle.handle, fd)
    return event


def _rebuild_event(handle: EventHandle) -> SharedEvent:
    return open_event(handle)
