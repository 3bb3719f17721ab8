"""A model, its data, and what training it in one process gives, in float64 on the CPU."""

import copy

import torch
from torch import nn

STEPS = 3
ROWS = 4  # of each rank


class Net(nn.Module):
    """Two layers, and a part that only some inputs use."""

    def __init__(self, features=16):
        super().__init__()
        self.first = nn.Linear(8, features)
        self.norm = nn.LayerNorm(features)
        self.second = nn.Linear(features, 4)
        self.extra = nn.Linear(features, 4)

    def forward(self, x, with_extra=True):
        x = self.norm(self.first(x)).relu()
        return self.second(x) + self.extra(x) if with_extra else self.second(x)


def model(**options):
    torch.manual_seed(7)
    return Net(**options).double()


def data(size):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(STEPS, ROWS * size, 8, generator=generator, dtype=torch.float64)
    y = torch.randn(STEPS, ROWS * size, 4, generator=generator, dtype=torch.float64)
    return x, y


def share(world, tensor):
    """The rows of a rank, on its device."""
    return tensor[:, world.rank * ROWS : (world.rank + 1) * ROWS].to(world.device)


def optimizer_of(parameters):
    return torch.optim.Adam(parameters, lr=0.05)


def train(net, x, y, make_optimizer=optimizer_of, **arguments):
    """Trains `net` in place and returns its losses."""
    optimizer = make_optimizer(net.parameters())
    losses = []
    for inputs, targets in zip(x, y, strict=True):
        optimizer.zero_grad()
        loss = (net(inputs, **arguments) - targets).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def trained(size, net=None, **arguments):
    """The state of the model after training in one process on everything."""
    net = model() if net is None else copy.deepcopy(net)
    train(net, *data(size), **arguments)
    return net.state_dict()


def assert_state(actual, expected, **tolerance):
    """Equal values, wherever the tensors are and however they are distributed."""
    assert actual.keys() == expected.keys()
    for name, value in actual.items():
        whole = value.full_tensor() if hasattr(value, "full_tensor") else value
        tolerance = tolerance or {"rtol": 1e-9, "atol": 1e-9}
        torch.testing.assert_close(
            whole.cpu().to(expected[name].dtype), expected[name], **tolerance
        )
