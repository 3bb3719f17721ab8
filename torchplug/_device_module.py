"""`torch.<device>`: what torch.cuda has and any device can have."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, cast

import torch

from torchplug import (
    _amp,
    _devices,
    _graphs,
    _memory,
    _profiler,
    _random,
    _sharing,
    _streams,
    _tensor_types,
)

if TYPE_CHECKING:
    from torchplug._tensor_types import TensorType

    # To a type checker a ModuleType has every attribute there could be.
    _Module = object
else:
    _Module = ModuleType


class DeviceModule(_Module):
    """The module object that users and PyTorch itself find at torch.<device>."""

    __name__: str

    # Whether there is one
    is_available = staticmethod(_devices.is_available)
    is_initialized = staticmethod(_devices.is_initialized)
    init = staticmethod(_devices.init)
    _lazy_init = staticmethod(_devices.init)
    _is_compiled = staticmethod(_devices._is_compiled)
    _is_in_bad_fork = staticmethod(_devices._is_in_bad_fork)

    # Devices
    device = _devices.device
    device_of = _devices.device_of
    _DeviceGuard = _devices._DeviceGuard
    device_count = staticmethod(_devices.device_count)
    current_device = staticmethod(_devices.current_device)
    set_device = staticmethod(_devices.set_device)
    synchronize = staticmethod(_devices.synchronize)
    _exchange_device = staticmethod(_devices._exchange_device)
    _maybe_exchange_device = staticmethod(_devices._maybe_exchange_device)
    _get_device = staticmethod(_devices._get_device)
    DeviceProperties = _devices.DeviceProperties
    get_device_properties = staticmethod(_devices.get_device_properties)
    get_device_name = staticmethod(_devices.get_device_name)
    get_device_capability = staticmethod(_devices.get_device_capability)
    can_device_access_peer = staticmethod(_devices.can_device_access_peer)
    is_bf16_supported = staticmethod(_devices.is_bf16_supported)
    get_amp_supported_dtype = staticmethod(_devices.get_amp_supported_dtype)

    # Mixed precision
    amp = _amp

    # Streams and events
    streams = _streams
    Stream = _streams.Stream
    ExternalStream = _streams.ExternalStream
    get_stream_from_external = staticmethod(_streams.get_stream_from_external)
    Event = _streams.Event
    StreamContext = _streams.StreamContext
    stream = staticmethod(_streams.stream)
    current_stream = staticmethod(_streams.current_stream)
    default_stream = staticmethod(_streams.default_stream)
    set_stream = staticmethod(_streams.set_stream)
    _set_stream_by_id = staticmethod(_streams._set_stream_by_id)

    # Graphs
    graphs = _graphs
    Graph = _graphs.Graph
    graph = _graphs.graph
    graph_pool_handle = staticmethod(_graphs.graph_pool_handle)
    is_current_stream_capturing = staticmethod(_graphs.is_current_stream_capturing)
    make_graphed_callables = staticmethod(_graphs.make_graphed_callables)

    # Memory
    memory = _memory
    memory_allocated = staticmethod(_memory.memory_allocated)
    max_memory_allocated = staticmethod(_memory.max_memory_allocated)
    memory_reserved = staticmethod(_memory.memory_reserved)
    max_memory_reserved = staticmethod(_memory.max_memory_reserved)
    mem_get_info = staticmethod(_memory.mem_get_info)
    device_memory_used = staticmethod(_memory.device_memory_used)
    empty_cache = staticmethod(_memory.empty_cache)
    empty_host_cache = staticmethod(_memory.empty_host_cache)
    set_per_process_memory_fraction = staticmethod(_memory.set_per_process_memory_fraction)
    get_per_process_memory_fraction = staticmethod(_memory.get_per_process_memory_fraction)
    caching_allocator_alloc = staticmethod(_memory.caching_allocator_alloc)
    caching_allocator_delete = staticmethod(_memory.caching_allocator_delete)
    caching_allocator_enable = staticmethod(_memory.caching_allocator_enable)
    caching_allocator_disabled = staticmethod(_memory.caching_allocator_disabled)
    PluggableAllocator = _memory.PluggableAllocator
    change_current_allocator = staticmethod(_memory.change_current_allocator)
    get_allocator_backend = staticmethod(_memory.get_allocator_backend)
    MemPool = _memory.MemPool
    use_mem_pool = staticmethod(_memory.use_mem_pool)
    memory_snapshot = staticmethod(_memory.memory_snapshot)
    memory_stats = staticmethod(_memory.memory_stats)
    memory_stats_as_nested_dict = staticmethod(_memory.memory_stats_as_nested_dict)
    memory_summary = staticmethod(_memory.memory_summary)
    reset_peak_memory_stats = staticmethod(_memory.reset_peak_memory_stats)
    reset_accumulated_memory_stats = staticmethod(_memory.reset_accumulated_memory_stats)
    host_memory_stats = staticmethod(_memory.host_memory_stats)
    host_memory_stats_as_nested_dict = staticmethod(_memory.host_memory_stats_as_nested_dict)
    reset_peak_host_memory_stats = staticmethod(_memory.reset_peak_host_memory_stats)
    reset_accumulated_host_memory_stats = staticmethod(_memory.reset_accumulated_host_memory_stats)

    # Sharing
    from_blob = staticmethod(_sharing.from_blob)
    ipc_collect = staticmethod(_sharing.ipc_collect)

    # Random numbers
    random = _random
    manual_seed = staticmethod(_random.manual_seed)
    manual_seed_all = staticmethod(_random.manual_seed_all)
    seed = staticmethod(_random.seed)
    seed_all = staticmethod(_random.seed_all)
    initial_seed = staticmethod(_random.initial_seed)
    get_rng_state = staticmethod(_random.get_rng_state)
    set_rng_state = staticmethod(_random.set_rng_state)
    get_rng_state_all = staticmethod(_random.get_rng_state_all)
    set_rng_state_all = staticmethod(_random.set_rng_state_all)
    _get_generator = staticmethod(_random._get_generator)
    _get_rng_state_offset = staticmethod(_random._get_rng_state_offset)
    _set_rng_state_offset = staticmethod(_random._set_rng_state_offset)

    # The vendor's profiler
    profiler = _profiler

    # Errors
    OutOfMemoryError = torch.OutOfMemoryError
    AcceleratorError = torch.AcceleratorError

    # Types of tensors and storages, made when they are first asked for
    BFloat16Tensor: TensorType
    BoolTensor: TensorType
    ByteTensor: TensorType
    CharTensor: TensorType
    DoubleTensor: TensorType
    FloatTensor: TensorType
    HalfTensor: TensorType
    IntTensor: TensorType
    LongTensor: TensorType
    ShortTensor: TensorType
    BFloat16Storage: type
    BoolStorage: type
    ByteStorage: type
    CharStorage: type
    ComplexDoubleStorage: type
    ComplexFloatStorage: type
    DoubleStorage: type
    FloatStorage: type
    HalfStorage: type
    IntStorage: type
    LongStorage: type
    ShortStorage: type

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.{name}", __doc__)  # type: ignore[call-arg]

    @property
    def _initialized(self) -> bool:
        return _devices.is_initialized()

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        """The generator of each device that operators use unless they are given one."""
        return _random.default_generators()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> type:
            if name not in _tensor_types.TENSORS and name not in _tensor_types.STORAGES:
                raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
            made = _tensor_types.make(name)
            setattr(self, name, made)
            return made

    def __dir__(self) -> list[str]:
        return sorted(
            {*super().__dir__(), *dir(type(self)), *_tensor_types.TENSORS, *_tensor_types.STORAGES}
        )


def make(name: str) -> DeviceModule:
    """The module for the device called `name`, also importable as torch.<name>."""
    module = DeviceModule(name)
    sys.modules[module.__name__] = cast(ModuleType, module)
    for part in ("amp", "graphs", "memory", "profiler", "random", "streams"):
        sys.modules[f"{module.__name__}.{part}"] = getattr(module, part)
    return module
