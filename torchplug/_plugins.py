"""The plugins that are installed, and which of them `import torch` uses.

A vendor's package announces its plugin in an entry point group: the name is the plugin's, the value is the
library's path, or a function that gives it. `torchplug.devices`: a device, used when it is asked for.
`torchplug.default_devices`: one that is used when nothing else is. `torchplug.operators`: operators of its own,
which are always there. Beside it the package may have a dictionary `options` of the environment variables that
the plugin reads, with what they mean.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import NamedTuple

from torchplug import _settings

DEVICES = "torchplug.devices"
DEFAULTS = "torchplug.default_devices"
OPERATORS = "torchplug.operators"
LAST_RESORT = "sim"


class Plugin(NamedTuple):
    """An installed plugin. Nothing of it is imported or loaded before `resolve` is called."""

    name: str
    """The device's name; "" for a plugin given by path, which tells its name when it is loaded."""
    distribution: str
    """The package that brought it."""
    version: str
    """That package's version."""
    resolve: Callable[[], str]
    """The path of the library. Raises RuntimeError with one sentence if its package cannot say."""
    options: Callable[[], Mapping[str, str] | None] = lambda: None
    """The environment variables it reads, with their meanings; None if its package does not say."""
    is_default: bool = False
    """Whether installing it says that its device is wanted."""


class Choice(NamedTuple):
    """The plugin that `import torch` uses, or None, and the rule that says so."""

    plugin: Plugin | None
    rule: str
    warning: str = ""


def announced() -> Callable[[str], EntryPoints]:
    """What the installed packages announce, by group. Reading it takes milliseconds."""
    every = entry_points()
    return lambda group: every.select(group=group)


def installed_plugins(
    read: Callable[[str], EntryPoints] | None = None,
) -> dict[str, Plugin]:
    """The device plugins by name, in the order of their names."""
    groups = read or announced()
    found = {entry_point.name: _announced(entry_point) for entry_point in groups(DEVICES)}
    for entry_point in groups(DEFAULTS):
        found[entry_point.name] = _announced(entry_point)._replace(is_default=True)
    return {name: found[name] for name in sorted(found)}


def operator_plugins(read: Callable[[str], EntryPoints] | None = None) -> dict[str, Plugin]:
    """The plugins that bring operators of their own, by name, in the order of their names."""
    groups = read or announced()
    found = {entry_point.name: _announced(entry_point) for entry_point in groups(OPERATORS)}
    return {name: found[name] for name in sorted(found)}


def all_plugins() -> dict[str, Plugin]:
    """Both; one that is a device and brings operators is there as the device."""
    groups = announced()
    return operator_plugins(groups) | installed_plugins(groups)


def plugin_at(path: str) -> Plugin:
    """The plugin in the library at `path`."""
    return Plugin("", "", "", lambda: path)


def is_path(wish: str) -> bool:
    """Whether a value of TORCHPLUG_DEVICE means a file rather than a device's name."""
    return os.sep in wish or wish.endswith(".so")


def find(wish: str, plugins: Mapping[str, Plugin]) -> Plugin:
    """The plugin that `wish` names or is the path of."""
    if is_path(wish):
        return plugin_at(wish)
    if wish not in plugins:
        raise RuntimeError(
            f"There is no device plugin named '{wish}'. Choose one of: {', '.join(plugins)}, "
            "the path of a plugin, or none."
        )
    return plugins[wish]


def choose(wish: str, plugins: Mapping[str, Plugin], rival: Callable[[bool], str]) -> Choice:
    """What TORCHPLUG_DEVICE=`wish` means; "" is no wish.

    `rival(before)` names what else is this process's accelerator. With `before` also another backend that
    has yet to be loaded counts, which a device nobody asked for must not keep from registering.
    """
    if wish == "none":
        return Choice(None, "TORCHPLUG_DEVICE is none")
    if wish:
        rule = "a path" if is_path(wish) else "a name"
        return Choice(find(wish, plugins), f"TORCHPLUG_DEVICE is {rule}")
    defaults = [plugin for plugin in plugins.values() if plugin.is_default]
    other = rival(not defaults)
    if other:
        return Choice(None, f"{other} is available, and TORCHPLUG_DEVICE is not set")
    if len(defaults) > 1:
        names = ", ".join(plugin.name for plugin in defaults)
        return Choice(
            defaults[0],
            "it is the first by name of the devices that are announced as defaults",
            f"torchplug uses the device '{defaults[0].name}', the first of those installed as defaults: "
            f"{names}. Set TORCHPLUG_DEVICE to one of them.",
        )
    if defaults:
        return Choice(defaults[0], "its package announces it as the default device")
    if LAST_RESORT in plugins:
        return Choice(plugins[LAST_RESORT], "no package announces a default device")
    if plugins:
        return Choice(
            None, "no package announces a default device, and TORCHPLUG_DEVICE is not set"
        )
    return Choice(None, "no plugin is installed")


def rival(before: bool) -> str:
    """For `choose`: the accelerator that PyTorch has without torchplug, or ""."""
    import torch

    accelerator = torch.accelerator.current_accelerator()
    if accelerator is not None and not (accelerator.type == "cuda" and _lacks_driver()):
        return f"PyTorch's accelerator '{accelerator.type}'"
    if before:
        for entry_point in entry_points(group="torch.backends"):
            if entry_point.name != "torchplug":
                return f"the PyTorch backend '{entry_point.name}'"
    return ""


def _lacks_driver() -> bool:
    """Whether this PyTorch is built for NVIDIA's GPUs, as most are, on a machine that cannot have one.

    PyTorch's own ways to count them start a thread, or make a later fork() useless.
    """
    import ctypes

    import torch

    if torch.version.cuda is None:
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return True
    return False


def _announced(entry_point: EntryPoint) -> Plugin:
    distribution = entry_point.dist
    package = "an unknown package" if distribution is None else distribution.name
    version = "" if distribution is None else distribution.version

    def resolve() -> str:
        if not _is_device_name(entry_point.name):
            raise RuntimeError(
                f"{package} announces a device called '{entry_point.name}'. A device name is "
                "lower-case letters, digits and '_', beginning with a letter."
            )
        try:
            value = entry_point.load()
            path: str = os.fspath(value() if callable(value) else value)
            return path
        except (Exception, SystemExit) as error:
            raise RuntimeError(
                f"The entry point '{entry_point.name}' of {package} {version} fails: "
                f"{type(error).__name__}: {error}"
            ) from error

    def options() -> Mapping[str, str] | None:
        try:
            listed = getattr(import_module(entry_point.module), "options", None)
        except (Exception, SystemExit):  # noqa: BLE001 - resolve() tells it
            return None
        if listed is None or _are_options(listed, entry_point.name):
            return listed
        raise RuntimeError(
            f"{package} {version} lists the options of its plugin '{entry_point.name}' as {listed!r}. "
            f"Give a dictionary of what begins with {_settings.prefix_of(entry_point.name)} and what it means."
        )

    return Plugin(entry_point.name, package, version, resolve, options)


def _are_options(listed: object, plugin: str) -> bool:
    return isinstance(listed, Mapping) and all(
        isinstance(name, str) and name.startswith(_settings.prefix_of(plugin)) for name in listed
    )


def _is_device_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name.islower() and name[0] != "_"
