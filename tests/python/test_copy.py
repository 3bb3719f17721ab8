"""Copies: every direction, layout and dtype; what a source may do afterwards."""

import pytest
import torch
from helpers import assert_equal, error_of, on, same_as_cpu, same_outcome, synchronize

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int16,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
]

DIRECTIONS = ["to_device", "to_host", "within_device", "between_devices"]

# A view of a 4 x 6 tensor of distinct values, and its name.
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "rows_with_step": lambda x: x[::2],
    "columns_with_step": lambda x: x[:, 1::2],
    "one_column": lambda x: x[:, 3],
    "offset": lambda x: x[1:, 2:],
    "expanded": lambda x: x[:1].expand(4, 6),
    "0_dim": lambda x: x[2, 3],
    "empty": lambda x: x[:0],
    "as_strided": lambda x: x.as_strided((3, 2), (5, 2), 1),
}


@pytest.fixture(params=DIRECTIONS)
def ends(request, device):
    """Source and target device."""
    cpu = torch.device("cpu")
    if request.param == "between_devices":
        return device, request.getfixturevalue("other_device")
    return {
        "to_device": (cpu, device),
        "to_host": (device, cpu),
        "within_device": (device, device),
    }[request.param]


def numbers(dtype=torch.float32):
    x = torch.arange(24).reshape(4, 6)
    return (x * (1 + 2j)).to(dtype) if dtype.is_complex else x.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_arrives_unchanged(ends, dtype):
    source, target = ends
    x = numbers(dtype).to(source)
    y = x.to(target, copy=True)
    assert y.device == target
    assert_equal(y, numbers(dtype))
    assert y.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_source_layout_arrives(ends, layout):
    source, target = ends
    view = LAYOUTS[layout]
    y = view(numbers().to(source)).to(target, copy=True)
    assert y.device == target
    assert_equal(y, view(numbers()))


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "expanded"])
def test_every_target_layout_is_written_and_nothing_else(ends, layout):
    source, target = ends
    view = LAYOUTS[layout]
    whole, expected = torch.zeros(4, 6, device=target), torch.zeros(4, 6)
    value = view(numbers()) + 100
    view(whole).copy_(value.to(source))
    view(expected).copy_(value)
    assert_equal(whole, expected)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "expanded"])
def test_both_ends_may_be_strided(ends, layout):
    source, target = ends
    view = LAYOUTS[layout]
    whole = torch.zeros(4, 6, dtype=torch.float64, device=target)
    expected = torch.zeros(4, 6, dtype=torch.float64)
    view(whole).copy_(view(numbers().to(source)))
    view(expected).copy_(view(numbers()))
    assert_equal(whole, expected)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("to_dtype", DTYPES, ids=str)
@pytest.mark.parametrize("from_dtype", DTYPES, ids=str)
def test_a_copy_converts(ends, from_dtype, to_dtype):
    source, target = ends
    y = torch.empty(4, 6, dtype=to_dtype, device=target)
    y.copy_(numbers(from_dtype).to(source))
    assert_equal(y, numbers(from_dtype).to(to_dtype))


@pytest.mark.parametrize(
    "to_dtype", [torch.int64, torch.uint8, torch.bool, torch.bfloat16], ids=str
)
def test_fractions_convert_as_on_the_cpu(device, to_dtype):
    same_as_cpu(device, lambda x: x.to(to_dtype), torch.tensor([0.0, 0.4, 1.6, 100.5]))


def test_a_copy_broadcasts(ends):
    source, target = ends
    y = torch.zeros(3, 4, 6, device=target)
    y.copy_(numbers()[:, :1].to(source))
    assert_equal(y, numbers()[:, :1].expand(3, 4, 6).contiguous())
    y.copy_(torch.tensor(7, device=source))
    assert_equal(y, torch.full((3, 4, 6), 7.0))


def test_a_copy_that_does_not_broadcast_is_refused(ends):
    source, target = ends
    with pytest.raises(RuntimeError, match="size"):
        torch.zeros(3, device=target).copy_(torch.zeros(4, device=source))


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()], ids=str)
def test_copies_of_nothing_and_of_one(ends, shape):
    source, target = ends
    x = torch.full(shape, 3.0)
    assert_equal(x.to(source).to(target, copy=True), x)
    assert_equal(torch.zeros(shape, device=target).copy_(x.to(source)), x)


def test_conjugated_sources_and_targets(ends):
    source, target = ends
    z = numbers(torch.complex64)
    arrived = z.to(source).conj().to(target, copy=True)
    assert_equal(arrived.resolve_conj(), z.conj().resolve_conj())
    held = torch.zeros(4, 6, dtype=torch.complex64, device=target)
    held.conj().copy_(z.to(source))
    assert_equal(held, z.conj().resolve_conj())
    both = torch.zeros(4, 6, dtype=torch.complex64, device=target)
    both.conj().copy_(z.to(source).conj())
    assert_equal(both, z)


