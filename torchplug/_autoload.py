"""What `import torch` does: defines the operators of plugins, and registers the device that is chosen."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from typing import TYPE_CHECKING

from torchplug import _settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoints

    from torchplug._plugins import Plugin

    StrPath = str | os.PathLike[str]


def autoload() -> None:
    """Never raises, whatever is wrong with a plugin or a setting: `import torch` must not fail."""
    wish = _settings.read(_settings.DEVICE)
    try:
        from torchplug import _plugins

        groups = _plugins.announced()
    except Exception as error:  # noqa: BLE001 - see above
        warn(f"torchplug could not look for installed plugins: {error}")
        return
    load_installed_operators(groups)
    if wish != "none":
        register_device(wish, groups)


def load_installed_operators(groups: Callable[[str], EntryPoints]) -> None:
    """Defines the operators that installed plugins bring; warns of each that cannot be loaded."""
    from torchplug import _plugins

    for plugin in _plugins.operator_plugins(groups).values():
        try:
            load_operators(plugin.resolve())
        except Exception as error:  # noqa: BLE001 - see above
            warn(f"torchplug loaded no operators of '{plugin.name}': {error}")


def register_device(wish: str, groups: Callable[[str], EntryPoints]) -> None:
    """Registers the device that is wished for, or that is installed as the default."""
    from torchplug import _plugins

    name, plugin = "", None
    try:
        installed = {} if _plugins.is_path(wish) else _plugins.installed_plugins(groups)
        choice = _plugins.choose(wish, installed, _plugins.rival)
        if choice.warning:
            warn(choice.warning)
        plugin = choice.plugin
        if plugin is not None:
            name = use(plugin.name, plugin.resolve(), later=True)
    except Exception as error:  # noqa: BLE001 - see above
        warn(f"torchplug loaded no device: {error}")
        name = "" if plugin is None else plugin.name
    if name or plugin is None:  # else nobody knows what the plugin at that path would have read
        warn_of_unread(name, plugin)


def load(path: StrPath) -> str:
    """Loads the plugin at `path` as this process's device and returns the device's name."""
    name = use("", os.fspath(path))
    warn_of_unread(name, None)
    return name


def load_operators(path: StrPath) -> list[str]:
    """Loads the plugin at `path` for the operators of its own, and returns their names."""
    import torch  # noqa: F401 - _C needs its types

    from torchplug import _C, _fake_tensors

    _fake_tensors.install()
    return _C.load_operators(os.fspath(path))


def use(name: str, path: str, *, later: bool = False) -> str:
    """Registers the device. `later`: its kernels are registered at its first use; a plugin whose name is known is not
    even loaded before."""
    from torchplug import _device

    if name:
        _device.load_later(name, path)
    elif later:
        name = _device.load_path_later(path)
    else:
        name = _device.load(path)
    if os.environ.get("PL_TRAINER_ACCELERATOR") == name:
        from torchplug import lightning  # noqa: F401 - which has to know the accelerator it is to take
    form = _settings.read(_settings.LEDGER)
    if form not in ("", "0"):
        _print_ledger_at_exit(form)
    return name


@functools.cache
def _print_ledger_at_exit(form: str) -> None:
    import atexit

    from torchplug import time_ledger
    from torchplug.cli import coverage, ledger

    is_coverage = form.startswith("coverage")
    if is_coverage:
        time_ledger(True)
    shown = coverage.print_coverage if is_coverage else ledger.print_ledger
    atexit.register(shown, as_json=form.endswith("json"))


# ---- variables that nobody reads ----

_warned_of: set[str] = set()


def warn_of_unread(name: str, plugin: Plugin | None) -> None:
    """Warns of variables that neither torchplug nor the plugin of the device `name` reads, once of each.

    Those of plugins that are installed but not used are left alone: their packages would have to be imported.
    """
    names = [other for other in _settings.present() if other not in (_settings.DEVICE, *_warned_of)]
    if not names:
        return
    try:
        wrong = _unread(names, name, plugin)
    except Exception as error:  # noqa: BLE001 - as above
        warn(f"torchplug could not check the environment: {error}")
        return
    for variable, advice in wrong.items():
        _warned_of.add(variable)
        warn(f"Nothing reads the environment variable {variable}. {advice}")


def _unread(names: list[str], name: str, plugin: Plugin | None) -> dict[str, str]:
    own = [setting.name for setting in _settings.table()]
    if all(other in own for other in names):
        return {}
    from torchplug import _plugins

    options = dict.fromkeys(_plugins.all_plugins())
    if name:
        options[name] = None if plugin is None else plugin.options()
    return _settings.unread(names, own, options)


def warn(message: str) -> None:
    """A warning that does not stop the import of torch."""
    try:
        # No line of torchplug's is to blame, nor to be printed.
        warnings.warn_explicit(message, RuntimeWarning, "torchplug", 0)
    except RuntimeWarning:  # of python -W error
        print(f"RuntimeWarning: {message}", file=sys.stderr)
