"""Quantized tensors on the device: what they hold, what runs on them, and where they can go."""

import copy
import io

import pytest
import torch
from helpers import assert_equal, assert_same
from torch import nn
from torch.ao import quantization
from torch.nn import functional as F

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor"),
    pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated"),
    pytest.mark.filterwarnings("ignore:.*reduce_range"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

quantized = torch.ops.quantized


def numbers(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=generator)


def per_tensor(where, shape=(2, 3), dtype=torch.quint8):
    return torch.quantize_per_tensor(numbers(*shape).to(where), 0.1, 10, dtype)


def per_channel(where, axis=1, dtype=torch.qint8, scale_dtype=torch.float64):
    n = (2, 3)[axis]
    scales = torch.linspace(0.1, 0.3, n, dtype=scale_dtype).to(where)
    return torch.quantize_per_channel(
        numbers(2, 3).to(where), scales, torch.arange(n).to(where), axis, dtype
    )


def packed(where):
    """Two numbers in a byte."""
    scales, zeros = torch.tensor([0.1, 0.2]).to(where), torch.tensor([0.0, 1.0]).to(where)
    return torch.quantize_per_channel(numbers(2, 6).to(where), scales, zeros, 0, torch.quint4x2)


MAKERS = {
    "quint8": per_tensor,
    "qint8": lambda where: per_tensor(where, dtype=torch.qint8),
    "qint32": lambda where: per_tensor(where, dtype=torch.qint32),
    "channels": per_channel,
    "channels_of_rows": lambda where: per_channel(where, axis=0),
    "channels_in_float32": lambda where: per_channel(where, scale_dtype=torch.float32),
    "packed": packed,
    "empty": lambda where: per_tensor(where, shape=(0, 3)),
    "number": lambda where: per_tensor(where, shape=()),
    "channels_last": lambda where: torch.quantize_per_tensor(
        numbers(1, 2, 3, 4).to(memory_format=torch.channels_last).to(where), 0.1, 3, torch.quint8
    ),
}


def parts(value, *, with_strides=True):
    """All there is to a quantized tensor, in plain tensors and numbers; others as they are."""
    if isinstance(value, (list, tuple)):
        return [parts(item) for item in value]
    if not isinstance(value, torch.Tensor) or not value.is_quantized:
        return value
    found = [str(value.dtype), str(value.qscheme()), value.int_repr()]
    found += [value.stride(), value.storage_offset()] if with_strides else []
    if value.qscheme() == torch.per_tensor_affine:
        return [*found, value.q_scale(), value.q_zero_point()]
    axis = value.q_per_channel_axis()
    return [*found, value.q_per_channel_scales(), value.q_per_channel_zero_points(), axis]


def contents(value):
    """The same without the strides, which PyTorch does not keep when it copies a quantized tensor."""
    return parts(value, with_strides=False)


def check_same(device, fn):
    actual, expected = fn(device), fn("cpu")
    for tensor in actual if isinstance(actual, (list, tuple)) else [actual]:
        assert not isinstance(tensor, torch.Tensor) or tensor.device == device
    assert_same(parts(actual), parts(expected))


# ---- what they are ----


@pytest.mark.parametrize("name", MAKERS)
def test_quantizing_gives_the_integers_and_the_scheme_of_the_cpu(device, name):
    x = MAKERS[name](device)
    assert x.device == device and x.is_quantized
    check_same(device, MAKERS[name])


@pytest.mark.parametrize("name", MAKERS)
def test_dequantizing_gives_the_cpus_numbers(device, name):
    check_same(device, lambda where: MAKERS[name](where).dequantize())


def test_other_ways_to_quantize(device):
    x = numbers(4, 4)
    check_same(device, lambda w: torch.quantize_per_tensor_dynamic(x.to(w), torch.qint8, False))
    scale, zero = torch.tensor(0.2), torch.tensor(3)
    check_same(
        device,
        lambda w: torch.quantize_per_tensor(x.to(w), scale.to(w), zero.to(w), torch.quint8),
    )
    integers = torch.arange(6, dtype=torch.int8)
    check_same(device, lambda w: torch._make_per_tensor_quantized_tensor(integers.to(w), 0.1, 2))
    scales, zeros = torch.linspace(0.1, 0.6, 6), torch.arange(6)
    check_same(
        device,
        lambda w: torch._make_per_channel_quantized_tensor(
            integers.to(w), scales.to(w), zeros.to(w), 0
        ),
    )


@pytest.mark.accelerator("the CPU's keep the caller's tensor")
def test_the_scales_of_channels_are_on_the_device_and_outlive_what_they_were_made_of(device):
    scales = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64).to(device)
    x = torch.quantize_per_channel(
        numbers(2, 3).to(device),
        scales,
        torch.zeros(3, dtype=torch.int64).to(device),
        1,
        torch.qint8,
    )
    before = x.dequantize()
    scales.fill_(100.0)
    del scales
    torch.full((3,), 7.0, dtype=torch.float64, device=device)
    assert x.q_per_channel_scales().device == device
    assert x.q_per_channel_scales().tolist() == [0.1, 0.2, 0.3]
    assert_equal(x.dequantize(), before)


