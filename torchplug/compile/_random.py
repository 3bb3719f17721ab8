"""The state of generators, and operators that draw the random numbers of an earlier call again: checkpointed dropout, in the
backward."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
from torch._prims import rng_prims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _device_of(args: tuple[Any, ...], options: dict[str, Any]) -> torch.device:
    """Whose random numbers an operator draws."""
    values = torch.utils._pytree.tree_leaves((args, options))
    devices = [x if isinstance(x, torch.device) else x.device for x in values if _has_device(x)]
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))


def _has_device(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, torch.device))


def _state_of(device: torch.device) -> torch.Tensor:
    if device.type == "cpu":
        return torch.get_rng_state()
    state: torch.Tensor = torch.get_device_module(device).get_rng_state(device)
    return state


def _set_state(device: torch.device, state: torch.Tensor) -> None:
    if device.type == "cpu":
        torch.set_rng_state(state)
    else:
        torch.get_device_module(device).set_rng_state(state, device)


@contextlib.contextmanager
def kept(device: torch.device) -> Iterator[None]:
    """What others draw next is as if nobody had drawn here."""
    before = _state_of(device)
    try:
        yield
    finally:
        _set_state(device, before)


def run_and_save(op: Any, *args: Any, **options: Any) -> tuple[torch.Tensor, Any]:
    """The state before the call, and what it gave."""
    return _state_of(_device_of(args, options)), op(*args, **options)


def run_with(state: torch.Tensor, op: Any, *args: Any, **options: Any) -> Any:
    """As it was with that state."""
    device = _device_of(args, options)
    with kept(device):
        _set_state(device, state)
        return op(*args, **options)


# PyTorch's own know the devices that it names.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    rng_prims.run_and_save_rng_state: run_and_save,
    rng_prims.run_with_rng_state: run_with,
}
