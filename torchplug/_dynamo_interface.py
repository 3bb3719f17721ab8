"""What TorchDynamo and Inductor ask a device: torch._dynamo.device_interface.get_interface_for_device."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

from torchplug import _devices, _memory, _streams
from torchplug._when_imported import when_imported

MODULE = "torch._dynamo.device_interface"


def register_when_imported(name: str) -> None:
    """Registers the device's interface as soon as Dynamo is imported, which takes longer than all of torch."""
    when_imported(MODULE, lambda dynamo: _register(dynamo, name))


def _register(dynamo: ModuleType, name: str) -> None:
    interface = _make(dynamo.DeviceInterface, dynamo.caching_worker_current_devices, name)
    dynamo.register_interface_for_device(name, interface)


def _make(base: Any, chosen: dict[str, int], name: str) -> type:
    class Worker:
        """For the processes in which Inductor compiles: what they ask was asked before they were forked."""

        properties: ClassVar[list[_devices.DeviceProperties]] = []

        @staticmethod
        def set_device(device: int) -> None:
            chosen[name] = device

        @staticmethod
        def current_device() -> int:
            return chosen[name] if name in chosen else _devices.current_device()

        @classmethod
        def get_device_properties(cls, device: _devices.Device = None) -> _devices.DeviceProperties:
            if not cls.properties:
                count = _devices.device_count()
                cls.properties = [_devices.get_device_properties(i) for i in range(count)]
            return cls.properties[
                cls.current_device() if device is None else _devices.index_of(device)
            ]

    members = {
        "device": _devices.device,
        "Event": _streams.Event,
        "Stream": _streams.Stream,
        "Worker": Worker,
        "current_device": staticmethod(_devices.current_device),
        "set_device": staticmethod(_devices.set_device),
        "exchange_device": staticmethod(_devices._exchange_device),
        "maybe_exchange_device": staticmethod(_devices._maybe_exchange_device),
        "device_count": staticmethod(_devices.device_count),
        "is_available": staticmethod(_devices.is_available),
        "stream": staticmethod(_streams.stream),
        "current_stream": staticmethod(_streams.current_stream),
        "set_stream": staticmethod(_streams.set_stream),
        "_set_stream_by_id": staticmethod(_streams._set_stream_by_id),
        "get_raw_stream": staticmethod(lambda index: _streams.current_stream(index).native_handle),
        "synchronize": staticmethod(_devices.synchronize),
        "get_device_properties": staticmethod(_devices.get_device_properties),
        "get_compute_capability": staticmethod(_devices.get_device_capability),
        "is_bf16_supported": staticmethod(_devices.is_bf16_supported),
        "memory_allocated": staticmethod(_memory.memory_allocated),
    }
    return type(f"{name.capitalize()}Interface", (base,), members)
