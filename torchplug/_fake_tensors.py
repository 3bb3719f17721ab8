"""Operators that make tensors out of none, under PyTorch's FakeTensor.

FakeTensor takes each of them for one of PyTorch's factories and gives it a device, for which a plugin's operator has no
argument (PyTorch 2.11 to 2.13). What they make is on the CPU.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from torchplug._when_imported import when_imported


@functools.cache
def install() -> None:
    """Does nothing the second time."""
    when_imported("torch._subclasses.fake_impls", _install)


def _install(fake_impls: ModuleType) -> None:
    fake_impls.op_implementations_checks.insert(0, (_is_own, _run))


def _is_own(operator: Any) -> bool:
    from torchplug import _C

    return operator.namespace != "aten" and _C.is_own_without_tensors(operator.name())


def _run(mode: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
    import torch
    from torch._subclasses import fake_tensor
    from torch.utils import _pytree

    if not operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.Meta):
        return NotImplemented
    with fake_tensor.in_kernel_invocation_manager(mode):
        made = operator(*args, **kwargs)
    cpu = torch.device("cpu")
    return _pytree.tree_map_only(
        torch.Tensor, lambda tensor: fake_tensor.FakeTensor(mode, tensor, cpu), made
    )
