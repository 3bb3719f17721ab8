"""Calls what depends on a module as soon as that is imported, and does not import it before anybody wants it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, call: Callable[[ModuleType], None]) -> None:
    """Calls `call(module)` now, if the module is there, or after its first import."""
    if name in sys.modules:
        call(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, call))


class _Finder(MetaPathFinder):
    """Finds the module by the other finders' means, once."""

    def __init__(self, name: str, call: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._call)
        return spec


class _Loader(Loader):
    """Makes the call after the module has been executed."""

    def __init__(self, loader: Loader, call: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._call = call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._call(module)

    def __getattr__(self, name: str) -> Any:
        # What inspect and others ask a module's loader, as for its source.
        return getattr(self._loader, name)
