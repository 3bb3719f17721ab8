"""nn.Module and its utilities treat the device as any other."""

import copy

import pytest
import torch
from helpers import assert_equal, assert_same, on
from torch import nn
from torch.nn.utils import parametrizations, parametrize


class Mixed(nn.Module):
    """Parameters, persistent and other buffers, integers among them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.register_buffer("mean", torch.randn(3))
        self.register_buffer("steps", torch.tensor(5))
        self.register_buffer("mask", torch.ones(3, dtype=torch.bool), persistent=False)
        self.inner = nn.Linear(3, 3)


def devices_of(module):
    return {tensor.device for tensor in [*module.parameters(), *module.buffers()]}


def test_to_moves_parameters_and_buffers_and_keeps_their_values(device):
    module = Mixed()
    expected = copy.deepcopy(module)
    assert devices_of(module.to(device)) == {device}
    assert_equal(dict(module.state_dict()), dict(expected.state_dict()))
    assert module.mask.device == device and module.mask.dtype == torch.bool


def test_to_with_a_dtype_converts_floating_point_only(device):
    module = Mixed().to(device, torch.float64)
    assert module.weight.dtype == module.mean.dtype == torch.float64
    assert module.steps.dtype == torch.int64 and module.mask.dtype == torch.bool
    assert devices_of(module) == {device}


def test_to_keeps_the_identity_of_parameters_and_moves_gradients(device):
    module = nn.Linear(3, 2)
    weight = module.weight
    module(torch.ones(1, 3)).sum().backward()
    module.to(device)
    assert module.weight is weight
    assert weight.device == device and weight.grad.device == device
    assert_equal(weight.grad, torch.ones(2, 3))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    before = weight.detach().clone()
    optimizer.step()
    assert_same(weight, before - 1)


def test_cpu_brings_a_module_back(device):
    module = Mixed()
    expected = copy.deepcopy(module)
    assert devices_of(module.to(device).cpu()) == {torch.device("cpu")}
    assert_equal(dict(module.state_dict()), dict(expected.state_dict()))


def test_shared_parameters_stay_shared(device):
    embedding, head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
    head.weight = embedding.weight
    model = nn.ModuleList([embedding, head]).to(device)
    assert model[0].weight is model[1].weight
    assert len(list(model.parameters())) == 1


@pytest.mark.accelerator("the CPU has no method named after a plugin")
def test_the_methods_named_after_the_device_move(device):
    x = getattr(torch.arange(3.0), device.type)()
    assert x.device == device and x.tolist() == [0.0, 1.0, 2.0]
    assert getattr(x, f"is_{device.type}") is True
    assert getattr(torch.zeros(1), f"is_{device.type}") is False
    module = getattr(Mixed(), device.type)()
    assert devices_of(module) == {device}


def test_a_module_made_on_the_device_needs_no_move(device):
    module = nn.Sequential(nn.Linear(3, 4, device=device), nn.BatchNorm1d(4, device=device))
    assert devices_of(module) == {device}
    bound = 1 / 3**0.5
    weight = module[0].weight.detach().cpu()
    assert weight.abs().max() <= bound and weight.std() > 0.1


def test_initialisers_fill_device_parameters(device):
    weight = torch.empty(64, 64, device=device)
    assert nn.init.eye_(weight).cpu().equal(torch.eye(64))
    assert nn.init.constant_(weight, 3).cpu().equal(torch.full((64, 64), 3.0))
    assert 0.9 < nn.init.normal_(weight).std().item() < 1.1
    nn.init.orthogonal_(weight)
    assert_same(weight @ weight.t(), torch.eye(64), atol=1e-4, rtol=0)
    assert nn.init.trunc_normal_(weight, a=-0.5, b=0.5).abs().max().item() <= 0.5
    limit = (6 / 128) ** 0.5
    assert 0.9 * limit < nn.init.xavier_uniform_(weight).abs().max().item() <= limit


def test_to_empty_gives_meta_modules_memory(device):
    with torch.device("meta"):
        module = nn.Linear(3, 2)
    module.to_empty(device=device)
    assert devices_of(module) == {device}
    module.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})
    assert module(torch.ones(1, 3, device=device)).tolist() == [[3.0, 3.0]]


def test_meta_tensors_cannot_be_moved_with_data(device):
    with pytest.raises(NotImplementedError, match="meta"):
        nn.Linear(3, 2, device="meta").to(device)


def test_set_default_device_governs_factories(device):
    torch.set_default_device(device)
    try:
        assert torch.get_default_device() == device
        made = [torch.zeros(2), torch.tensor([1.0]), torch.arange(3), torch.randn(2), torch.eye(2)]
        assert {tensor.device for tensor in made} == {device}
        assert devices_of(nn.Linear(2, 2)) == {device}
        assert torch.zeros(2, device="cpu").device == torch.device("cpu")
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).device == torch.device("cpu")


def test_a_device_as_a_context_governs_factories(device):
    with device:
        assert torch.ones(2).device == device
        assert devices_of(nn.Linear(2, 2)) == {device}
        with torch.device("cpu"):
            assert torch.ones(2).device == torch.device("cpu")
        assert torch.tensor([1, 2]).tolist() == [1, 2]
    assert torch.ones(2).device == torch.device("cpu")


def test_factories_like_a_device_tensor_stay_with_it(device):
    x = torch.ones(2, 3, device=device, dtype=torch.float64)
    for made in (
        torch.zeros_like(x),
        torch.full_like(x, 2),
        torch.empty_like(x),
        x.new_zeros(4),
        x.new_tensor([1, 2]),
        x.new_full((2,), 3),
        torch.rand_like(x),
    ):
        assert made.device == device and made.dtype == torch.float64
    assert torch.zeros_like(x, device="cpu").device == torch.device("cpu")
    assert torch.zeros_like(x).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("foreach", [None, False, True])
@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
def test_clip_grad_norm(device, norm_type, foreach):
    def clipped(where):
        parameters = [nn.Parameter(torch.zeros(3, device=where)) for _ in range(2)]
        for i, parameter in enumerate(parameters):
            parameter.grad = torch.tensor([3.0, -4.0, 12.0 * i], device=where)
        norm = nn.utils.clip_grad_norm_(parameters, 1.5, norm_type, foreach=foreach)
        return norm, [parameter.grad for parameter in parameters]

    norm, grads = clipped(device)
    assert norm.device == device
    assert_same((norm, grads), clipped("cpu"))


def test_clip_grad_value(device):
    parameter = nn.Parameter(torch.zeros(3, device=device))
    parameter.grad = torch.tensor([5.0, -5.0, 0.5], device=device)
    nn.utils.clip_grad_value_([parameter], 1.0)
    assert parameter.grad.tolist() == [1.0, -1.0, 0.5]


def test_parameters_to_vector_and_back(device):
    module = nn.Linear(3, 2).to(device)
    vector = nn.utils.parameters_to_vector(module.parameters())
    assert vector.device == device and vector.shape == (8,)
    nn.utils.vector_to_parameters(torch.arange(8.0, device=device), module.parameters())
    assert module.weight.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert module.bias.tolist() == [6.0, 7.0]


@pytest.mark.parametrize("wrap", [parametrizations.weight_norm, parametrizations.spectral_norm])
def test_weight_and_spectral_norm(device, wrap):
    reference = wrap(nn.Linear(4, 3, dtype=torch.float64))
    module = copy.deepcopy(reference).to(device)
    x = torch.randn(2, 4, dtype=torch.float64)
    for _ in range(3):  # spectral norm improves its estimate at each call
        expected, actual = reference(x), module(x.to(device))
        assert_same(actual, expected)
    expected.sum().backward()
    actual.sum().backward()
    grads = [p.grad for p in module.parameters()]
    assert all(grad.device == device for grad in grads)
    assert_same(grads, [p.grad for p in reference.parameters()])


def test_a_parametrization_keeps_its_constraint(device):
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).t()

    layer = nn.Linear(3, 3).to(device)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert_equal(layer.weight, layer.weight.t().contiguous())
    assert layer.weight.device == device


def test_pruning_masks_weights(device):
    from torch.nn.utils import prune

    layer = nn.Linear(4, 1, bias=False).to(device)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[4.0, -1.0, 3.0, 2.0]]))
    prune.l1_unstructured(layer, "weight", amount=2)
    assert layer.weight.tolist() == [[4.0, 0.0, 3.0, 0.0]]


def test_packed_sequences_run_through_an_lstm(device):
    sequences = [torch.randn(length, 3, dtype=torch.float64) for length in (5, 3, 2)]
    reference = nn.LSTM(3, 4, dtype=torch.float64)
    module = copy.deepcopy(reference).to(device)

    def run(rnn, parts):
        packed = nn.utils.rnn.pack_sequence(parts)
        result, (hidden, _) = rnn(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(result)
        return padded, hidden, lengths

    padded, hidden, lengths = run(module, on(device, sequences))
    expected = run(reference, sequences)
    assert padded.device == hidden.device == device
    assert_same((padded, hidden), expected[:2])
    assert lengths.tolist() == [5, 3, 2]


def test_half_precision_modules(device):
    reference = nn.Linear(8, 4).to(torch.bfloat16)
    module = copy.deepcopy(reference).to(device)
    x = torch.randn(3, 8).to(torch.bfloat16)
    assert_same(module(x.to(device)), reference(x))


def test_train_and_eval_switch_dropout_and_batch_norm(device):
    module = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)).to(device)
    x = torch.randn(64, 4, device=device) + 3
    dropped = (module(x) == 0).float().mean().item()
    assert 0.3 < dropped < 0.7
    module.eval()
    assert_equal(module(x), module(x))
    running = module[0].running_mean.clone()
    module(x)
    assert_equal(module[0].running_mean, running)
    assert_same(running, 0.1 * x.mean(0))


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.parametrize("transposed", [False, True])
def test_a_traced_convolution_runs_and_has_gradients(device, transposed):
    """Traced graphs hold aten::_convolution, which modules do not call."""
    make = nn.ConvTranspose2d if transposed else nn.Conv2d
    layer = make(2, 3, 3, stride=2)
    x = torch.randn(1, 2, 7, 7)
    traced = torch.jit.trace(layer, x)
    traced(x).square().sum().backward()
    expected = [traced(x), layer.weight.grad.clone()]
    layer.zero_grad()
    traced = traced.to(device)
    result = traced(x.to(device))
    result.square().sum().backward()
    assert result.device == device
    assert_same([result, next(traced.parameters()).grad], expected)
