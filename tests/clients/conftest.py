"""Which device the client libraries run on, and the state each test starts from.

The device is the one torchplug gives (TORCHPLUG_DEVICE). TORCHPLUG_TEST_DEVICE=cpu puts the CPU in
its place, to check the tests themselves.
"""

import importlib.util
import os
import random
import re
import sys
from pathlib import Path

import numpy
import pytest
import torch

HERE = Path(__file__).parent
NAME = os.environ.get("TORCHPLUG_TEST_DEVICE") or torch._C._get_privateuse1_backend_name()

sys.path[:0] = [str(HERE), str(HERE / "scripts")]
# Nothing is asked of the network, whatever the libraries would like to know of it.
os.environ["HF_HUB_OFFLINE"] = "1"
# Set for each script, by processes.command.
os.environ.pop("ACCELERATE_TORCH_DEVICE", None)


def missing_clients():
    """The libraries of requirements.txt that are not installed."""
    names = re.findall(r"^(\w+)==", (HERE / "requirements.txt").read_text(), re.MULTILINE)
    return [name for name in names if importlib.util.find_spec(name) is None]


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "accelerator(reason, only=name): a promise the CPU standing in for the device does not "
        "make; with `only`, one that only the device of that name makes",
    )
    if NAME == "privateuseone":
        raise pytest.UsageError("there is no device: install torchplug, set TORCHPLUG_DEVICE")


def pytest_pycollect_makemodule(module_path, parent):
    if missing := missing_clients():
        raise pytest.Collector.CollectError(
            f"{module_path.name} needs client libraries that are not installed: {', '.join(missing)}. "
            f"Run: pip install -r {HERE / 'requirements.txt'}"
        )


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE not in item.path.parents:
            continue
        for mark in item.iter_markers("accelerator"):
            only = mark.kwargs.get("only", NAME)
            if NAME == "cpu":
                item.add_marker(pytest.mark.skip(reason=f"the CPU stands in: {mark.args[0]}"))
            elif only != NAME:
                reason = f"a promise of {only} alone: {mark.args[0]}"
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def device():
    """The device under test: tensor.device of everything made on it."""
    return torch.device(NAME) if NAME == "cpu" else torch.device(NAME, 0)


@pytest.fixture(scope="session")
def other_device(device):
    """A second device of the same kind."""
    if device.type == "cpu" or torch.accelerator.device_count() < 2:
        pytest.skip(f"{device.type} has one device")
    return torch.device(device.type, 1)


@pytest.fixture(scope="session")
def module(device):
    """torch.<device>"""
    return torch.get_device_module(device)


@pytest.fixture(autouse=True)
def fresh_seeds():
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def one_thread():
    """At these sizes threads mostly wait for each other, and on a busy machine for long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_error_left_behind(device):
    """An error that surfaces late belongs to the test that caused it."""
    yield
    if device.type != "cpu":
        for index in range(torch.accelerator.device_count()):
            torch.accelerator.synchronize(index)
