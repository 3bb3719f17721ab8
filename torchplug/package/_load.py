"""A package that is loaded: what Python calls. torch.export and Dynamo are not needed, and not imported."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from torchplug import _C

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class GroupReport:
    """What has become of one group, as `torchplug.compile.explain` has it."""

    title: str
    nodes: int
    why_without: str
    """Why it can have no engines."""
    engines: int = 0
    compiled: int = 0
    loaded: int = 0
    """Engines that came with the package, or from the disk."""
    seconds: float = 0.0
    """For both."""
    runs: int = 0
    runs_without: int = 0
    declined: list[str] = field(default_factory=list)
    disk: list[str] = field(default_factory=list)


class Package:
    """A compiled program, called as the model was that it was exported from.

    `inputs` and `outputs` are names, in order; `weights` the parameters and buffers by name, on the device: what is written
    into them counts from the next call on.
    """

    def __init__(self, path: str | os.PathLike[str], device: torch.device) -> None:
        self.path = os.fspath(path)
        self.device = device
        self._loaded = _C.Package(self.path, device.index)
        self.inputs: list[str] = self._loaded.inputs
        self.outputs: list[str] = self._loaded.outputs
        self.weights: dict[str, torch.Tensor] = dict(zip(*self._loaded.weights, strict=True))
        structure = json.loads(self._loaded.structure)
        self._given = _spec(structure["given"], self.path)
        self._results = _spec(structure["results"], self.path)
        self._constants = {int(place): value for place, value in structure["constants"].items()}
        if self._loaded.why_anew:
            warnings.warn(
                f"Engines of {self.path} are compiled anew: {self._loaded.why_anew}.", stacklevel=3
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, given = pytree.tree_flatten((args, kwargs))
        if given != self._given:
            leaves = self._reordered(args, kwargs)
        inputs = self._without_constants(leaves) if self._constants else leaves
        for name, one in zip(self.inputs, inputs, strict=False):
            if not isinstance(one, (torch.Tensor, int)) or isinstance(one, bool):
                raise ValueError(  # noqa: TRY004  as all others
                    f"Input {name!r} is to be a tensor or an integer as it was exported, and was given {one!r}."
                )
        return pytree.tree_unflatten(self._loaded.run(inputs), self._results)

    def report(self) -> list[GroupReport]:
        return [GroupReport(**group) for group in self._loaded.groups]

    @property
    def origin(self) -> dict[str, str]:
        """What it was made by: `torchplug`, `torch`, `plugin`, and the `identity` of its engines."""
        found: dict[str, str] = self._loaded.origin
        return found

    def __repr__(self) -> str:
        return f"<torchplug package {self.path!r} on {self.device}: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"

    def _reordered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Keywords in the order of the export. ValueError for what is given otherwise."""
        positional, keyword = self._given.children()
        names = keyword.context
        if set(names) == set(kwargs):
            leaves, given = pytree.tree_flatten((args, {name: kwargs[name] for name in names}))
            if given == self._given:
                return leaves
        wanted = _described(positional.num_children, names)
        found = _described(len(args), kwargs)
        if wanted == found:
            raise ValueError(
                f"The package takes {wanted} with lists, tuples and dictionaries as the model was exported with, and was "
                "given others."
            )
        raise ValueError(f"The package takes {wanted}, and was given {found}.")

    def _without_constants(self, leaves: list[Any]) -> list[Any]:
        for place, value in self._constants.items():
            given = leaves[place]
            if type(given) is not type(value) or given != value:
                raise ValueError(
                    f"The package was exported for {value!r} as value {place} of its arguments, and was given {given!r}."
                )
        return [leaf for place, leaf in enumerate(leaves) if place not in self._constants]


def _described(positional: int, names: Iterable[str]) -> str:
    """ "2 positional arguments and y=" """
    plural = "" if positional == 1 else "s"
    return " and ".join(
        [f"{positional} positional argument{plural}", *(f"{name}=" for name in names)]
    )


def _spec(text: str, path: str) -> Any:
    try:
        return pytree.treespec_loads(text)
    except (NotImplementedError, ValueError, KeyError, ImportError, AttributeError) as error:
        raise ValueError(
            f"{path} gives or takes what this process does not know ({str(error).splitlines()[0]}). "
            "Import the module that registers it first."
        ) from error


def load(path: str | os.PathLike[str], device: torch.device | str | int | None = None) -> Package:
    name = torch._C._get_privateuse1_backend_name()
    if name == "privateuseone":
        raise RuntimeError(
            "There is no device to load a package onto. Set TORCHPLUG_DEVICE to one, for example sim."
        )
    where = torch.device(name if device is None else device)
    if isinstance(device, int):
        where = torch.device(name, device)
    if where.type != name:
        raise ValueError(f"A package cannot be loaded onto {where}. The device is {name!r}.")
    index = _C.current_device() if where.index is None else where.index
    return Package(path, torch.device(name, index))