def test_tensors_made_without_numbers(device):
    def fill(where):
        made = [
            torch._empty_affine_quantized(
                (2, 3), scale=0.5, zero_point=2, dtype=torch.quint8, device=where
            ),
            torch._empty_per_channel_affine_quantized(
                (2, 3),
                scales=torch.tensor([0.5, 0.25]).to(where),
                zero_points=torch.tensor([1, 2]).to(where),
                axis=0,
                dtype=torch.qint8,
                device=where,
            ),
            torch.empty_like(per_tensor(where)),
        ]
        for tensor in made:
            tensor.copy_(numbers(2, 3).to(where))
        return made

    check_same(device, fill)


def test_a_tensor_without_a_scheme_can_be_looked_at(device):
    x = torch.empty(2, 3, dtype=torch.quint8, device=device)
    assert x.device == device and x.is_quantized and x.int_repr().shape == (2, 3)


def test_they_print_as_on_the_cpu(device):
    for make in (per_tensor, per_channel):
        text = "".join(repr(make(device)).split()).replace(f"device='{device}',", "")
        assert text.replace(f",device='{device}'", "") == "".join(repr(make("cpu")).split())


# ---- where they go ----


@pytest.mark.parametrize("name", MAKERS)
def test_they_cross_between_cpu_and_device(device, name):
    make = MAKERS[name]
    there = make("cpu").to(device)
    assert there.device == device
    assert_same(contents(there), contents(make("cpu")))
    back = there.cpu()
    assert back.device == torch.device("cpu")
    assert_same(contents(back), contents(make("cpu")))
    assert_equal(back.dequantize(), make("cpu").dequantize())


@pytest.mark.parametrize("name", MAKERS)
def test_they_cross_between_devices(device, other_device, name):
    there = MAKERS[name](device).to(other_device)
    assert there.device == other_device
    if there.qscheme() != torch.per_tensor_affine:
        assert there.q_per_channel_scales().device == other_device
    assert_same(contents(there), contents(MAKERS[name]("cpu")))


def test_one_with_gaps_arrives_without_them(device):
    back = per_tensor(device)[:, ::2].cpu()
    assert back.device == torch.device("cpu")
    assert_equal(back.int_repr(), per_tensor("cpu").int_repr()[:, ::2])


@pytest.mark.parametrize("name", MAKERS)
def test_they_can_be_saved_and_loaded(device, name):
    file = io.BytesIO()
    torch.save(MAKERS[name](device), file)
    for weights_only in (True, False):
        file.seek(0)
        loaded = torch.load(file, weights_only=weights_only)
        assert loaded.device == device
        assert_same(parts(loaded), parts(MAKERS[name]("cpu")))
    file.seek(0)
    assert torch.load(file, map_location="cpu").device == torch.device("cpu")


def test_a_saved_view_keeps_its_place(device):
    file = io.BytesIO()
    torch.save(per_tensor(device)[1], file)
    file.seek(0)
    loaded = torch.load(file)
    assert_same(parts(loaded), parts(per_tensor("cpu")[1]))


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "packed"])
def test_copies_are_copies(device, name):
    x = MAKERS[name](device)
    for twin in (x.clone(), copy.deepcopy(x)):
        assert_same(contents(twin), contents(MAKERS[name]("cpu").clone()))
        assert x.numel() == 0 or twin.data_ptr() != x.data_ptr()


# ---- views ----

