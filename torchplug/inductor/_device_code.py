"""The lines of a generated program that are about the device itself."""

from __future__ import annotations

from torch._inductor.codegen.common import DeviceOpOverrides


class DeviceCode(DeviceOpOverrides):
    def __init__(self, name: str) -> None:
        self._module = f"torch.{name}"

    def import_get_raw_stream_as(self, name: str) -> str:
        return (
            f"def {name}(index):\n    return {self._module}.current_stream(index).native_handle\n"
        )

    def set_device(self, device_idx: int) -> str:
        return f"{self._module}.set_device({device_idx})"

    def synchronize(self) -> str:
        return f"{self._module}.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        return f"{self._module}._DeviceGuard({device_idx})"

    def current_stream(self) -> str:
        return f"{self._module}.current_stream()"

    def cpp_kernel_type(self) -> str:
        return "void*"
