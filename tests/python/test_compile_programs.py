"""torch.compile(backend="torchplug"): programs that are unlike models: odd aliases, masks, conversions, weights that come and go."""

import pytest
import torch
from compiling import compiled, same_as_eager
from helpers import assert_same, output_of
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.nn import functional as F

from torchplug.compile import _strides

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))

    def forward(self, x):
        return x * self.weight.exp() + 1


@pytest.mark.parametrize("capture", [False, True])
@torch.no_grad()
def test_a_frozen_weight_in_the_memory_of_one_that_is_gone_is_noticed(device, capture):
    model, x = Scaled().to(device), torch.randn(64, 64, device=device)
    call = compiled(model, options={"freeze": True, "capture": capture})
    for _ in range(3):
        assert_same(call(x), model(x))
    address = model.weight.data_ptr()
    model.to("cpu")
    model.weight.data = model.weight.data + 1
    model.to(device)
    assert model.weight.data_ptr() == address
    assert_same(call(x), model(x))


def in_the_layout_of(x):
    made = torch.empty_strided(x.size(), x.stride(), device=x.device)
    made[:] = x + x
    return made


@pytest.mark.parametrize("dynamic", [None, True])
def test_results_have_the_gaps_that_the_program_gives_them(device, dynamic):
    x = torch.randn(16, 16, device=device)[:, :8]
    call = compiled(in_the_layout_of, dynamic=dynamic)
    assert call(x).stride() == (16, 1)
    assert_same(call(x), in_the_layout_of(x))


def test_memory_with_gaps_can_be_seen_otherwise(device):
    def fn(x):
        return in_the_layout_of(x).as_strided((16, 4), (16, 1), 4).exp()

    x = torch.randn(16, 16, device=device)[:, :8]
    assert_same(compiled(fn)(x), fn(x))


def test_complex_numbers_that_are_not_finite_can_stand_in_a_program(device):
    x = torch.randn(3, dtype=torch.complex64)
    actual = compiled(torch.logaddexp)(x.to(device), x.to(device))
    assert_same(actual.cpu(), torch.logaddexp(x, x))


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_backward_may_be_run_again_after_one_that_may_not(device, dynamic):
    x, weight = (torch.randn(4, 4, device=device, requires_grad=True) for _ in range(2))
    call = compiled(lambda x: (x.sin() @ weight).tanh().sum(), dynamic=dynamic)
    call(x).backward()
    once, x.grad = x.grad, None
    loss = call(x)
    loss.backward(retain_graph=True)
    loss.backward()
    assert_same(x.grad, 2 * once)