VIEWS = {
    "view": lambda x: x.view(3, 2),
    "reshape": lambda x: x.reshape(-1),
    "transpose": lambda x: x.t(),
    "row": lambda x: x[1],
    "columns": lambda x: x[:, ::2],
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "expand": lambda x: x[:1].expand(4, 3),
    "split": lambda x: x.split(1),
    "permute": lambda x: x.permute(1, 0),
    "contiguous": lambda x: x.t().contiguous(),
    "as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(device, name):
    check_same(device, lambda where: VIEWS[name](per_tensor(where)))


def test_a_view_of_channels_keeps_them(device):
    check_same(device, lambda where: per_channel(where).unsqueeze(0))
    check_same(device, lambda where: per_channel(where, axis=0)[:, 1:])


def test_writing_a_view_writes_the_base(device):
    def write(where):
        x = per_tensor(where)
        x[0].fill_(1.0)
        x[:, 2].copy_(torch.quantize_per_tensor(torch.ones(2).to(where), 0.5, 1, torch.quint8))
        return x

    check_same(device, write)


# ---- operators ----

OPERATIONS = {
    "relu": torch.relu,
    "relu_": lambda x: x.clone().relu_(),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hardtanh": lambda x: F.hardtanh(x, 0.0, 1.0),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "threshold": lambda x: F.threshold(x, 0.1, 0.0),
    "clamp": lambda x: torch.clamp(x, 0.0, 1.0),
    "cat": lambda x: torch.cat([x, x]),
    "stack": lambda x: torch.stack([x, x]),
    "flip": lambda x: x.flip(0),
    "eq": lambda x: x == x.flip(1),
    "lt": lambda x: x < 0.2,
    "equal": lambda x: torch.equal(x, x.clone()),
    "max": lambda x: x.max(),
    "max_dim": lambda x: x.max(1),
    "mean": lambda x: x.mean(1),
    "std": lambda x: x.std(1),
    "sort": lambda x: x.sort(1),
    "topk": lambda x: x.topk(2),
    "index": lambda x: x[torch.tensor([1, 0]).to(x.device)],
    "index_select": lambda x: x.index_select(1, torch.tensor([2, 0]).to(x.device)),
    "masked_fill": lambda x: x.masked_fill(x.int_repr() > 10, 0.5),
    "max_pool": lambda x: F.max_pool2d(x[None, None].contiguous(), 2, 1),
    "avg_pool": lambda x: F.avg_pool2d(x[None, None].contiguous(), 2, 1),
    "adaptive_pool": lambda x: F.adaptive_avg_pool2d(x[None, None].contiguous(), 2),
    "upsample": lambda x: F.interpolate(x[None, None].contiguous(), scale_factor=2),
    "resize": lambda x: x.clone().resize_(3, 2),
    "add": lambda x: quantized.add(x, x, 0.2, 5),
    "add_relu": lambda x: quantized.add_relu(x, x, 0.2, 5),
    "mul": lambda x: quantized.mul(x, x, 0.1, 5),
    "add_number": lambda x: quantized.add_scalar(x, 2.0),
    "cat_of_another_scale": lambda x: quantized.cat([x, x], 0, 0.2, 4),
    "copy_of_floats": lambda x: x.clone().copy_(x.dequantize() * 2),
    "copy_of_another_scale": lambda x: x.clone().copy_(
        torch.quantize_per_tensor(x.dequantize() * 2, 0.3, 1, x.dtype)
    ),
    "dequantize_all": lambda x: torch.dequantize([x, x[0]]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(device, name):
    check_same(device, lambda where: OPERATIONS[name](per_tensor(where)))


def test_a_matrix_product_with_packed_weights(device):
    def run(where):
        weight = torch.quantize_per_tensor(numbers(4, 3).to(where), 0.05, 0, torch.qint8)
        bias = torch.ones(4).to(where)
        both = quantized.linear_prepack(weight, bias)
        del weight, bias
        # The pack does not lie on memory that is somebody else's by now.
        reused = [torch.full((4, n), 100, dtype=torch.int8).to(where) for n in (3, 4)]
        x = per_tensor(where)
        assert len(reused) == 2
        return (
            quantized.linear(x, both, 0.1, 3),
            quantized.linear_relu(x, both, 0.1, 3),
            quantized.linear_dynamic(x.dequantize(), both),
        )

    check_same(device, run)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_with_packed_weights(device, dims):
    def run(where):
        x = torch.quantize_per_tensor(numbers(1, 2, *[5] * dims).to(where), 0.1, 10, torch.quint8)
        weight = torch.quantize_per_channel(
            numbers(4, 2, *[3] * dims).to(where),
            torch.linspace(0.01, 0.05, 4).to(where),
            torch.zeros(4, dtype=torch.int64).to(where),
            0,
            torch.qint8,
        )
        ones, zeros = [1] * dims, torch.zeros(4).to(where)
        both = getattr(quantized, f"conv{dims}d_prepack")(weight, zeros, ones, ones, ones, 1)
        return getattr(quantized, f"conv{dims}d")(x, both, 0.2, 4)

    check_same(device, run)


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: x + x,
        lambda x: x.exp(),
        lambda x: x.zero_(),
        lambda x: torch.ones(2, 3, device=x.device).copy_(x),
        lambda x: x.copy_(per_tensor(x.device, dtype=torch.qint8)),
        lambda x: x.copy_(per_channel(x.device, dtype=x.dtype)),
        lambda x: quantized.add(x, per_tensor(x.device).dequantize(), 0.1, 0),
        lambda x: x.clone().requires_grad_(),
        lambda x: x.item(),
        lambda x: x.view(5),
    ],
)
def test_what_the_cpu_refuses_is_refused(device, refused):
    for where in ("cpu", device):
        with pytest.raises((RuntimeError, NotImplementedError)):
            refused(per_tensor(where))


@pytest.mark.accelerator("the CPU is one place")
def test_the_refusal_says_what_to_do(device):
    with pytest.raises(NotImplementedError, match=r"cannot run on quantized tensors.*dequantize"):
        per_tensor(device).exp()
    with pytest.raises(RuntimeError, match="same device"):
        quantized.add(per_tensor(device), per_tensor("cpu"), 0.1, 0)


# ---- training for quantization, and models ----


def test_fake_quantization_and_its_gradients(device):
    def run(where):
        x = numbers(3, 4).to(where).requires_grad_()
        whole = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)
        scales, zeros = (
            torch.tensor([0.1, 0.2, 0.3]).to(where),
            torch.zeros(3, dtype=torch.int32).to(where),
        )
        channels = torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -8, 7)
        (whole + 2 * channels).sum().backward()
        return whole.detach(), channels.detach(), x.grad

    check_same(device, run)


