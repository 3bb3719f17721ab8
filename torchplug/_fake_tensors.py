"""Calls of plugins' operators without a tensor, under PyTorch's FakeTensor.

FakeTensor takes an operator that makes a tensor out of none for one of PyTorch's factories and gives it a device, for
which a plugin's operator has no argument; for other calls without a tensor it finds no device (PyTorch 2.11 to 2.13).
They run on the host, and what they make is on the CPU.
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
    fake_impls.op_implementations_checks.insert(0, (_may_lack_tensors, _run))


def _may_lack_tensors(operator: Any) -> bool:
    from torchplug import _C

    return operator.namespace != "aten" and _C.may_own_lack_tensors(operator.name())


def _run(mode: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
    import torch
    from torch._subclasses import fake_tensor
    from torch.utils import _pytree

    given = _pytree.tree_leaves((args, kwargs))
    has_shapes = operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.Meta)
    if not has_shapes or any(isinstance(value, torch.Tensor) for value in given):
        return NotImplemented
    with fake_tensor.in_kernel_invocation_manager(mode):
        made = operator(*args, **kwargs)
    cpu = torch.device("cpu")
    return _pytree.tree_map_only(
        torch.Tensor, lambda tensor: fake_tensor.FakeTensor(mode, tensor, cpu), made
    )
