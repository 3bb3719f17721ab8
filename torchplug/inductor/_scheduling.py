"""From Inductor's nodes to kernels: as for the CPU, each called with memory of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.scheduler import ForeachKernelSchedulerNode
from torch._inductor.virtualized import V

if TYPE_CHECKING:
    from collections.abc import Callable


def _as_for_the_cpu(method: Callable[..., Any]) -> Callable[..., Any]:
    """What generates code asks for the current device, and knows C++ as the CPU's."""

    def run(self: Any, *args: Any, **options: Any) -> Any:
        with V.graph.set_current_device(torch.device("cpu")):
            return method(self, *args, **options)

    return run


class DeviceScheduling(CppScheduling):
    codegen_node = _as_for_the_cpu(CppScheduling.codegen_node)
    codegen_template = _as_for_the_cpu(CppScheduling.codegen_template)
    flush = _as_for_the_cpu(CppScheduling.flush)

    def define_kernel(self, src_code: str, nodes: Any, kernel_args: Any = None) -> Any:
        # A kernel for the CPU with the same source is another kernel.
        wrapper: Any = V.graph.wrapper_code
        define: Any = super().define_kernel
        with wrapper.kernels_of_the_device():
            return define(f"// of the device\n{src_code}", nodes, kernel_args)


def keep_from_combined_kernels(name: str) -> None:
    """Inductor combines independent kernels (`combo_kernels`) of devices that it does not name, and can do so in Triton alone."""
    groups: Any = ForeachKernelSchedulerNode.group_algorithm_for_combo_kernels

    def groups_of_others(scheduler: Any) -> list[list[Any]]:
        return [group for group in groups(scheduler) if group[0].get_device().type != name]

    ForeachKernelSchedulerNode.set_group_algorithm_for_combo_kernels(groups_of_others)
