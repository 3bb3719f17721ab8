"""From Inductor's graph to the Python program that calls its kernels."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NoReturn

from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen

from torchplug import _devices
from torchplug.inductor import _replay, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


class _OfTheDevice(PythonWrapperCodegen):
    """What programs and their subgraphs have in common."""

    _defines_for_device = False

    @contextlib.contextmanager
    def kernels_of_the_device(self) -> Iterator[None]:
        """While it is entered, kernels that are defined are the device's."""
        self._defines_for_device = True
        try:
            yield
        finally:
            self._defines_for_device = False

    def define_kernel(self, kernel_name: str, kernel_body: str, *args: Any, **options: Any) -> None:
        if self._defines_for_device:
            kernel_body = kernel_body.replace(
                "async_compile.cpp_pybinding(", f"device_kernel({kernel_name!r}, ", 1
            )
        super().define_kernel(kernel_name, kernel_body, *args, **options)

    def make_allocation(
        self,
        name: str,
        device: torch.device,
        dtype: torch.dtype,
        shape: Any,
        stride: Any,
        allocation_shape: Any = None,
        is_pinned: bool = False,
    ) -> str:
        if device.type != _devices.name():
            elsewhere: Any = super().make_allocation
            made: str = elsewhere(name, device, dtype, shape, stride, allocation_shape, is_pinned)
            return made
        sizes = self.codegen_python_shape_tuple(shape)
        strides = self.codegen_python_shape_tuple(stride)
        allocated = self.codegen_python_shape_tuple(
            shape if allocation_shape is None else allocation_shape
        )
        made = f"{name} = empty_strided_device({device.index}, {allocated}, {strides}, {dtype})"
        return made if allocated == sizes else f"{made}.as_strided({sizes}, {strides})"


class DeviceWrapper(_OfTheDevice):
    @staticmethod
    def create(
        is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, partition_signatures: Any = None
    ) -> _OfTheDevice:
        if is_subgraph:
            return DeviceSubgraphWrapper(subgraph_name, parent_wrapper, partition_signatures)
        make: Any = DeviceWrapper
        made: _OfTheDevice = make()
        return made

    def write_header(self) -> None:
        super().write_header()
        self.imports.writeline(f"from {runtime.__name__} import {', '.join(runtime.__all__)}")

    def generate_after_suffix(self, result: Any) -> None:
        super().generate_after_suffix(result)
        result.splice(_replay.lines())


class DeviceSubgraphWrapper(_OfTheDevice, SubgraphPythonWrapperCodegen):
    pass


class NoCppWrapper(PythonWrapperCodegen):
    """In the place of a program in C++, by cpp_wrapper or AOTInductor."""

    @staticmethod
    def create(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            f"Programs that Inductor writes in C++ (cpp_wrapper, AOTInductor) know PyTorch's own devices only, not "
            f"'{_devices.name()}'. Use torch.compile without cpp_wrapper, or `torchplug package` for what is to run without Python."
        )
