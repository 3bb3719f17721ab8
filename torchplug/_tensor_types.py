"""`torch.<device>.FloatTensor` and its like: tensor and storage types by PyTorch's old names."""

from __future__ import annotations

from typing import Any

import torch
from torch.storage import _LegacyStorage

from torchplug import _devices

TENSORS = {
    "BFloat16Tensor": torch.bfloat16,
    "BoolTensor": torch.bool,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "DoubleTensor": torch.float64,
    "FloatTensor": torch.float32,
    "HalfTensor": torch.float16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "ShortTensor": torch.int16,
}
STORAGES = {name.replace("Tensor", "Storage"): dtype for name, dtype in TENSORS.items()} | {
    "ComplexDoubleStorage": torch.complex128,
    "ComplexFloatStorage": torch.complex64,
}


class TensorType(type):
    """A type of tensors on the device: makes them, and recognises them with isinstance."""

    dtype: torch.dtype
    layout: torch.layout
    is_cuda: bool
    is_sparse: bool

    def __call__(cls, *args: Any, device: _devices.Device = None) -> torch.Tensor:
        """With sizes an uninitialised tensor, with a sequence, tensor or storage one of its values."""
        where = torch.device(_devices.name(), _devices.index_of(device))
        return torch.empty(0, dtype=cls.dtype, device=where).new(*args)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.device.type == _devices.name()
            and instance.dtype == cls.dtype
            and instance.layout == torch.strided
        )

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


def make(name: str) -> type:
    """The type called `name`, one of TENSORS or STORAGES."""
    module = f"torch.{_devices.name()}"
    if name in STORAGES:
        dtype = STORAGES[name]
        return type(
            name, (_LegacyStorage,), {"__module__": module, "dtype": dtype, "_dtype": dtype}
        )
    # Tensor.type(t) looks for the full name where C sees a type's name.
    attributes = {
        "__module__": module,
        "__qualname__": name,
        "dtype": TENSORS[name],
        "layout": torch.strided,
        "is_cuda": False,
        "is_sparse": False,
    }
    return TensorType(f"{module}.{name}", (), attributes)
