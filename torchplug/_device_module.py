"""`torch.<device>`: what torch.cuda has and any device can have."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType
from typing import Any

import torch

from torchplug import _C

_DTYPES = [torch.float16, torch.bfloat16, torch.float32]


class DeviceModule(ModuleType):
    """The module object that PyTorch calls for the device's Python side."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.{name}")
        self._name = name
        self.device = _device_context(self)

    def _index(self, device: Any = None) -> int:
        if device is None:
            return _C.current_device()
        if isinstance(device, int):
            return device
        device = torch.device(device)
        if device.type != self._name:
            raise ValueError(f"Expected a {self._name} device, but got: {device}")
        return _C.current_device() if device.index is None else device.index

    # Availability and life

    def is_available(self) -> bool:
        return _C.device_count() > 0

    @property
    def _initialized(self) -> bool:
        return _C.is_open(_C.current_device())

    def is_initialized(self) -> bool:
        return self._initialized

    def init(self) -> None:
        self._lazy_init()

    def _lazy_init(self) -> None:
        _C.open_device(_C.current_device())

    def _is_in_bad_fork(self) -> bool:
        return _C.is_forked()

    # Devices

    def device_count(self) -> int:
        return _C.device_count()

    def current_device(self) -> int:
        return _C.current_device()

    def set_device(self, device: Any) -> None:
        _C.set_device(self._index(device))

    def _exchange_device(self, device: int) -> int:
        return _C.exchange_device(device)

    def _maybe_exchange_device(self, device: int) -> int:
        return _C.exchange_device(device)

    def get_device_name(self, device: Any = None) -> str:
        return _C.properties(self._index(device))["name"]

    def get_device_properties(self, device: Any = None) -> Any:
        return DeviceProperties(**_C.properties(self._index(device)))

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        properties = _C.properties(self._index(device))
        return properties["major"], properties["minor"]

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return list(_DTYPES)

    # Streams and events

    def synchronize(self, device: Any = None) -> None:
        _C.synchronize(self._index(device))

    def Stream(self, device: Any = None, priority: int = 0) -> torch.Stream:
        return torch.Stream(torch.device(self._name, self._index(device)), priority=priority)

    def Event(self, enable_timing: bool = False, **kwargs: Any) -> torch.Event:
        return torch.Event(self._name, enable_timing=enable_timing, **kwargs)

    def current_stream(self, device: Any = None) -> torch.Stream:
        return torch.accelerator.current_stream(self._index(device))

    def default_stream(self, device: Any = None) -> torch.Stream:
        index = self._index(device)
        kind = self.current_stream(index).device_type
        return torch.Stream(stream_id=0, device_index=index, device_type=kind)

    def set_stream(self, stream: torch.Stream | None) -> None:
        if stream is not None:
            torch.accelerator.set_stream(stream)

    def stream(self, stream: torch.Stream | None) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext() if stream is None else stream

    # Memory

    def empty_cache(self) -> None:
        torch.accelerator.empty_cache()

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        return torch.accelerator.memory_stats(self._index(device))

    def memory_allocated(self, device: Any = None) -> int:
        return torch.accelerator.memory_allocated(self._index(device))

    def max_memory_allocated(self, device: Any = None) -> int:
        return torch.accelerator.max_memory_allocated(self._index(device))

    def memory_reserved(self, device: Any = None) -> int:
        return torch.accelerator.memory_reserved(self._index(device))

    def max_memory_reserved(self, device: Any = None) -> int:
        return torch.accelerator.max_memory_reserved(self._index(device))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        torch.accelerator.reset_peak_memory_stats(self._index(device))

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        return torch.accelerator.get_memory_info(self._index(device))

    # Random numbers

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        return tuple(_C.default_generator(i) for i in range(_C.device_count()))

    def manual_seed(self, seed: int) -> None:
        _C.default_generator(_C.current_device()).manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        # torch.manual_seed comes here in programs that never use the device: loads no plugin.
        _C.seed_default_generators(int(seed))

    def seed(self) -> None:
        _C.default_generator(_C.current_device()).seed()

    def seed_all(self) -> None:
        self.seed()
        self.manual_seed_all(self.initial_seed())

    def initial_seed(self) -> int:
        return _C.default_generator(_C.current_device()).initial_seed()

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return _C.default_generator(self._index(device)).get_state()

    def set_rng_state(self, new_state: torch.Tensor, device: Any = None) -> None:
        _C.default_generator(self._index(device)).set_state(new_state.cpu())

    def get_rng_state_all(self) -> list[torch.Tensor]:
        return [generator.get_state() for generator in self.default_generators]

    def set_rng_state_all(self, new_states: list[torch.Tensor]) -> None:
        for generator, state in zip(self.default_generators, new_states, strict=True):
            generator.set_state(state.cpu())


class DeviceProperties:
    """What a device says of itself, as attributes."""

    name: str
    total_memory: int
    multi_processor_count: int
    major: int
    minor: int
    uuid: str
    bus_id: str
    is_integrated: bool

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value!r}" for key, value in self.__dict__.items())
        return f"DeviceProperties({values})"


def _device_context(module: DeviceModule) -> type:
    class device:
        """Makes a device current for the body of a `with`; None or a negative index changes nothing."""

        def __init__(self, device: Any) -> None:
            self.idx = -1 if device is None else module._index(device)
            self.prev_idx = -1

        def __enter__(self) -> None:
            self.prev_idx = _C.exchange_device(self.idx)

        def __exit__(self, *_: object) -> None:
            _C.exchange_device(self.prev_idx)

    return device


def make(name: str) -> DeviceModule:
    """The module for the device called `name`, also importable as torch.<name>."""
    module = DeviceModule(name)
    sys.modules[module.__name__] = module
    return module
