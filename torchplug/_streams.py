"""Streams and events of the device.

They are PyTorch's own: `torch.<device>.Stream()` makes a torch.Stream on the device, and every
torch.Stream on the device is an instance of `torch.<device>.Stream`. So it is with events.
"""

from __future__ import annotations

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
        made: type = torch.Stream if cls is Stream else cls
        if known:
            return torch.Stream.__new__(made, priority=priority, **known)
        where = torch.device(_devices.name(), _devices.index_of(device))
        return torch.Stream.__new__(made, where, priority=priority)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority of the current device's streams."""
        return _C.priority_range(_C.current_device())


class Event(torch.Event, metaclass=_OfDevice):
    """A mark in a stream that can be waited for, asked for, and timed with `enable_timing`."""

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
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


def current_stream(device: Device = None) -> torch.Stream:
    """The stream that this thread's work on the device goes to."""
    return torch.accelerator.current_stream(_devices.index_of(device))


def default_stream(device: Device = None) -> torch.Stream:
    """The stream that work on the device goes to unless another is chosen."""
    index = _devices.index_of(device)
    kind = current_stream(index).device_type
    return torch.Stream(stream_id=0, device_index=index, device_type=kind)


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
