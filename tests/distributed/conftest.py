"""The groups of processes that the checks run on; they live as long as the test session."""

import os
import sys

import pytest
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from ranks import Ranks

NAME = torch._C._get_privateuse1_backend_name()


@pytest.fixture(scope="session", params=[2, 4], ids=["2 ranks", "4 ranks"])
def ranks(request):
    """Processes in a group with backends for CPU tensors and for the device's."""
    group = Ranks(request.param, NAME, f"cpu:gloo,{NAME}:torchplug")
    yield group
    group.end()
