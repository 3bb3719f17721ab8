"""Scripts that start as PyTorch's documentation says, and what `import torch` costs for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import LIMIT

pytestmark = pytest.mark.accelerator("the scripts are the same on every device", only="sim")

SCRIPTS = Path(__file__).resolve().parent / "scripts"
QUIET = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def run(*command, **environment):
    """What a command that must end well prints."""
    return completed(*command, **environment).stdout


def completed(*command, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, **QUIET, **environment},
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def test_torchrun():
    printed = run(*TORCHRUN, SCRIPTS / "torchrun_script.py")
    for rank in range(2):
        assert f"rank {rank} of 2 has trained" in printed


def test_the_documented_start_trains_without_a_warning():
    done = completed(*TORCHRUN, SCRIPTS / "quiet_script.py")
    for rank in range(2):
        assert f"rank {rank} of 2 has trained quietly" in done.stdout
    assert "warn" not in done.stderr.lower()


def test_spawned_processes(tmp_path):
    printed = run(SCRIPTS / "spawn_script.py", SPAWN_DIRECTORY=str(tmp_path))
    for rank in range(2):
        assert f"rank {rank} of 2 has added on torchplug" in printed


def test_importing_torch_imports_no_more_of_torch_distributed_than_without_a_device():
    code = "import sys, torch; print(*(m for m in sorted(sys.modules) if 'torch.distributed' in m))"
    assert run("-c", code) == run("-c", code, TORCHPLUG_DEVICE="none")
