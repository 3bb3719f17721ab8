"""Nested tensors on the device, in both layouts: as on the CPU."""

import io

import pytest
import torch
from helpers import assert_equal, assert_same
from torch.nn import functional as F

pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype"),
    pytest.mark.filterwarnings("ignore:.*is_fx_tracing"),
]


def rows(where, requires_grad=False):
    parts = [torch.arange(6.0).reshape(2, 3), torch.linspace(-1, 1, 12).reshape(4, 3)]
    return [part.to(where).requires_grad_(requires_grad) for part in parts]


@pytest.fixture(params=[torch.strided, torch.jagged], ids=["strided", "jagged"])
def make(request):
    def nested(where):
        return torch.nested.nested_tensor(rows(where), layout=request.param, device=where)

    nested.layout = request.param
    return nested


def parts_of(value):
    """The parts of a nested tensor; others as they are."""
    if isinstance(value, torch.Tensor) and value.is_nested:
        return [part.contiguous() for part in value.unbind()]
    return [parts_of(item) for item in value] if isinstance(value, (list, tuple)) else value


def check_same(device, fn):
    actual, expected = fn(device), fn("cpu")
    if isinstance(actual, torch.Tensor):
        assert actual.device == device
    assert_same(parts_of(actual), parts_of(expected))


WEIGHT = torch.linspace(-1, 1, 15).reshape(5, 3)

OPERATIONS = {
    "mul": lambda x: x * 2,
    "add_self": lambda x: x + x,
    "sub_number": lambda x: (x * 1) - (x * 0.5),
    "relu": torch.relu,
    "gelu": F.gelu,
    "neg": lambda x: -x,
    "linear": lambda x: F.linear(x, WEIGHT.to(x.device)),
    "softmax": lambda x: x.softmax(-1),
    "layer_norm": lambda x: F.layer_norm(
        x, (3,), torch.ones(3, device=x.device), torch.zeros(3, device=x.device)
    ),
    "padded": lambda x: torch.nested.to_padded_tensor(x, 7.0),
    "clone": lambda x: x.clone(),
    "double": lambda x: x.double(),
    "dropout_of_nothing": lambda x: F.dropout(x, 0.0, training=True),
    "parts": lambda x: list(x.unbind()),
    "zeros": torch.zeros_like,
    "sum": lambda x: torch.sum(x, dim=-1, keepdim=True),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(device, make, name):
    check_same(device, lambda where: OPERATIONS[name](make(where)))


def test_they_cross_between_cpu_and_device(device, make):
    there = make("cpu").to(device)
    assert there.is_nested and there.device == device
    assert_equal(parts_of(there), rows("cpu"))
    back = there.cpu()
    assert back.is_nested and back.device == torch.device("cpu")
    assert_equal(parts_of(back), rows("cpu"))


def test_writing_a_part_writes_the_whole(device, make):
    def write(where):
        x = make(where)
        x.unbind()[1].fill_(5.0)
        return x

    check_same(device, write)


def test_in_place_operations_write_the_tensor_itself(device):
    def write(where):
        x = torch.nested.nested_tensor(rows(where))
        alias = x.detach()
        x.relu_().mul_(3.0)
        assert_equal(parts_of(alias), parts_of(x))
        return x

    check_same(device, write)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=["strided", "jagged"])
def test_gradients_reach_the_parts(device, layout):
    def run(where):
        parts = rows(where, requires_grad=True)
        x = torch.nested.as_nested_tensor(parts, layout=layout)
        y = F.linear(x, WEIGHT.to(where)).relu()
        torch.nested.to_padded_tensor(y, 0.0).square().sum().backward()
        return [part.grad for part in parts]

    check_same(device, run)


def test_attention_over_sequences_of_different_lengths(device):
    def run(where):
        heads = [part.reshape(-1, 1, 3) for part in rows(where)]
        x = torch.nested.nested_tensor(heads, layout=torch.jagged).transpose(1, 2)
        return F.scaled_dot_product_attention(x, x, x).transpose(1, 2)

    check_same(device, run)
    for part, result in zip(rows("cpu"), parts_of(run(device)), strict=True):
        whole = part[None, None]
        assert_same(result[:, 0].cpu(), F.scaled_dot_product_attention(whole, whole, whole)[0, 0])


def test_attention_in_the_strided_layout(device):
    def run(where):
        x = torch.nested.nested_tensor([part.reshape(1, -1, 3) for part in rows(where)])
        return F.scaled_dot_product_attention(x, x, x)

    check_same(device, run)


def test_a_padded_tensor_and_a_mask_make_a_nested_one(device):
    def run(where):
        padded = torch.nested.to_padded_tensor(torch.nested.nested_tensor(rows(where)), 0.0)
        mask = torch.tensor([[True, True, False, False], [True] * 4]).to(where)
        return torch._nested_tensor_from_mask(padded, mask)

    check_same(device, run)


def test_offsets_make_a_nested_tensor_of_a_plain_one(device):
    def run(where):
        values = torch.arange(12.0).reshape(6, 2).to(where)
        offsets = torch.tensor([0, 2, 6]).to(where)
        return torch.nested.nested_tensor_from_jagged(values, offsets)

    check_same(device, run)
    assert run_offsets(device).tolist() == [0, 2, 6]


def run_offsets(where):
    return torch.nested.nested_tensor(rows(where), layout=torch.jagged).offsets()


def test_they_print_and_are_saved(device, make):
    assert str(device.type) in repr(make(device)) or make.layout == torch.jagged
    file = io.BytesIO()
    torch.save(make(device), file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert loaded.device == device
    assert_equal(parts_of(loaded), rows("cpu"))


def test_what_the_cpu_refuses_is_refused(device):
    for where in ("cpu", device):
        x = torch.nested.nested_tensor(rows(where))
        with pytest.raises((RuntimeError, NotImplementedError)):
            x.cumsum(1)
        with pytest.raises(RuntimeError):
            x + torch.nested.nested_tensor(rows(where)[:1])
