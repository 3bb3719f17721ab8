"""Scripts that know no device, run in a process that has one."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import torch

SCRIPTS = Path(__file__).parent / "scripts"
TIMEOUT = 300  # seconds until a child process is taken to hang


def command(device, script):
    """How a user runs an unchanged script on a device, and the environment that takes."""
    device = torch.device(device)
    if device.type == "cpu":
        return [sys.executable, str(script)], {"ACCELERATE_TORCH_DEVICE": "cpu"}
    run = [sys.executable, "-m", "torchplug", "run"]
    if device.index:
        # Not the first one: `run` leaves alone what the user has said.
        chosen = {"TORCHPLUG_DEVICE": device.type, "ACCELERATE_TORCH_DEVICE": str(device)}
        return [*run, str(script)], chosen
    return [*run, "--device", device.type, str(script)], {}


def run_script(device, script, *arguments, **environment):
    """Runs a script on a device in a process of its own, to its end."""
    line, variables = command(device, SCRIPTS / script)
    done = subprocess.run(
        [*line, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run_script_on_the_cpu(script, *arguments):
    """Runs a script on the CPU, in this process: starting one takes longer than the script."""
    with mock.patch.dict(os.environ, ACCELERATE_TORCH_DEVICE="cpu"):
        importlib.import_module(script.removesuffix(".py")).main([*map(str, arguments)])
