"""Fresh interpreters for the tests, and the plugins that they load."""

import os
import subprocess
import sys
from pathlib import Path

from torchplug import _plugins

PLUGINS = _plugins.installed_plugins()
HELLO, SIM = PLUGINS["hello"].resolve(), PLUGINS["sim"].resolve()

NAME = "import torch; print(torch._C._get_privateuse1_backend_name())"
"""Prints the name of the device."""
UNTOUCHED = """
assert torch._C._get_privateuse1_backend_name() == "privateuseone"
assert torch._C._get_accelerator().type != "privateuseone"
"""
"""Fails if a device was registered."""


def search_path(path=None):
    """PYTHONPATH of a process in which devices are chosen as on a machine without a GPU."""
    folders = [path, Path(__file__).resolve().parent / "alone"]
    return os.pathsep.join(str(folder) for folder in folders if folder is not None)


def run(code, choice=None, *flags, path=None, **environment):
    """Runs code in a fresh interpreter; returns its standard output and standard error."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPLUG_")} | environment
    env["PYTHONPATH"] = search_path(path)
    if choice is not None:
        env["TORCHPLUG_DEVICE"] = choice
    result = subprocess.run(
        [sys.executable, *flags, "-c", code],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), result.stderr
