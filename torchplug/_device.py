"""Registers a loaded plugin's device with the Python side of PyTorch."""

from __future__ import annotations

import torch
from torch.utils import backend_registration

from torchplug import _C, _device_module, _dynamo_interface, _patches, distributed


def load(path: str) -> str:
    """Makes the plugin at `path` the PyTorch device of this process; returns the device's name."""
    was_chosen = _C.is_chosen()
    name = _C.activate(path)
    if not was_chosen:
        _register(name)
    return name


def load_later(name: str, path: str) -> None:
    """Makes `name` a PyTorch device; the plugin at `path` is loaded at its first use."""
    was_chosen = _C.is_chosen()
    _C.activate_later(name, path)
    if not was_chosen:
        _register(name)


def _register(name: str) -> None:
    backend_registration.rename_privateuse1_backend(name)
    torch._register_device_module(name, _device_module.make(name))  # type: ignore[no-untyped-call]
    backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
    distributed.register(name)
    _dynamo_interface.register_when_imported(name)
    _patches.apply()
