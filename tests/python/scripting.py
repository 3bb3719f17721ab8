"""What tests of TorchScript groups share: functions that PyTorch has optimised, and what has become of their groups."""

import copy
import warnings

import torch
from helpers import assert_same, on
from torch import nn
from torch.nn import functional as F

from torchplug import torchscript

CALLS = 4  # PyTorch looks at the first, optimises at the second, where groups are recorded, and runs engines at the third


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(F.gelu(self.norm(self.first(x))) * 2.0) + 1.0


def x(*shape):
    return torch.randn(*shape)


def scripted(source):
    """The function f of a text."""
    return torch.jit.CompilationUnit(source + "\n").f


def script(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(model)


def trace(model, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(model, given, **options)


def frozen(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.freeze(script(model).eval())


def as_eager(function, reference, device, *given, calls=CALLS, **tolerance):
    """Each call gives what the reference gives on the CPU, and does the same to what it is given."""
    for _ in range(calls):
        here, there = copy.deepcopy(on("cpu", given)), on(device, given)
        expected, actual = reference(*here), function(*there)
        assert_same(actual, expected, **tolerance)
        assert_same(list(there), list(here), **tolerance)


def graph_of_last():
    return str(torch.jit.last_executed_optimized_graph())


def group_count():
    """In the function that ran last."""
    name = torch._C._get_privateuse1_backend_name()
    return graph_of_last().split("with ")[0].count(f"{name}::CompilationGroup")


def engine_runs():
    return sum(group.engine_runs for group in torchscript.report())