@pytest.mark.parametrize(
    "observer",
    [
        quantization.MinMaxObserver,
        quantization.PerChannelMinMaxObserver,
        quantization.MovingAverageMinMaxObserver,
        quantization.HistogramObserver,
    ],
)
def test_observers_find_the_cpus_parameters(device, observer):
    def run(where):
        watch = observer().to(where)
        for factor in (1.0, 3.0):
            watch(numbers(4, 8).to(where) * factor)
        return [value.to(where) for value in watch.calculate_qparams()]

    check_same(device, run)


def test_a_model_trains_for_quantization_as_on_the_cpu(device):
    def run(where):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        net.qconfig = quantization.get_default_qat_qconfig("fbgemm")
        net = quantization.prepare_qat(net.train()).to(where)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = numbers(16, 4).to(where)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (net(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        assert losses[-1] < losses[0]
        return torch.stack(losses)

    check_same(device, run)


def test_a_dynamically_quantized_model_runs_on_the_device(device):
    def run(where):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(where).eval()
        small = quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
        assert "Dynamic" in type(small[0]).__name__ or "dynamic" in type(small[0]).__module__
        return small(numbers(5, 4).to(where))

    check_same(device, run)


def test_a_statically_quantized_model_runs_on_the_device(device):
    def run(where):
        torch.manual_seed(0)
        net = nn.Sequential(
            quantization.QuantStub(), nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3),
            quantization.DeQuantStub(),
        ).eval().to(where)  # fmt: skip
        net.qconfig = quantization.get_default_qconfig("fbgemm")
        prepared = quantization.prepare(net)
        prepared(numbers(4, 1, 5, 5).to(where))
        return quantization.convert(prepared)(numbers(4, 1, 5, 5).to(where))

    check_same(device, run)


def test_a_module_with_a_quantized_buffer_moves_as_a_whole(device):
    net = nn.Linear(2, 2)
    net.register_buffer("table", per_channel("cpu"))
    net.to(device)
    assert net.table.device == device
    twin = nn.Linear(2, 2).to(device)
    twin.register_buffer("table", torch.zeros_like(per_channel("cpu").int_repr()).to(device))
    twin.table = per_channel(device, axis=1)
    twin.load_state_dict(net.state_dict())
    assert_same(parts(twin.table), parts(per_channel("cpu")))
    assert_same(parts(net.cpu().table), parts(per_channel("cpu")))
