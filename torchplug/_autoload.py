"""What `import torch` does: registers the device of the plugin that is chosen."""

from __future__ import annotations

import os
import sys
import warnings


def autoload() -> None:
    """Never raises, whatever is wrong with a plugin or a setting: `import torch` must not fail."""
    try:
        from torchplug import _plugins

        wish = os.environ.get("TORCHPLUG_DEVICE", "")
        if wish == "none":
            return
        # A path needs no search through the installed packages.
        installed = {} if _plugins.is_path(wish) else _plugins.installed_plugins()
        choice = _plugins.choose(wish, installed, _plugins.rival)
        if choice.warning:
            _warn(choice.warning)
        if choice.plugin is not None:
            use(choice.plugin.name, choice.plugin.resolve())
    except Exception as error:  # noqa: BLE001 - see above
        _warn(f"torchplug loaded no device: {error}")


def use(name: str, path: str) -> None:
    """Registers the device; a plugin whose name is known is loaded at the device's first use."""
    from torchplug import _device

    if name:
        _device.load_later(name, path)
    else:
        name = _device.load(path)
    if os.environ.get("PL_TRAINER_ACCELERATOR") == name:
        from torchplug import lightning  # noqa: F401 - which has to know the accelerator it is to take
    form = os.environ.get("TORCHPLUG_LEDGER", "0")
    if form not in ("", "0"):
        import atexit

        atexit.register(_print_ledger, as_json=form == "json")


def _print_ledger(as_json: bool) -> None:
    from torchplug.cli import ledger

    ledger.print_ledger(as_json=as_json)


def _warn(message: str) -> None:
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:  # of python -W error
        print(f"RuntimeWarning: {message}", file=sys.stderr)
