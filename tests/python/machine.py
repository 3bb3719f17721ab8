"""What this machine has, for tests of torchplug.cpu and of `torchplug run`."""

import os

import pytest

from torchplug.cpu import _cores

CORES = sorted(os.sched_getaffinity(0))
NO_SUCH = max(_cores.existing()) + 1

several_cores = pytest.mark.skipif(len(CORES) < 2, reason="this process may use one core")
commands = pytest.mark.accelerator("commands choose their devices, so once is enough", only="sim")


def words(error):
    """What was raised, which is one sentence or two in one line."""
    text = str(error.value)
    assert "\n" not in text and text.endswith(".")
    return text
