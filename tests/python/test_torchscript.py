"""TorchScript, scripted and traced, gives on the device what eager mode gives on the CPU, at every call.

A scripted function is profiled, then optimised: the third call is not the first.
"""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_same, capture, on
from torch import Tensor, nn

CALLS = 4

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


def same_each_time(device, made, eager, *args, **tolerance):
    """made(*args) on the device gives what eager(*args) gives on the CPU, and so does to its arguments."""
    for _ in range(CALLS):
        here, there = on("cpu", args), on(device, args)
        assert_same(made(*there), eager(*here), **tolerance)
        assert_same(there, here, **tolerance)


def take(x: Tensor, i: Tensor) -> Tensor:
    return x[i]


def take_column(x: Tensor, i: Tensor) -> Tensor:
    return x[:, i]


def take_two(x: Tensor, i: Tensor) -> Tensor:
    return x[i, None, i]


def take_mask(x: Tensor) -> Tensor:
    return x[x > 0]


def clear_mask(x: Tensor) -> Tensor:
    x[x > 0] = 0.0
    return x


def put(x: Tensor, i: Tensor) -> Tensor:
    x[i] = x[i] + 1
    return x


def accumulate(x: Tensor, i: Tensor) -> Tensor:
    return torch.index_put(x, [i], torch.ones(1, device=x.device), accumulate=True)


INDEXING = {
    "a row": (take, True),
    "a column": (take_column, True),
    "two dimensions": (take_two, True),
    "a mask": (take_mask, False),
    "assignment by a mask": (clear_mask, False),
    "assignment by indices": (put, True),
    "index_put": (accumulate, True),
}


@pytest.mark.parametrize("how", [torch.jit.script, torch.jit.trace], ids=["script", "trace"])
@pytest.mark.parametrize("name", INDEXING)
def test_indexing_with_a_tensor_is_the_cpus_at_every_call(device, how, name):
    fn, with_indices = INDEXING[name]
    args = (torch.randn(4, 4), torch.tensor([2, 0, 3])) if with_indices else (torch.randn(4, 4),)
    made = how(fn) if how is torch.jit.script else how(fn, on(device, args))
    same_each_time(device, made, fn, *args)


def test_indices_on_the_host_index_a_device_tensor(device):
    made = torch.jit.script(take)
    x, i = torch.randn(4, 4), torch.tensor([2, 0, 3])
    for _ in range(CALLS):
        assert_same(made(x.to(device), i), x[i])


def convolve(x: Tensor, w: Tensor) -> Tensor:
    return F.conv2d(x, w, padding=1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.weight(x).unflatten(-1, (3, 2, 4)).transpose(1, 3).unbind(2)
        return F.scaled_dot_product_attention(q, k, v)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells = kind(8, 5, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTMCell(8, 5), nn.GRUCell(8, 5)

    def forward(self, x):
        return self.lstm(x[0])[0] + self.gru(x[1])


class Dropout(nn.Module):
    """Of everything or nothing: what is left does not depend on chance."""

    def __init__(self):
        super().__init__()
        self.none, self.all = nn.Dropout(0.0), nn.Dropout(1.0)

    def forward(self, x):
        return self.none(x) + self.all(x)


SEQUENCE, IMAGE, WORDS = (2, 6, 8), (2, 4, 6, 6), None
MODULES = {
    "conv1d": (lambda: nn.Conv1d(6, 3, 3), SEQUENCE),
    "conv2d": (lambda: nn.Conv2d(4, 3, 3, padding=1), IMAGE),
    "conv2d with groups": (lambda: nn.Conv2d(4, 4, 3, groups=4, dilation=2), IMAGE),
    "conv2d without a bias": (lambda: nn.Conv2d(4, 3, 3, bias=False), IMAGE),
    "conv2d, padding same": (lambda: nn.Conv2d(4, 3, 3, padding="same"), IMAGE),
    "conv3d": (lambda: nn.Conv3d(4, 3, 2), (1, 4, 3, 4, 4)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(4, 3, 3, stride=2), IMAGE),
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), IMAGE),
    "group norm": (lambda: nn.GroupNorm(2, 4), IMAGE),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), IMAGE),
    "layer norm": (lambda: nn.LayerNorm(8), SEQUENCE),
    "linear": (lambda: nn.Sequential(nn.Linear(8, 4), nn.GELU()), SEQUENCE),
    "lstm": (lambda: Recurrent(nn.LSTM), SEQUENCE),
    "gru": (lambda: Recurrent(nn.GRU), SEQUENCE),
    "rnn": (lambda: Recurrent(nn.RNN), SEQUENCE),
    "cells": (Cell, SEQUENCE),
    "attention": (Attention, SEQUENCE),
    "encoder layer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
        SEQUENCE,
    ),
    "dropout": (Dropout, SEQUENCE),
    "max pooling": (lambda: nn.MaxPool2d(2), IMAGE),
    "embedding": (lambda: nn.Embedding(10, 4), WORDS),
    "embedding bag": (lambda: nn.EmbeddingBag(10, 4), WORDS),
}


def outcome_of(module, x, train):
    """The result of a call, and the gradients of the parameters and of the input."""
    module.train(train)
    module.zero_grad()
    if x.is_floating_point():
        x = x.detach().requires_grad_()
    result = module(x)
    result.square().sum().backward()
    gradients = [p.grad.clone() for p in module.parameters()]
    return [result.detach(), *gradients, *([x.grad] if x.is_floating_point() else [])]


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", MODULES)
def test_modules_made_on_the_device_give_the_cpus_results_and_gradients(device, name, train, how):
    make, shape = MODULES[name]
    eager = make()
    x = torch.randint(10, (2, 5)) if shape is None else torch.randn(shape)
    there = make()
    there.load_state_dict(eager.state_dict())
    there.to(device).train(train)
    if how == "script":
        made = torch.jit.script(there)
    else:
        # The check runs without gradients, where an encoder layer takes another way.
        made = torch.jit.trace(there, x.to(device), check_trace=name != "encoder layer")
    for _ in range(CALLS):
        there.load_state_dict(eager.state_dict())  # running statistics, which tracing has moved
        eager_copy = make()
        eager_copy.load_state_dict(eager.state_dict())
        expected = outcome_of(eager_copy, x, train)
        actual = outcome_of(made, x.to(device), train)
        assert_same(actual, expected, rtol=1e-4, atol=1e-5)


def test_a_traced_graph_holds_the_convolution_it_would_hold_on_the_cpu(device):
    x, w = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 3, 3)
    kinds = [
        [node.kind() for node in torch.jit.trace(convolve, on(where, (x, w))).graph.nodes()]
        for where in ("cpu", device)
    ]
    assert "aten::_convolution" in kinds[1] and kinds[1] == kinds[0]


def test_indexing_in_a_capture_reads_what_is_there_at_the_replay(device, module):
    made = torch.jit.script(take)
    x, i = torch.randn(4, 4, device=device), torch.tensor([2, 0], device=device)
    for _ in range(CALLS):
        made(x, i)
    graph, result = capture(module, lambda: made(x, i))
    i.copy_(torch.tensor([3, 1]))
    module.synchronize()
    graph.replay()
    assert_same(result, x.cpu()[[3, 1]])