def test_negated_sources_and_targets(ends):
    source, target = ends
    z = numbers(torch.complex64)
    negated = z.to(source).conj().imag
    assert negated.is_neg()
    assert_equal(negated.to(target, copy=True).resolve_neg(), -z.imag)
    held = torch.zeros(4, 6, dtype=torch.complex64, device=target)
    held.conj().imag.copy_(torch.ones(4, 6, device=source))
    assert_equal(held, torch.full((4, 6), -1j))


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x[:-1].copy_(x[1:]),
        lambda x: x.copy_(x),
        lambda x: x[::2].copy_(x[1::2]),
        lambda x: x.view(4, 2).copy_(x.view(2, 4).t()),
        lambda x: x.expand(2, 8).copy_(torch.ones(8, device=x.device)),
        lambda x: x.as_strided((2, 2), (4, 1), 1).copy_(x.as_strided((2, 2), (4, 1), 0)),
        lambda x: x.as_strided((2, 3), (4, 1), 0).copy_(x.as_strided((2, 3), (4, 1), 1)),
    ],
    ids=[
        "forward",
        "backward",
        "onto_itself",
        "interleaved",
        "transposed",
        "into_expanded",
        "rows_forward",
        "rows_backward",
    ],
)
def test_overlapping_copies_do_what_the_cpu_does(device, move):
    same_outcome(device, move, torch.arange(8.0))


def test_overlap_within_a_target_is_refused_as_on_the_cpu(device):
    def write(where):
        torch.zeros(1, device=where).expand(3).copy_(torch.ones(3, device=where))

    refused = error_of(lambda: write("cpu"), torch.device("cpu"))
    assert error_of(lambda: write(device), device) == refused


# ---- asynchronous copies ----


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_pageable_source_may_change_as_soon_as_copy_returns(device, non_blocking):
    target = torch.zeros(1 << 20, device=device)
    busy = torch.ones(300, 300, device=device)
    for i in range(5):
        busy = busy @ busy / 300  # something for the stream to be behind with
        source = torch.full((1 << 20,), float(i))
        target.copy_(source, non_blocking=non_blocking)
        source.fill_(-1)
        assert_equal(target, torch.full((1 << 20,), float(i)))


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_pageable_source_may_be_freed_as_soon_as_copy_returns(device, non_blocking):
    arrived = []
    for i in range(20):
        arrived.append(torch.full((1 << 16,), float(i)).to(device, non_blocking=non_blocking))
    for i, x in enumerate(arrived):
        assert_equal(x, torch.full((1 << 16,), float(i)))


def test_a_pageable_target_is_filled_when_copy_returns(device):
    source = torch.arange(1 << 18, dtype=torch.float32, device=device)
    for _ in range(3):
        source = source + 1
        target = torch.zeros(1 << 18)
        target.copy_(source, non_blocking=True)
        synchronize(device)
        assert_equal(target, source.cpu())
    blocking = torch.zeros(1 << 18)
    blocking.copy_(source + 1)
    assert blocking[5].item() == 9.0 and blocking[-1].item() == float(1 << 18) + 3


def test_a_result_of_the_device_can_be_read_at_once(device):
    x = torch.ones(200, 200, device=device)
    for _ in range(10):
        x = x @ x / 200
    assert x.cpu().sum().item() == pytest.approx(200 * 200)


@pytest.mark.accelerator("pinned memory needs a device to be pinned for")
def test_a_pinned_source_and_target_give_the_values_after_a_wait(device):
    source = torch.arange(1 << 18, dtype=torch.float32).pin_memory()
    on_device = source.to(device, non_blocking=True)
    target = torch.empty(1 << 18, pin_memory=True)
    target.copy_(on_device + 1, non_blocking=True)
    synchronize(device)
    assert_equal(target, source + 1)


@pytest.mark.accelerator("pinned memory needs a device to be pinned for")
def test_a_strided_and_converting_copy_from_pinned_memory(device):
    source = torch.arange(600.0).reshape(20, 30).pin_memory()
    target = torch.zeros(15, 20, dtype=torch.float64, device=device)
    target.copy_(source.t()[::2], non_blocking=True)
    assert_equal(target, torch.arange(600.0, dtype=torch.float64).reshape(20, 30).t()[::2])


def test_to_the_host_without_blocking_is_there_after_a_wait(device):
    x = torch.arange(1 << 18, dtype=torch.float32, device=device) * 2
    y = x.to("cpu", non_blocking=True)
    synchronize(device)
    assert_equal(y, torch.arange(1 << 18, dtype=torch.float32) * 2)


def test_copies_and_operators_keep_their_order(device):
    x = torch.zeros(1000, device=device)
    seen = []
    for i in range(50):
        x.add_(1)
        y = x.clone()
        x.copy_(torch.full((1000,), float(i)))
        seen.append(y)
    expected = [1.0] + [float(i + 1) for i in range(49)]
    assert [y[7].item() for y in seen] == expected


