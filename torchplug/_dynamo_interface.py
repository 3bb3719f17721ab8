"""What TorchDynamo and Inductor ask a device: torch._dynamo.device_interface.get_interface_for_device, and what they make of
the functions of torch.<device> in a program that is traced."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any, ClassVar

import torch

from torchplug import _devices, _memory, _streams
from torchplug._when_imported import when_imported

MODULE = "torch._dynamo.device_interface"


def register_when_imported(name: str) -> None:
    """Registers the device's interface as soon as Dynamo is imported, which takes longer than all of torch."""
    when_imported(MODULE, lambda dynamo: _register(dynamo, name))
    when_imported("torch._dynamo", _teach_streams)


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


# ---- in a program that is traced ----


def _teach_streams(_: ModuleType) -> None:
    """Has Dynamo trace what it knows of any accelerator for the functions that it knows by CUDA's names alone."""
    from torch._dynamo.variables.user_defined import UserDefinedClassVariable

    for original, traced in TRACED.items():
        torch.compiler.substitute_in_graph(original)(traced)
    UserDefinedClassVariable._in_graph_classes().update({_streams.Stream, _streams.Event})


def _current_stream(device: Any = None) -> torch.Stream:
    if device is None:
        return torch.accelerator.current_stream()
    return torch.accelerator.current_stream(device)


def _stream(stream: torch.Stream | None) -> Any:
    return contextlib.nullcontext() if stream is None else stream


def _synchronize(device: Any = None) -> None:
    if device is None:
        torch.accelerator.synchronize()
    else:
        torch.accelerator.synchronize(device)


def _current_device() -> int:
    return torch.accelerator.current_device_index()


def _is_available() -> bool:
    return torch.accelerator.is_available()


TRACED: dict[Any, Any] = {
    _streams.current_stream: _current_stream,
    _streams.stream: _stream,
    _devices.synchronize: _synchronize,
    _devices.current_device: _current_device,
    _devices.is_available: _is_available,
}
