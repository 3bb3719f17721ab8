"""What TorchDynamo and Inductor ask a device: torch._dynamo.device_interface.get_interface_for_device."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

from torchplug import _devices, _memory, _streams

MODULE = "torch._dynamo.device_interface"


def register_when_imported(name: str) -> None:
    """Registers the device's interface as soon as Dynamo is imported, which takes longer than all of torch."""
    if MODULE in sys.modules:
        _register(sys.modules[MODULE], name)
    else:
        sys.meta_path.insert(0, _Finder(name))


class _Finder(MetaPathFinder):
    """Finds Dynamo's module by the other finders' means, once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._name)
        return spec


class _Loader(Loader):
    """Registers the interface after the module has been executed."""

    def __init__(self, loader: Loader, name: str) -> None:
        self._loader = loader
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _register(module, self._name)

    def __getattr__(self, name: str) -> Any:
        # What inspect and others ask a module's loader, as for its source.
        return getattr(self._loader, name)


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
