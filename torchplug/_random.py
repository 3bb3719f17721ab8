"""The device's random numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from torchplug import _C, _devices

if TYPE_CHECKING:
    from torchplug._devices import Device


def default_generators() -> tuple[torch.Generator, ...]:
    """The generator of each device that operators use unless they are given one."""
    return tuple(_C.default_generator(index) for index in range(_C.device_count()))


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator. Does nothing without a device."""
    if _C.device_count() > 0:
        _C.default_generator(_C.current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generator of every device.

    torch.manual_seed comes here in programs that never use the device: this loads no plugin.
    """
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise RuntimeError(f"A seed must be an integer of 64 bits, not {seed}.")
    _C.seed_default_generators(seed % 2**64)


def seed() -> None:
    """Seeds the current device's generator with a random number. Does nothing without a device."""
    if _C.device_count() > 0:
        _C.default_generator(_C.current_device()).seed()


def seed_all() -> None:
    """Seeds the generator of every device with one random number."""
    seed()
    if _C.device_count() > 0:
        manual_seed_all(initial_seed())


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _C.default_generator(_C.current_device()).initial_seed()


def get_rng_state(device: Device = None) -> torch.Tensor:
    """The state of a device's generator, as bytes on the CPU."""
    return _C.default_generator(_devices.index_of(device)).get_state()


def set_rng_state(new_state: torch.Tensor, device: Device = None) -> None:
    """Sets the state of a device's generator."""
    _C.default_generator(_devices.index_of(device)).set_state(new_state.cpu())


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices' generators, in the order of the devices."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def _get_generator(device: torch.device) -> torch.Generator:
    return _C.default_generator(_devices.index_of(device))


def _get_rng_state_offset(device: Device = None) -> int:
    return _C.default_generator(_devices.index_of(device)).get_offset()


def _set_rng_state_offset(offset: int, device: Device = None) -> None:
    _C.default_generator(_devices.index_of(device)).set_offset(offset)
