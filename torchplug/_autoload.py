"""Which plugin to load when torch is imported."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import entry_points

DEFAULT = "sim"


def find_plugin(choice: str) -> str:
    """The path of a plugin given by path, or by the name under which a package announces it."""
    if os.sep in choice or choice.endswith(".so"):
        return choice
    devices = entry_points(group="torchplug.devices")
    if choice not in devices.names:
        known = ", ".join(sorted(devices.names)) or "(no package of a device is installed)"
        raise RuntimeError(
            f"There is no device plugin named '{choice}'. Set TORCHPLUG_DEVICE to one of: {known}, "
            "to the path of a plugin, or to none."
        )
    return os.fspath(devices[choice].load())


def has_accelerator() -> bool:
    """Whether this PyTorch has an accelerator of its own, whose place the device would take."""
    import torch

    return torch.accelerator.current_accelerator() is not None


def autoload() -> None:
    choice = os.environ.get("TORCHPLUG_DEVICE", "")
    if choice == "none" or (not choice and has_accelerator()):
        return
    try:
        from torchplug import _device

        _device.load(find_plugin(choice or DEFAULT))
    except Exception as error:  # noqa: BLE001 - whatever it is, `import torch` goes on
        warnings.warn(f"torchplug loaded no device: {error}", RuntimeWarning, stacklevel=2)
