"""Training on the device takes the CPU's path: the same loss at each of twenty steps."""

import functools

import pytest
import torch
from torch import nn
from torch.nn import functional as F

STEPS = 20


@pytest.fixture(autouse=True)
def one_thread():
    """At these sizes threads mostly wait for each other, and on a busy machine for long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class ResidualNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.batch_norm = nn.BatchNorm2d(8)
        self.left = nn.Conv2d(8, 8, 3, padding=1)
        self.group_norm = nn.GroupNorm(2, 8)
        self.right = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.batch_norm(self.stem(x)).relu()
        x = x + self.right(F.gelu(self.group_norm(self.left(x))))
        return self.head(F.adaptive_avg_pool2d(F.max_pool2d(x, 2), 1).flatten(1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norms[0](x)).view(batch, length, 3, 2, width // 2)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norms[1](x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.blocks(self.embedding(x)).mean(1))


class Recurrent(nn.Module):
    def __init__(self, cell, directions):
        super().__init__()
        self.rnn = cell(6, 8, num_layers=2, batch_first=True, bidirectional=directions == 2)
        self.head = nn.Linear(8 * directions, 5)

    def forward(self, x):
        return self.head(self.rnn(x)[0].mean(1))


# name: the network, and a batch for it
MODELS = {
    "residual": (ResidualNet, lambda: torch.randn(6, 3, 8, 8, dtype=torch.float64)),
    "encoder": (Encoder, lambda: torch.randn(6, 7, 16, dtype=torch.float64)),
    "decoder": (Decoder, lambda: torch.randint(0, 11, (6, 7))),
    "bidirectional_lstm": (
        lambda: Recurrent(nn.LSTM, 2),
        lambda: torch.randn(6, 5, 6, dtype=torch.float64),
    ),
    "gru": (lambda: Recurrent(nn.GRU, 1), lambda: torch.randn(6, 5, 6, dtype=torch.float64)),
}

OPTIMIZERS = {
    "sgd": functools.partial(torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=1e-3),
    "adam": functools.partial(torch.optim.Adam, lr=0.005),
    "adamw": functools.partial(torch.optim.AdamW, lr=0.005, weight_decay=0.05, amsgrad=True),
}

# Rounding grows over the steps; float64 leaves it no room to hide an error.
TOLERANCE = {
    torch.float32: {"rtol": 5e-4, "atol": 1e-5},
    torch.float64: {"rtol": 1e-9, "atol": 1e-11},
}


def losses_of_training(model_name, optimizer_name, dtype, device, **mode):
    """The loss before each step, and the network afterwards."""
    make_model, make_batch = MODELS[model_name]
    torch.manual_seed(3)
    network = make_model().to(device, dtype)
    batch, target = make_batch().to(device), torch.randint(0, 5, (6,)).to(device)
    if batch.is_floating_point():
        batch = batch.to(dtype)
    optimizer = OPTIMIZERS[optimizer_name](network.parameters(), **mode)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(batch), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), network


@functools.cache
def losses_on_the_cpu(model_name, optimizer_name, dtype):
    mode = {"foreach": False, "fused": False}
    losses, network = losses_of_training(model_name, optimizer_name, dtype, "cpu", **mode)
    assert losses[-1] < 0.9 * losses[0], "the network does not learn: it would show nothing"
    return losses, network


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_every_loss_is_the_cpus(device, model, optimizer, real_dtype):
    expected, _ = losses_on_the_cpu(model, optimizer, real_dtype)
    losses, _ = losses_of_training(model, optimizer, real_dtype, device)
    assert losses.device == device
    torch.testing.assert_close(losses.cpu(), expected, **TOLERANCE[real_dtype])


@pytest.mark.parametrize("mode", ["loop", "foreach", "fused"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_form_of_an_optimizer_takes_the_same_path(device, optimizer, mode, real_dtype):
    expected, _ = losses_on_the_cpu("decoder", optimizer, real_dtype)
    flags = {"foreach": mode == "foreach", "fused": mode == "fused"}
    losses, _ = losses_of_training("decoder", optimizer, real_dtype, device, **flags)
    torch.testing.assert_close(losses.cpu(), expected, **TOLERANCE[real_dtype])


@pytest.mark.parametrize("model", MODELS)
def test_the_trained_network_holds_the_cpus_parameters_and_buffers(device, model):
    _, reference = losses_on_the_cpu(model, "sgd", torch.float64)
    _, network = losses_of_training(model, "sgd", torch.float64, device)
    expected = reference.state_dict()
    for name, value in network.state_dict().items():
        assert value.device == device
        torch.testing.assert_close(value.cpu(), expected[name], rtol=1e-7, atol=1e-9, msg=name)


@pytest.mark.parametrize("model", MODELS)
def test_inference_after_training_is_the_cpus(device, model):
    _, reference = losses_on_the_cpu(model, "sgd", torch.float64)
    _, network = losses_of_training(model, "sgd", torch.float64, device)
    batch = MODELS[model][1]()
    with torch.no_grad():
        result = network.eval()(batch.to(device))
        expected = reference.eval()(batch)
    torch.testing.assert_close(result.cpu(), expected, rtol=1e-7, atol=1e-9)
    reference.train()


def test_gradient_accumulation_equals_one_large_batch(device):
    torch.manual_seed(0)
    network = nn.Linear(6, 4, dtype=torch.float64).to(device)
    x, y = torch.randn(8, 6, dtype=torch.float64), torch.randn(8, 4, dtype=torch.float64)
    F.mse_loss(network(x.to(device)), y.to(device)).backward()
    whole = network.weight.grad.clone()
    network.zero_grad()
    for part, target in zip(x.split(2), y.split(2), strict=True):
        (F.mse_loss(network(part.to(device)), target.to(device)) / 4).backward()
    torch.testing.assert_close(network.weight.grad.cpu(), whole.cpu())


def test_a_learning_rate_on_the_device_is_used(device):
    parameters = [nn.Parameter(torch.ones(3, device=device)) for _ in range(2)]
    rate = torch.tensor(0.5, device=device)
    optimizer = torch.optim.SGD(parameters, lr=rate, foreach=False)
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 2.0)
    optimizer.step()
    for parameter in parameters:
        assert parameter.tolist() == [0.0, 0.0, 0.0]