@pytest.mark.parametrize("weights", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("inputs", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("channels", "size"), [(3, 3), (8, 1)])
def test_gradients_of_convolutions_are_expected_in_the_strides_that_they_have(
    device, channels, size, inputs, weights
):
    _strides.expect_those_of_the_cpu(device.type)
    x = torch.randn(2, channels, 8, 8, device=device).to(memory_format=inputs)
    weight = torch.randn(4, channels, size, size, device=device).to(memory_format=weights)
    gradient = torch.randn_like(torch.conv2d(x, weight))
    sizes = ([4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    actual = torch.ops.aten.convolution_backward(gradient, x, weight, *sizes)
    with FakeTensorMode() as mode:
        given = (mode.from_tensor(tensor) for tensor in (gradient, x, weight))
        expected = torch.ops.aten.convolution_backward(*given, *sizes)
    assert [one.stride() for one in actual] == [one.stride() for one in expected]


MIXED = """
import sys, torch
x = torch.ones(3, 3, device=sys.argv[1])
for fn, other in ((torch.mm, x.long()), (lambda x, y: torch.addmm(y, x, x), x.double())):
    try:
        print(torch.compile(fn, backend="torchplug")(x, other))
    except RuntimeError as error:
        print("same dtype" in str(error))
"""


def test_products_of_several_dtypes_are_refused_as_in_eager_mode(device):
    printed = output_of(MIXED, device, TORCHPLUG_SIM_COMPILER="whole")
    assert printed.split() == ["True", "True"]


FIRST = """
import sys, torch
x, weight = (torch.ones(2, 3, 4, 4, device=sys.argv[1]).to(memory_format=torch.channels_last) for _ in range(2))
x.requires_grad_()
y = torch.compile(torch.conv2d, backend="torchplug", fullgraph=True)(x, weight, padding=1)
gradient, = torch.autograd.grad(y, x, torch.ones_like(y))
print(y.stride()[1], gradient.stride()[1])
"""


def test_the_first_convolution_of_a_process_is_channels_last_too(device):
    assert output_of(FIRST, device, TORCHPLUG_SIM_COMPILER="whole") == "1 1"


def masked(x, mask):
    return (x * 2).masked_fill(mask, -1.0).exp()


def test_a_mask_is_heeded_in_an_engine(device):
    x = torch.randn(4, 6, device=device)
    same_as_eager(masked, x, x > 0, calls=2)


@pytest.mark.parametrize("options", [{"min_nodes": 9}, {"check": True}], ids=str)
def test_a_mask_stays_boolean_where_nodes_run_one_by_one(device, options):
    x = torch.randn(4, 6, device=device)
    assert_same(compiled(masked, options=options)(x, x > 0), masked(x, x > 0))


@pytest.mark.parametrize("options", [{}, {"capture": True}], ids=str)
def test_dropout_gives_gradients_to_what_it_kept(device, options):
    fn = compiled(lambda x: F.dropout(x.exp().log(), 0.3, True), options=options)
    for _ in range(4):
        x = torch.ones(50, device=device, requires_grad=True)
        y = fn(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        assert_same(gradient, y.detach(), rtol=1e-5, atol=1e-5)


def test_a_number_that_is_a_size_is_that_of_the_call(device):
    fn = compiled(lambda x: (x * x.shape[0]).view(x.shape[0], 2, -1) + x.numel(), dynamic=True)
    for rows in (2, 3, 7):
        x = torch.randn(rows, 6, device=device)
        assert_same(fn(x), (x * rows).view(rows, 2, 3) + 6 * rows, rtol=1e-5, atol=1e-5)


def test_captured_calls_write_the_cache_they_are_given(device):
    def step(cache, x, place):
        cache.index_copy_(0, place, x)
        return cache.sum(0)

    fn = compiled(step, options={"capture": True})
    with torch.no_grad():
        for caches in range(2):
            cache, expected = torch.full((2, 5, 3), float(caches), device=device)
            for i in range(5):
                x, place = torch.randn(1, 3, device=device), torch.tensor([i], device=device)
                assert_same(fn(cache, x, place), step(expected, x, place), rtol=1e-5, atol=1e-5)
                assert_same(cache, expected)


@pytest.mark.parametrize("option", ["min_nodes", "engines"])
def test_an_enormous_number_is_refused_in_one_sentence(device, option):
    fn = compiled(torch.relu, options={option: 10**30})
    with pytest.raises(Exception, match=f"Option '{option}' is 10+"):
        fn(torch.ones(3, device=device))


@pytest.mark.parametrize("by", ["tensor", "number"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_whole_numbers_divided_by_zero_fail_as_in_eager_mode(device, name, by):
    op = getattr(torch, name)
    x = torch.tensor([7, -8, 9], device=device)
    zero = torch.tensor([2, 0, 1], device=device) if by == "tensor" else 0
    with pytest.raises(RuntimeError, match=f"ZeroDivisionError: aten::{name} divides a whole"):
        compiled(lambda x: op(x, zero))(x).cpu()
    assert compiled(lambda x: op(x, 2))(x).tolist() == op(x.cpu(), 2).tolist()


def test_where_there_are_no_elements_nothing_is_divided_by_zero(device):
    zeros = torch.zeros(3, dtype=torch.int64, device=device)
    x = torch.ones((3, 0), dtype=torch.int64, device=device)
    same_as_eager(lambda x, d: (x // d[:, None]).sum(1), x, zeros)
    same_as_eager(lambda x, d: (x // d[None]).sum(0), x.T, zeros)


def test_a_1d_convolution_has_the_strides_that_its_weight_or_input_asks_for(device):
    def convolved(x, weight):
        return torch.nn.functional.conv1d(x, weight) * 2

    weight = torch.randn(6, 3, 4, device=device).transpose(1, 2)
    same_as_eager(convolved, torch.randn(2, 4, 8, device=device), weight)
    of_one_channel = torch.randn(2, 8, 1, device=device).permute(0, 2, 1)
    same_as_eager(convolved, of_one_channel, torch.randn(6, 1, 3, device=device))


def test_an_option_that_the_plugin_does_not_have_is_refused_in_its_words(device):
    there = compiled(lambda x: x * 2, options={"plugin": {"levle": "3"}})
    with pytest.raises(Exception, match="names 'levle', but sim's compiler has no options"):
        there(torch.ones(3, device=device))


def test_places_of_what_is_not_zero_have_the_strides_of_eager(device):
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], device=device)
    same_as_eager(lambda x: torch.nonzero_static(x, size=4) + 1, x)
    same_as_eager(lambda x: torch.nonzero_static(x, size=2, fill_value=7).float().exp(), x)
