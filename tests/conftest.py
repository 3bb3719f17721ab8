"""Which device the tests run on.

The device is the one torchplug gives (TORCHPLUG_DEVICE). TORCHPLUG_TEST_DEVICE=cpu puts the CPU in
its place, to check the tests themselves.
"""

import gc
import os
import random

import numpy
import pytest
import torch

import torchplug._C

RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
NAME = os.environ.get("TORCHPLUG_TEST_DEVICE") or torch._C._get_privateuse1_backend_name()


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "accelerator(reason, only=name): a promise the CPU standing in for the device does not "
        "make; with `only`, one that only the device of that name makes",
    )
    config.addinivalue_line(
        "markers",
        "pytorch(reason, since=(2, 13)): a test of what PyTorch has from that release on; the reason "
        "says what is otherwise before",
    )
    if NAME == "privateuseone":
        raise pytest.UsageError("there is no device: install torchplug, set TORCHPLUG_DEVICE")


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("accelerator"):
            reason = mark.args[0]
            only = mark.kwargs.get("only", NAME)
            if NAME == "cpu":
                item.add_marker(pytest.mark.skip(reason=f"the CPU stands in: {reason}"))
            elif only != NAME:
                item.add_marker(pytest.mark.skip(reason=f"a promise of {only} alone: {reason}"))
        for mark in item.iter_markers("pytorch"):
            since = mark.kwargs["since"]
            if since > RELEASE:
                name = ".".join(map(str, since))
                item.add_marker(pytest.mark.skip(reason=f"before PyTorch {name}: {mark.args[0]}"))


def pytest_collection_finish():
    # All that was imported stays to the end: what a test has collected need not be looked for among it.
    gc.collect()
    gc.freeze()


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


@pytest.fixture
def fresh_seeds():
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def no_error_left_behind(device):
    """An error that surfaces late belongs to the test that caused it, and so does what validate found."""
    yield
    if device.type != "cpu":
        for index in range(torch.accelerator.device_count()):
            torch.accelerator.synchronize(index)
        found = torchplug._C.validation_messages()
        torchplug._C.forget_validation_messages()
        assert not found