# ---- formats ----


@pytest.mark.parametrize("stage", ["to_device", "on_device", "to_host"])
def test_channels_last_is_kept_and_made(device, stage):
    x = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    last = {"memory_format": torch.channels_last}
    if stage == "to_device":
        y = x.contiguous(**last).to(device)
    elif stage == "on_device":
        y = x.to(device).to(**last)
    else:
        y = x.to(device).contiguous(**last).cpu()
    assert y.is_contiguous(**last) and not y.is_contiguous()
    assert_equal(y, x)
    assert y.contiguous().is_contiguous()
    assert_equal(y.contiguous(), x)


def test_to_with_format_device_and_dtype_at_once(device):
    x = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    y = x.to(device, torch.float64, memory_format=torch.channels_last)
    assert y.device == device and y.is_contiguous(memory_format=torch.channels_last)
    assert_equal(y, x.double())
    z = torch.arange(48.0).reshape(1, 2, 2, 3, 4).to(device)
    assert z.to(memory_format=torch.channels_last_3d).stride() == (48, 1, 24, 8, 2)


def test_a_permuted_dense_tensor_keeps_its_strides(device):
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    there = x.to(device)
    assert there.stride() == x.stride()
    assert there.clone().stride() == x.stride()
    assert there.cpu().stride() == x.stride()
    assert there.contiguous().stride() == (6, 3, 1)
    assert_equal(there, x)


def test_clone_and_contiguous(device):
    x = numbers().to(device)
    twin = x.clone()
    x.zero_()
    assert_equal(twin, numbers())
    assert twin.contiguous().data_ptr() == twin.data_ptr()
    assert twin.t().contiguous().data_ptr() != twin.data_ptr()
    assert_equal(twin.t().contiguous(), numbers().t().contiguous())


def test_to_the_same_device_is_the_same_tensor(device):
    x = torch.ones(2, device=device)
    assert x.to(device) is x
    assert x.to(device.type) is x
    assert x.to(device, copy=True) is not x
    assert x.to(x) is x


def test_to_like_another_tensor(device):
    like = torch.zeros(1, dtype=torch.float64, device=device)
    x = torch.arange(3).to(like)
    assert x.device == device and x.dtype == torch.float64 and x.tolist() == [0.0, 1.0, 2.0]


def test_64_mib_both_ways(device):
    x = torch.arange(1 << 24, dtype=torch.int32).view(torch.float32)  # every bit pattern kept
    y = x.to(device)
    back = y.cpu()
    assert torch.equal(back.view(torch.int32), x.view(torch.int32))
    inside = torch.empty_like(y).copy_(y)
    assert torch.equal(inside.cpu().view(torch.int32), x.view(torch.int32))


def test_64_mib_strided(device):
    x = torch.arange(1 << 24, dtype=torch.int32).reshape(1 << 12, 1 << 12)
    assert torch.equal(x.to(device).t()[1:, ::2].cpu(), x.t()[1:, ::2])


def test_64_mib_between_devices(device, other_device):
    x = torch.arange(1 << 24, dtype=torch.int32)
    y = (x.to(device) + 1).to(other_device)
    assert y.device == other_device
    assert torch.equal((y + 1).cpu(), x + 2)


def test_a_copy_between_devices_waits_for_its_source_and_target(device, other_device):
    a = torch.ones(300, 300, device=device)
    b = torch.zeros(300, 300, device=other_device)
    for i in range(5):
        a = a @ a / 300 + 1
        b.copy_(a)
        b.add_(1)
        a = b.to(device) / (i + 2)
    reference, other = torch.ones(300, 300), None
    for i in range(5):
        reference = reference @ reference / 300 + 1
        other = reference + 1
        reference = other / (i + 2)
    torch.testing.assert_close(b.cpu(), other)
    torch.testing.assert_close(a.cpu(), reference)


def test_gradients_pass_through_copies(device):
    x = torch.randn(3, 4, requires_grad=True)
    y = x.to(device).t().contiguous()
    z = torch.zeros(4, 3, device=device)
    z[1:].copy_(y[1:] * 2)
    z.cpu().sum().backward()
    expected = torch.full((3, 4), 2.0)
    expected[:, 0] = 0
    assert_equal(x.grad, expected)


def test_swap_data_and_type_conversions_by_name(device):
    x = on(device, torch.tensor([1.7, -2.2]))
    assert x.double().dtype == torch.float64 and x.half().dtype == torch.float16
    assert x.int().tolist() == [1, -2] and x.bool().tolist() == [True, True]
    assert x.type(torch.int64).device == device
    x.data = torch.tensor([5.0, 6.0], device=device)
    assert x.tolist() == [5.0, 6.0]
