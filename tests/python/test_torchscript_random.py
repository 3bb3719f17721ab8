"""Random programs with TorchScript groups: they give, write and share what they do without groups."""

import itertools
import os
from random import Random

import pytest
import torch
from helpers import assert_same
from random_scripts import Program
from scripting import group_count, scripted

from torchplug import torchscript

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]
COUNT = 400 if os.environ.get("TORCHPLUG_TEST_SWEEP") == "all" else 12
CALLS = 5


def outcome(function, given):
    """What a call gives; nothing if it fails, which programs may that are drawn at random."""
    try:
        return function(*given)
    except RuntimeError:
        return None


def shared(tensors):
    return [torch._C._is_alias_of(a, b) for a, b in itertools.combinations(tensors, 2)]


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_program_is_as_without_groups(device, seed):
    text = Program(seed).text()
    draw = Random(seed)
    function, reference = scripted(text), scripted(text)
    for _ in range(CALLS):
        x, y, n = torch.randn(3, 3), torch.randn(3, 3), draw.randint(0, 3)
        there, here = [x.to(device), y.to(device)], [x.to(device), y.to(device)]
        expected = outcome(reference, (*here, n))
        torchscript.enable()
        try:
            actual = outcome(function, (*there, n))
        finally:
            torchscript.disable()
        assert (actual is None) == (expected is None), text
        if expected is None:
            continue
        try:
            assert_same((*actual, *there), (*expected, *here), rtol=1e-4, atol=1e-4)
        except AssertionError as error:
            raise AssertionError(text) from error
        assert shared([*actual, *there]) == shared([*expected, *here]), text


def test_random_programs_have_groups(device):
    found = 0
    for seed in range(8):
        function = scripted(Program(seed).text())
        torchscript.enable()
        try:
            for _ in range(3):
                outcome(function, (torch.randn(3, 3).to(device), torch.randn(3, 3).to(device), 1))
        finally:
            torchscript.disable()
        found += group_count() > 0
    assert found > 4
