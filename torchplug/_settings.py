"""The environment variables of torchplug and of its plugins, and those that nobody reads.

The core's table (src/base/settings.h) has every variable that torchplug reads, in C++ or in Python. What begins with
TORCHPLUG_<NAME>_ belongs to the plugin of that name; its package can list what there is (`_plugins.Plugin.options`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

PREFIX = "TORCHPLUG_"
OF_TESTS = f"{PREFIX}TEST_"
"""What torchplug's own tests are told, which nobody else needs to know."""
DEVICE = "TORCHPLUG_DEVICE"
LEDGER = "TORCHPLUG_LEDGER"
CACHE_DIR = "TORCHPLUG_CACHE_DIR"


class Setting(NamedTuple):
    """A row of the table."""

    name: str
    values: str
    """What it may be, with | between; of a text, for example."""
    choices: tuple[str, ...]
    """The values, if there are no others."""
    default: str
    meaning: str
    reader: str
    """The file that reads it."""


def table() -> list[Setting]:
    """Every variable that torchplug reads. Needs the core, but no device."""
    from torchplug import _C

    return [Setting(**row) for row in _C.settings()]


def read(name: str) -> str:
    """The value of a variable that Python reads; "" if it is not set."""
    return os.environ.get(name, "")


def prefix_of(plugin: str) -> str:
    """What the variables of a plugin begin with."""
    return f"{PREFIX}{plugin.upper()}_"


def owner_of(name: str, plugins: Iterable[str]) -> str:
    """The plugin that a variable belongs to, or "". Of `a` and `a_b`, TORCHPLUG_A_B_C belongs to the second."""
    owners = [plugin for plugin in plugins if name.startswith(prefix_of(plugin))]
    return max(owners, key=len, default="")


def present() -> list[str]:
    """The variables in the environment, those of tests aside."""
    return sorted(
        name for name in os.environ if name.startswith(PREFIX) and not name.startswith(OF_TESTS)
    )


def advice(name: str, known: Iterable[str]) -> str:
    """What to do about a variable that nobody reads."""
    import difflib  # which the import of torch does without

    ends = {other.removeprefix(PREFIX): other for other in known}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), ends, 1)
    return f"Did you mean {ends[near[0]]}?" if near else "`torchplug doctor` lists those there are."


def unread(
    names: Iterable[str], known: Iterable[str], options: Mapping[str, Mapping[str, str] | None]
) -> dict[str, str]:
    """The variables that nobody reads, with the advice for each.

    `known` are torchplug's own, `options` those of the plugins by name, or None for a plugin that has not said
    what it reads: that can be anything.
    """
    own = list(known)
    listed = [option for names in options.values() for option in names or ()]
    wrong = {}
    for name in names:
        mine = options.get(owner_of(name, options), {})
        if name not in own and mine is not None and name not in mine:
            wrong[name] = advice(name, mine if owner_of(name, options) else [*own, *listed])
    return wrong
