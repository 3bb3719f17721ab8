"""Registers a loaded plugin's device with the Python side of PyTorch."""

from __future__ import annotations

import importlib.util
import keyword

import torch
from torch.utils import backend_registration

from torchplug import (
    _C,
    _beside,
    _device_module,
    _dynamo_interface,
    _fake_tensors,
    _patches,
    distributed,
)
from torchplug.inductor import _register as _inductor

CLASSES = (
    torch.Tensor,
    torch.nn.Module,
    torch.nn.utils.rnn.PackedSequence,
    torch.storage._StorageBase,
    torch.TypedStorage,
)
"""What PyTorch gives methods named after the device."""


def load(path: str) -> str:
    """Makes the plugin at `path` the PyTorch device of this process; returns the device's name."""
    was_chosen = _C.is_chosen()
    if not was_chosen:
        _refuse(_C.plugin_name(path))
    name = _C.activate(path)
    if not was_chosen:
        _register(name)
    return name


def load_later(name: str, path: str) -> None:
    """Makes `name` a PyTorch device; the plugin at `path` is loaded at its first use."""
    was_chosen = _C.is_chosen()
    if not was_chosen:
        _refuse(name)
    _C.activate_later(name, path)
    if not was_chosen:
        _register(name)


def load_path_later(path: str) -> str:
    """The same for a plugin that tells its name itself; its own operators are defined at once."""
    name = _C.plugin_name(path)
    if not _C.is_chosen():
        _refuse(name)
    _C.load_operators(path)
    load_later(name, path)
    return name


def _refuse(name: str) -> None:
    """Raises, before anything is changed, what would leave half a device behind."""
    taken = owner_of_name(name)
    if taken:
        raise RuntimeError(
            f"A device cannot be called '{name}': {taken}. Give the plugin another name."
        )
    _beside.refuse(name)


def owner_of_name(name: str) -> str:
    """What has the name that a device wants for `torch.<name>`, `x.<name>()` and `x.is_<name>`, or ""."""
    if keyword.iskeyword(name):
        return f"'{name}' is a word of Python's"
    if hasattr(torch, name) or importlib.util.find_spec(f"torch.{name}") is not None:
        return f"PyTorch has torch.{name}"
    for owner in CLASSES:
        for attribute in (name, f"is_{name}"):
            if hasattr(owner, attribute):
                return f"PyTorch has {owner.__name__}.{attribute}"
    return ""


def _register(name: str) -> None:
    backend_registration.rename_privateuse1_backend(name)
    torch._register_device_module(name, _device_module.make(name))  # type: ignore[no-untyped-call]
    backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
    distributed.register(name)
    _dynamo_interface.register_when_imported(name)
    _inductor.register_when_imported(name)
    _fake_tensors.install()
    _patches.apply()
    _beside.watch(name)
