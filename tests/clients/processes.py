"""What knows of no device, run on one: as a user runs it, in a process of its own, or in this one, which is quicker."""

import contextlib
import importlib
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from accelerate.state import AcceleratorState

SCRIPTS = Path(__file__).parent / "scripts"
TIMEOUT = 300  # seconds until a child process is taken to hang


def run_script(device, script, *arguments):
    """Runs a script on a device in a process of its own, to its end."""
    run = ["-m", "torchplug", "run", "--device", device.type]
    if device.type == "cpu":
        run = []
    done = subprocess.run(
        [sys.executable, *run, str(SCRIPTS / script), *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run_script_here(device, script, *arguments, **environment):
    """Runs a script of accelerate's kind on a device in this process."""
    with accelerate_on(device, **environment):
        importlib.import_module(script.removesuffix(".py")).main([*map(str, arguments)])


@contextlib.contextmanager
def accelerate_on(device, **environment):
    """As if the process had been started with ACCELERATE_TORCH_DEVICE=device; accelerate asks only once."""
    AcceleratorState._reset_state(reset_partial_state=True)
    try:
        with mock.patch.dict(os.environ, ACCELERATE_TORCH_DEVICE=str(device), **environment):
            yield
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
