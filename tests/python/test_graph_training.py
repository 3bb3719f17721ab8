"""Training by graphs: a captured step is the eager one, and callables whose forward and backward are graphs."""

import copy
import inspect

import pytest
import torch
from helpers import assert_equal, on_capture_stream
from torch import nn
from torch.nn import functional as F

pytestmark = [
    pytest.mark.accelerator("the CPU captures nothing"),
    pytest.mark.usefixtures("nothing_left_behind"),
]


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)
    )


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Linear(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.3, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x).unsqueeze(1)).squeeze(1))


OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, capturable=True),
    "adam_foreach": lambda p: torch.optim.Adam(p, lr=1e-2, capturable=True, foreach=True),
    "adam_fused": lambda p: torch.optim.Adam(p, lr=1e-2, capturable=True, fused=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, foreach=False),
    "sgd_foreach": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, foreach=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, fused=True),
}


class Trainer:
    """A model and its optimizer on static inputs."""

    def __init__(self, device, model, optimizer):
        self.model = model.to(device)
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.x, self.y = torch.zeros(5, 8, device=device), torch.zeros(5, 4, device=device)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        return self.captured_step()

    def captured_step(self):
        loss = F.mse_loss(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def feed(self, batch):
        self.x.copy_(batch[0])
        self.y.copy_(batch[1])


def batches(count):
    generator = torch.Generator().manual_seed(7)
    return [
        (torch.randn(5, 8, generator=generator), torch.randn(5, 4, generator=generator))
        for _ in range(count)
    ]


def captured_training(module, trainer, warm_up, seed):
    """Trains on the first batches eagerly, then captures a step."""
    module.manual_seed(seed)

    def warm():
        for batch in warm_up:
            trainer.feed(batch)
            trainer.step()

    on_capture_stream(module, warm)
    graph = module.Graph()
    trainer.optimizer.zero_grad(set_to_none=True)
    with module.graph(graph):
        loss = trainer.captured_step()
    return graph, loss


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", [mlp, Transformer])
def test_a_captured_training_step_is_the_eager_one_bit_for_bit(device, module, model, optimizer):
    data = batches(13)
    eager, trained = (Trainer(device, model(), optimizer) for _ in range(2))
    graph, loss = captured_training(module, trained, data[:3], seed=4)
    losses = []
    for batch in data[3:]:
        trained.feed(batch)
        graph.replay()
        losses.append(loss.detach().cpu().clone())

    module.manual_seed(4)
    for batch in data[:3]:
        eager.feed(batch)
        eager.step()
    for batch, expected in zip(data[3:], losses, strict=True):
        eager.feed(batch)
        assert_equal(expected, eager.step().detach())
    assert_equal(trained.model.state_dict(), eager.model.state_dict())
    assert len({loss.item() for loss in losses}) == 10


def test_a_step_that_counts_on_the_host_is_refused(device, module):
    weight = torch.ones(4, device=device, requires_grad=True)
    weight.grad = torch.ones(4, device=device)
    for kind in (torch.optim.Adam, torch.optim.RMSprop, torch.optim.NAdam):
        optimizer = kind([weight])
        on_capture_stream(module, optimizer.step)
        with (
            pytest.raises(RuntimeError, match=rf"{kind.__name__} cannot.*capturable=True"),
            module.graph(module.Graph()),
        ):
            optimizer.step()


def test_the_check_of_optimizers_is_still_needed():
    """Fails when PyTorch's own is no longer for its own devices only."""
    names = ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check")
    check = next(
        getattr(torch.optim.Optimizer, name)
        for name in names
        if hasattr(torch.optim.Optimizer, name)
    )
    source = inspect.getsource(check)
    assert "torch.cuda.is_available()" in source or '{"cuda", "xpu"}' in source


def test_the_whole_network_as_the_cuda_docs_capture_it(device, module):
    """torch.cuda.graphs' first example, with the device's name."""
    model, optimizer_of = mlp().to(device), OPTIMIZERS["sgd"]
    optimizer = optimizer_of(model.parameters())
    loss_fn = nn.MSELoss()
    static_input = torch.randn(5, 8, device=device)
    static_target = torch.randn(5, 4, device=device)
    reference = copy.deepcopy(model)

    def warm_up():
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(static_input), static_target).backward()
        optimizer.step()

    on_capture_stream(module, warm_up, times=3)
    g = module.Graph()
    optimizer.zero_grad(set_to_none=True)
    with module.graph(g):
        static_y_pred = model(static_input)
        static_loss = loss_fn(static_y_pred, static_target)
        static_loss.backward()
        optimizer.step()
    for x, y in batches(10):
        static_input.copy_(x)
        static_target.copy_(y)
        g.replay()
    assert torch.isfinite(static_loss).item()
    assert not torch.equal(model[0].weight.cpu(), reference[0].weight.cpu())


def test_gradients_made_in_a_capture_are_written_anew_at_each_replay(device, module):
    weight = torch.ones(3, device=device, requires_grad=True)
    x = torch.ones(3, device=device)

    def backward():
        weight.grad = None
        (weight * x).sum().backward()

    on_capture_stream(module, backward, times=2)
    weight.grad = None
    graph = module.Graph()
    with module.graph(graph):
        (weight * x).sum().backward()
    for value in (2.0, 3.0):
        x.fill_(value)
        graph.replay()
        assert_equal(weight.grad, torch.full((3,), value))


# ---- graphed callables ----


def test_a_graphed_module_trains_as_the_eager_one(device, module):
    data = batches(6)
    eager = Trainer(device, mlp(), "sgd")
    graphed = Trainer(device, mlp(), "sgd")
    sample = torch.zeros(5, 8, device=device)
    made = module.make_graphed_callables(graphed.model, (sample,))
    assert made is graphed.model
    for batch in data:
        for trainer in (eager, graphed):
            trainer.feed(batch)
            trainer.step()
    assert_equal(graphed.model.state_dict(), eager.model.state_dict())
    graphed.model.eval()  # another mode than was captured: eager
    eager.model.eval()
    x = torch.randn(2, 8).to(device)
    assert_equal(graphed.model(x), eager.model(x))


def test_graphed_functions_of_one_tuple_share_a_pool(device, module):
    first = lambda x: (x * 2).exp()
    second = lambda x, y: x.sum() + (x * y)
    a, b = torch.rand(4, device=device, requires_grad=True), torch.rand(4, device=device)
    one, two = module.make_graphed_callables(
        (first, second),
        ((a.detach().clone().requires_grad_(),), (a.detach().clone().requires_grad_(), b.clone())),
    )
    for _ in range(3):
        x = torch.rand(4).to(device).requires_grad_()
        y = torch.rand(4).to(device)
        (expected,) = torch.autograd.grad(second(first(x), y).sum(), x)
        value = two(one(x), y)
        assert_equal(value, second(first(x), y))
        (found,) = torch.autograd.grad(value.sum(), x)
        assert_equal(found, expected)


def test_a_module_with_hooks_is_refused(device, module):
    model = mlp().to(device)
    model.register_forward_hook(lambda *_: None)
    with pytest.raises(AssertionError, match="hooks"):
        module.make_graphed_callables(model, (torch.zeros(5, 8, device=device),))
