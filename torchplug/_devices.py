"""The devices: how many there are, which is current on this thread, what they can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchplug import _C, _autocast_dtype

if TYPE_CHECKING:
    from typing import TypeAlias

Device: TypeAlias = "torch.device | str | int | None"
"""A device as PyTorch's functions take one; None is the current device."""


def name() -> str:
    """The device type: `sim` of `sim:0`."""
    return torch._C._get_privateuse1_backend_name()


def index_of(device: Device = None, *, optional: bool = True) -> int:
    """The index that `device` means. Without `optional` it must say one."""
    if isinstance(device, int):
        return device
    given = None if device is None else torch.device(device)
    if given is not None and given.type != name():
        raise ValueError(f"Expected a {name()} device, but got: {device}")
    if given is not None and given.index is not None:
        return given.index
    if not optional:
        raise ValueError(f"Expected a device with an index or an integer, but got: {device}")
    return _C.current_device()


# ---- whether there is one ----


def is_available() -> bool:
    """Whether there is a device."""
    return _C.device_count() > 0


def is_initialized() -> bool:
    """Whether the current device is in use."""
    return _C.is_in_use(_C.current_device())


def init() -> None:
    """Puts the current device to use, which its first use does too."""
    _C.open_device(_C.current_device())
    _autocast_dtype.adopt_default()


def _is_compiled() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return _C.is_forked()


# ---- the current one ----


def device_count() -> int:
    """How many devices there are; TORCHPLUG_VISIBLE_DEVICES can hide some."""
    return _C.device_count()


def current_device() -> int:
    """The index of this thread's current device."""
    return _C.current_device()


def set_device(device: Device) -> None:
    """Makes a device current on this thread. A negative index changes nothing."""
    index = index_of(device, optional=False)
    if index >= 0:
        _C.set_device(index)
        _autocast_dtype.adopt_default()


def synchronize(device: Device = None) -> None:
    """Waits for all work on all streams of the device, and raises what failed of it."""
    # A current device that is not in use has nothing to wait for, and is not put to use for that.
    if device is not None or is_initialized() or _C.is_forked():
        _C.synchronize(index_of(device))


def _exchange_device(device: int) -> int:
    return _C.exchange_device(device)


def _maybe_exchange_device(device: int) -> int:
    return _C.exchange_device(device)


def _get_device(device: int | str | torch.device) -> torch.device:
    return torch.device(name(), device) if isinstance(device, int) else torch.device(device)


class _DeviceGuard:
    """`device` for an index only."""

    def __init__(self, index: int) -> None:
        self.idx = index
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = _C.exchange_device(self.idx)
            _autocast_dtype.adopt_default()

    def __exit__(self, *_: object) -> None:
        _C.exchange_device(self.prev_idx)


class device(_DeviceGuard):
    """Makes a device current for the body of a `with`. None or a negative index changes nothing."""

    def __init__(self, device: Device) -> None:
        super().__init__(-1 if device is None else index_of(device))


class device_of(device):
    """Makes the device of a tensor or storage current for the body of a `with`.

    Changes nothing if the object is elsewhere.
    """

    def __init__(self, obj: torch.Tensor | torch.UntypedStorage | torch.TypedStorage) -> None:
        super().__init__(obj.get_device() if obj.device.type == name() else None)


# ---- what they are ----


@dataclass(frozen=True)
class DeviceProperties:
    """What a device says of itself. 0 or "" is unknown."""

    name: str
    total_memory: int
    """In bytes."""
    multi_processor_count: int
    major: int
    minor: int
    uuid: str
    bus_id: str
    is_integrated: bool
    """Whether it shares its memory with the host's processor."""
    L2_cache_size: int
    """Bytes of its last-level cache."""
    shared_memory_per_block: int
    """Bytes that one group of threads shares."""
    warp_size: int
    """Threads that run in step."""
    largest_allocation: int
    """Bytes of the largest tensor that it can hold."""
    dtypes: list[torch.dtype]
    """What its kernels take; operators on other types run on the CPU."""


def get_device_properties(device: Device = None) -> DeviceProperties:
    """What the device says of itself."""
    return DeviceProperties(**_C.properties(index_of(device)))


def get_device_name(device: Device = None) -> str:
    """What the vendor calls the device."""
    return get_device_properties(device).name


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """The vendor's number for what the device can do, major and minor."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """Whether `device` copies to and from `peer_device` directly, not through the host."""
    return _C.can_access_peer(index_of(device), index_of(peer_device))


def is_bf16_supported(including_emulation: bool = False) -> bool:
    """Whether the current device's own kernels take bfloat16; the CPU emulates it in any case."""
    return including_emulation or torch.bfloat16 in get_device_properties().dtypes


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The types that autocast may compute in: those among them that the device's kernels take."""
    _autocast_dtype.adopt_default()
    return _autocast_dtype.supported()
