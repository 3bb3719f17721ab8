"""lightning on the device: after `import torchplug.lightning`, accelerator="<device>" and "auto" mean it.

This holds for the Trainer and Fabric of `lightning` and of `pytorch_lightning`, imported before or after. With
the variable PL_TRAINER_ACCELERATOR=<device>, which `torchplug run` sets, `import torch` does that import.

lightning (2.6) takes an Accelerator of one's own, but then trains on the CPU, autocasts for CUDA and makes a CUDA
stream for DDP: the class that chooses all this, its connector, knows a list of devices. Here it learns one more.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch

from torchplug import _devices
from torchplug._when_imported import when_imported

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Accelerator"]

CONNECTORS = {
    "lightning.pytorch.trainer.connectors.accelerator_connector": "_AcceleratorConnector",
    "lightning.fabric.connector": "_Connector",
    "pytorch_lightning.trainer.connectors.accelerator_connector": "_AcceleratorConnector",
    "lightning_fabric.connector": "_Connector",
}
"""The modules of lightning that choose, and the class in each that does."""


class Accelerator:
    """The device, as lightning's Accelerator."""

    # Registered with each of lightning's base classes instead of derived from one: lightning may not be imported yet.

    @staticmethod
    def name() -> str:
        return _devices.name()

    @staticmethod
    def is_available() -> bool:
        return _devices.is_available()

    @staticmethod
    def auto_device_count() -> int:
        """All devices, but one in an interactive session, which cannot start processes for the others."""
        count = _devices.device_count()
        return min(1, count) if hasattr(sys, "ps1") else count

    @staticmethod
    def parse_devices(devices: int | str | Sequence[int]) -> list[int]:
        """The indices meant: a number of devices, -1 for all, or the indices themselves."""
        count = _devices.device_count()
        wish = devices
        if isinstance(wish, str) and "," in wish:
            wish = [int(index) for index in wish.split(",") if index.strip()]
        if isinstance(wish, (int, str)):
            wish = range(count if int(wish) == -1 else int(wish))
        indices = list(wish)
        if not indices or len(set(indices)) < len(indices) or not set(indices) <= {*range(count)}:
            raise ValueError(
                f"lightning was given devices={devices!r}, but '{_devices.name()}' has {count} devices. Give "
                f"their number, -1 for all, or a list of different indices from 0 to {count - 1}."
            )
        return indices

    @staticmethod
    def get_parallel_devices(devices: Iterable[int]) -> list[torch.device]:
        return [torch.device(_devices.name(), index) for index in devices]

    def setup_device(self, device: torch.device) -> None:
        if device.type != _devices.name():
            raise ValueError(
                f"The strategy that lightning was given is for the device '{device}', its accelerator is "
                f"'{_devices.name()}'. Leave strategy= away, or give it a device of the accelerator."
            )
        _devices.set_device(device)

    def setup(self, trainer: Any) -> None:
        """Nothing is left to do when the Trainer has the device."""

    def get_device_stats(self, device: torch.device | str | int) -> dict[str, Any]:
        """What DeviceStatsMonitor logs."""
        return torch.accelerator.memory_stats(device)

    def teardown(self) -> None:
        torch.accelerator.empty_cache()


def _auto_accelerator(connector: Any, module: Any, original: Any) -> str:
    return _devices.name() if _devices.is_available() else original()


def _strategy(connector: Any, module: Any, original: Any) -> Any:
    chosen = original(connector)
    if isinstance(connector.accelerator, Accelerator) and not isinstance(chosen, str):
        return module.SingleDeviceStrategy(connector._parallel_devices[0])
    return chosen


def _init_strategy(connector: Any, module: Any, original: Any) -> None:
    original(connector)
    if isinstance(connector.accelerator, Accelerator):
        # The Trainer's strategies have the one, Fabric's the other.
        connector.strategy.determine_ddp_device_ids = _no_device_ids
        connector.strategy._determine_ddp_device_ids = _no_device_ids


def _no_device_ids() -> None:
    """Given the index of its device, lightning's DDP makes a CUDA stream."""


def _precision(connector: Any, module: Any, original: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*GradScaler is enabled, but CUDA is not available")
        chosen = original(connector)
    ours = isinstance(connector.accelerator, Accelerator)
    if ours and isinstance(chosen, module.MixedPrecision) and chosen.device == "cuda":
        return module.MixedPrecision(chosen.precision, _devices.name())
    return chosen


CHOICES = {
    "_choose_auto_accelerator": _auto_accelerator,
    "_choose_strategy": _strategy,
    "_init_strategy": _init_strategy,
    "_check_and_init_precision": _precision,
}
"""The methods of a connector that know a list of devices, and what takes their place: it is given the connector, its
module and the method."""


def _plug(module: Any) -> None:
    """Lets the connector in lightning's `module` choose for the device too."""
    connector = getattr(module, CONNECTORS[module.__name__], None)
    if not all(hasattr(connector, method) for method in CHOICES):
        warnings.warn(
            f"torchplug.lightning does not know this version of {module.__name__.partition('.')[0]}, which will "
            f"not use the device '{_devices.name()}'. Install lightning 2.6.",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    for method, choose in CHOICES.items():
        original = getattr(connector, method)
        setattr(connector, method, functools.partialmethod(choose, module, original))
    module.Accelerator.register(Accelerator)
    registry = getattr(module, "AcceleratorRegistry", None) or module.ACCELERATOR_REGISTRY
    registry.register(_devices.name(), Accelerator, "The device of torchplug", override=True)


for _name in CONNECTORS:
    when_imported(_name, _plug)
