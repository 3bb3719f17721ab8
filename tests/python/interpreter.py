"""Fresh interpreters for the tests, and the plugins that they load."""

import os
import re
import subprocess
import sys
from pathlib import Path

import warm_interpreter

from torchplug import _plugins

TIMEOUT = 120  # seconds
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


def run(code, choice=None, *flags, path=None, cwd=None, fresh=False, **environment):
    """Runs code in an interpreter of its own; returns its standard output and standard error.

    `fresh`: `import torch` is done there too. Otherwise all that comes after PyTorch itself, if the code begins with it.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPLUG_")} | environment
    env["PYTHONPATH"] = search_path(path)
    if choice is not None:
        env["TORCHPLUG_DEVICE"] = str(choice)
    begins_with_torch = re.match(r"\s*import torch\b", code)
    if fresh or flags or not begins_with_torch or warm_interpreter.is_too_late_for(environment):
        result = subprocess.run(
            [sys.executable, *flags, "-c", code],
            check=False,
            env=env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    else:
        result = warm_interpreter.run(code, [], env, TIMEOUT, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), result.stderr
