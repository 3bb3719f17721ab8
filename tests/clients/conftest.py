"""What the client libraries need to be there, and the state each test starts from."""

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent

sys.path[:0] = [str(HERE), str(HERE / "scripts")]
# Nothing is asked of the network, whatever the libraries would like to know of it.
os.environ["HF_HUB_OFFLINE"] = "1"
# Set by what runs a script, in processes.py.
for variable in ("ACCELERATE_TORCH_DEVICE", "PL_TRAINER_ACCELERATOR"):
    os.environ.pop(variable, None)


def missing_clients():
    """The libraries of requirements.txt that are not installed."""
    names = re.findall(r"^(\w+)==", (HERE / "requirements.txt").read_text(), re.MULTILINE)
    return [name for name in names if importlib.util.find_spec(name) is None]


def pytest_pycollect_makemodule(module_path, parent):
    if missing := missing_clients():
        raise pytest.Collector.CollectError(
            f"{module_path.name} needs client libraries that are not installed: {', '.join(missing)}. "
            f"Run: pip install -r {HERE / 'requirements.txt'}"
        )


@pytest.fixture(autouse=True)
def one_thread():
    """At these sizes threads mostly wait for each other, and on a busy machine for long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def clean_state(fresh_seeds, no_error_left_behind):
    """Every test here begins with the same seeds and answers for its own errors."""


@pytest.fixture
def mixed_precision(device):
    """For tests of autocast, which not every device has in half precision."""
    if device.type != "cpu":
        dtypes = torch.get_device_module(device).get_amp_supported_dtype()
        if not {torch.bfloat16, torch.float16} <= {*dtypes}:
            pytest.skip(f"{device.type} has no mixed precision")
