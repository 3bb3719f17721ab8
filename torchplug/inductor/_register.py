"""What Inductor is told of the device, as soon as it is imported."""

from __future__ import annotations

from torchplug._when_imported import when_imported


def register_when_imported(name: str) -> None:
    when_imported("torch._inductor.compile_fx", lambda _: _register(name))


def _register(name: str) -> None:
    from torch._inductor.codegen import common
    from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen

    from torchplug.compile import _strides
    from torchplug.inductor._check import Check
    from torchplug.inductor._device_code import DeviceCode
    from torchplug.inductor._scheduling import DeviceScheduling, keep_from_combined_kernels
    from torchplug.inductor._wrapper import DeviceWrapper, NoCppWrapper

    _strides.expect_those_of_the_cpu(name)
    keep_from_combined_kernels(name)
    common.register_device_op_overrides(name, DeviceCode(name))
    common.register_backend_for_device(
        name,
        DeviceScheduling,
        DeviceWrapper,
        NoCppWrapper,
        device_fx_wrapper_codegen=WrapperFxCodegen,
        device_custom_pass=Check(name),
    )
