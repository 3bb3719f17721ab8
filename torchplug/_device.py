"""Registers a loaded plugin's device with the Python side of PyTorch."""

from __future__ import annotations

import torch

from torchplug import _C, _device_module, _patches


def load(path: str) -> str:
    """Makes the plugin at `path` the PyTorch device of this process; returns the device's name."""
    was_active = _C.is_active()
    name = _C.activate(path)
    if not was_active:
        torch.utils.rename_privateuse1_backend(name)
        torch._register_device_module(name, _device_module.make(name))
        torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
        _patches.apply()
    return name
