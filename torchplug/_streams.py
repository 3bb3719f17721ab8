"""Streams and events of the device.

A stream is `torch.<device>.Stream`, a torch.Stream with what CUDA's has beyond that; every torch.Stream
on the device counts as an instance of it. An event is PyTorch's own torch.Event, which PyTorch asks
for by that very type, and every torch.Event on the device counts as a `torch.<device>.Event`.

The default stream is a stream like any other: unlike CUDA's it waits for no other stream, and no
other stream waits for it.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

import torch

from torchplug import _C, _devices, _sharing

if TYPE_CHECKING:
    from typing_extensions import Self

    from torchplug._devices import Device


class _OfDevice(type):
    """Counts what PyTorch made on the device among the instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        generic = cls.__base__
        if generic in (torch.Stream, torch.Event) and isinstance(instance, generic):
            device: torch.device = instance.device
            return device.type == _devices.name()
        return super().__instancecheck__(instance)


class Stream(torch.Stream, metaclass=_OfDevice):
    """A queue of work on one device, which runs in order and beside the work of other streams.

    A lower `priority` is a higher one; what `priority_range` does not have becomes what is nearest.
    """

    def __new__(cls, device: Device = None, priority: int = 0, **known: Any) -> Self:
        """With stream_id, device_index and device_type: a stream that exists."""
        if known:
            return super().__new__(cls, priority=priority, **known)
        where = torch.device(_devices.name(), _devices.index_of(device))
        return super().__new__(cls, where, priority=priority)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority of the current device's streams."""
        return _C.priority_range(_C.current_device())

    @property
    def priority(self) -> int:
        """What was asked for, within the range."""
        return _C.stream_priority(self.stream_id, self.device_index)

    @property
    def native_handle(self) -> int:
        """What the vendor's own libraries call the stream; also `<device>_stream`."""
        return _C.native_stream(self.stream_id, self.device_index)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.native_handle)

    def __getattr__(self, name: str) -> int:
        if name == f"{_devices.name()}_stream":
            return self.native_handle
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        kind = _devices.name()
        return f"<torch.{kind}.Stream device={self.device} {kind}_stream={self.native_handle:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, by that library's handle for it.

    Whoever made it keeps it alive while work, memory or events of PyTorch's may still use it, and
    destroys it. The same handle gives an equal stream.
    """

    def __new__(cls, stream_ptr: int, device: Device = None, **_: Any) -> Self:
        index = _devices.index_of(device)
        return super().__new__(
            cls,
            stream_id=_C.external_stream(stream_ptr, index),
            device_index=index,
            device_type=torch.accelerator.current_stream(index).device_type,
        )


def get_stream_from_external(data_ptr: int, device: Device = None) -> Stream:
    """The stream that another library calls `data_ptr`; see ExternalStream."""
    return ExternalStream(data_ptr, device)


class Event(torch.Event, metaclass=_OfDevice):
    """A mark in a stream that can be waited for, asked for, and timed with `enable_timing`."""

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Self:
        if interprocess:
            if enable_timing:
                raise ValueError("An event with interprocess=True cannot have enable_timing=True.")
            return cast("Self", _sharing.make_event())
        made: type = torch.Event if cls is Event else cls
        where = torch.device(_devices.name())
        return torch.Event.__new__(made, where, enable_timing=enable_timing, blocking=blocking)

    @classmethod
    def from_ipc_handle(cls, device: Device, ipc_handle: Any) -> torch.Event:
        """The event of another process that `ipc_handle()` was called of there."""
        event = _sharing.open_event(ipc_handle)
        if device is not None and _devices.index_of(device) != event.device.index:
            raise ValueError(f"The event is of device {event.device}, not of {device}.")
        return event


def private_stream(device_index: int) -> Stream:
    """A new stream that `Stream` gives nobody."""
    return _known(_C.private_stream(device_index), device_index)


def _known(stream_id: int, device_index: int) -> Stream:
    return Stream(
        stream_id=stream_id,
        device_index=device_index,
        device_type=torch.accelerator.current_stream(device_index).device_type,
    )


def current_stream(device: Device = None) -> Stream:
    """The stream that this thread's work on the device goes to."""
    index = _devices.index_of(device)
    return _known(torch.accelerator.current_stream(index).stream_id, index)


def default_stream(device: Device = None) -> Stream:
    """The stream that work on the device goes to unless another is chosen."""
    return _known(0, _devices.index_of(device))


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream and its device current on this thread; None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    set_stream(
        torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
    )


class StreamContext:
    """Makes a stream and its device current for the body of a `with`; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self.src_prev_stream: torch.Stream | None = None
        self.dst_prev_stream: torch.Stream | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self.src_prev_stream = current_stream()
        self.dst_prev_stream = current_stream(self.stream.device)
        set_stream(self.stream)

    def __exit__(self, *_: object) -> None:
        # The stream's device first: setting a stream also makes its device current.
        set_stream(self.dst_prev_stream)
        set_stream(self.src_prev_stream)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Makes a stream and its device current for the body of a `with`; None changes nothing."""
    return StreamContext(stream)
