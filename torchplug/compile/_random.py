"""Operators that draw the random numbers of an earlier call again: checkpointed dropout, in the backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._prims import rng_prims

if TYPE_CHECKING:
    from collections.abc import Callable


def _module_of(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """torch, or torch.<device>: whose state it is."""
    values = torch.utils._pytree.tree_leaves((args, options))
    devices = [x if isinstance(x, torch.device) else x.device for x in values if _has_device(x)]
    name = next((device.type for device in devices if device.type != "cpu"), "cpu")
    return torch if name == "cpu" else torch.get_device_module(name)


def _has_device(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, torch.device))


def run_and_save(op: Any, *args: Any, **options: Any) -> tuple[torch.Tensor, Any]:
    """The state before the call, and what it gave."""
    return _module_of(args, options).get_rng_state(), op(*args, **options)


def run_with(state: torch.Tensor, op: Any, *args: Any, **options: Any) -> Any:
    """As it was with that state; what others draw next is as if it had not been."""
    module = _module_of(args, options)
    before = module.get_rng_state()
    module.set_rng_state(state)
    try:
        return op(*args, **options)
    finally:
        module.set_rng_state(before)


# PyTorch's own know the devices that it names.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    rng_prims.run_and_save_rng_state: run_and_save,
    rng_prims.run_with_rng_state: run_with,
}
