"""Where an operator runs: on the CPU, which is right by definition, or on the device."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

import torchplug
from torchplug import _plugins

from .transport import CPU, move

if TYPE_CHECKING:
    from .pair import Case


class Place:
    """The CPU. A device overrides what differs."""

    # Whether draws leave the CPU's default generator alone.
    own_generator = False

    def __init__(self, name: str = "cpu") -> None:
        self.name = name
        self.device = torch.device(name)

    def bring(self, tree: Any) -> Any:
        """A copy of every tensor in tree, here."""
        return move(tree, self.device)

    def call(self, case: "Case", function: Callable[[Any], Any], sample: Any) -> Any:
        """Runs one operator; tests of the sweep put their faults here."""
        return function(sample)

    def synchronize(self) -> None:
        """Waits for the work begun here, so that its errors come out."""


class Device(Place):
    """The accelerator under test."""

    own_generator = True

    def synchronize(self) -> None:
        torch.accelerator.synchronize()


def open_place(name: str, adapter: str | None) -> Place:
    """The device called name, or of the plugin at that path; adapter is "module:class" of another Place to use for it."""
    if adapter is not None:
        module, _, attribute = adapter.partition(":")
        return getattr(import_module(module), attribute)(name)
    if _plugins.is_path(name):
        name = torchplug.load(name)
    place = Place(name) if name == CPU.type else Device(name)
    # A device that cannot hold one tensor is broken before any operator is.
    place.bring(torch.zeros(1))
    place.synchronize()
    return place
