"""A plan is used again only for a call that would have made the same one."""

import contextlib

import pytest
import torch
from helpers import assert_same, tensors_in


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def matrix(*sizes, dtype=torch.float32):
    count = torch.Size(sizes).numel()
    return torch.arange(1, count + 1).reshape(sizes).to(dtype) / 7


def image():
    return matrix(2, 3, 4, 5)


# name -> (operator, arguments of the first calls, arguments of the call that differs in one thing)
CHANGES = {
    "sizes": (torch.matmul, (matrix(3, 4), matrix(4, 5)), (matrix(2, 4), matrix(4, 6))),
    "a_size_that_broadcasts": (
        torch.atan2,
        (matrix(3, 4), matrix(4)),
        (matrix(3, 4), matrix(3, 1)),
    ),
    "strides": (torch.exp, (matrix(3, 4),), (matrix(4, 3).t(),)),
    "memory_format": (torch.sigmoid, (image(),), (image().to(memory_format=torch.channels_last),)),
    "a_gap": (torch.erf, (matrix(3, 4),), (matrix(3, 8)[:, ::2],)),
    "dtype": (torch.sqrt, (matrix(3, 4),), (matrix(3, 4, dtype=torch.float64),)),
    "an_integer_dtype": (torch.sqrt, (matrix(3, 4),), (torch.arange(12).reshape(3, 4),)),
    "dtype_of_one": (torch.atan2, (matrix(3), matrix(3)), (matrix(3), matrix(3).double())),
    "conjugated": (
        torch.mm,
        (matrix(3, 3) + 1j,) * 2,
        ((matrix(3, 3) + 1j).conj(), matrix(3, 3) + 1j),
    ),
    "negated": (torch.abs, (matrix(3),), ((matrix(3) + 2j).conj().imag,)),
    "number_of_dimensions": (torch.logsumexp, (matrix(3, 4), 0), (matrix(3, 4, 2), 0)),
    "an_integer": (torch.cumsum, (matrix(3, 4), 0), (matrix(3, 4), 1)),
    "a_list": (torch.var, (matrix(3, 4, 5), [0]), (matrix(3, 4, 5), [0, 2])),
    "a_flag": (torch.argmax, (matrix(3, 4), 1, False), (matrix(3, 4), 1, True)),
    "an_optional": (torch.argmax, (matrix(3, 4), 1), (matrix(3, 4), None)),
    "kind_of_a_number": (torch.sub, (torch.arange(4), 2), (torch.arange(4), 2.5)),
    "value_of_a_number": (torch.pow, (matrix(3, 4), 2), (matrix(3, 4), 3)),
    "number_of_tensors": (
        lambda *tensors: torch.cat(tensors),
        (matrix(3), matrix(3)),
        (matrix(3), matrix(3), matrix(2)),
    ),
    "a_mask_for_indices": (
        lambda x, i: x[i],
        (matrix(4), torch.tensor([0, 1, 1, 0])),
        (matrix(4), torch.tensor([False, True, True, False])),
    ),
    "no_elements": (torch.exp, (matrix(3, 4),), (matrix(0, 4),)),
}


def to(value, device):
    """On the device with the same strides, offset and lazy bits."""
    if not isinstance(value, torch.Tensor):
        return value
    plain = value.resolve_conj().resolve_neg() if value.is_complex() else value
    if value.is_conj():
        return to(value.conj().clone(), device).conj()
    if value.is_neg():
        return torch.complex(value, -value).to(device).conj().imag
    moved = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    return moved.copy_(plain)


def call(operator, arguments, device):
    return operator(*(to(value, device) for value in arguments))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_between_two_calls_is_seen(device, name):
    operator, first, second = CHANGES[name]
    for arguments in (first, first, second, second, first):
        expected = operator(*arguments)
        actual = call(operator, arguments, device)
        assert_same(actual, expected)
        assert actual.stride() == expected.stride()


def pads():
    """Some of PyTorch's kernels give a padded tensor other strides than its shape function says."""
    volume = matrix(2, 3, 4, 5, 6)
    return {
        "reflect_2d": (image(), (1, 2, 1, 0), "reflect"),
        "replicate_2d": (image(), (1, 2, 1, 0), "replicate"),
        "reflect_3d": (volume, (1, 2, 1, 0, 2, 1), "reflect"),
        "replicate_3d": (volume, (1, 2, 1, 0, 2, 1), "replicate"),
    }


@pytest.mark.parametrize("name", pads())
def test_padding_gives_the_strides_and_gradients_of_the_cpu_in_every_memory_format(device, name):
    x, padding, mode = pads()[name]
    last = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    for size in (3, 2):
        for form in (torch.contiguous_format, last, last, torch.contiguous_format):
            given = x[:, :size].contiguous(memory_format=form).requires_grad_()
            there = to(given.detach(), device).requires_grad_()
            expected = torch.nn.functional.pad(given, padding, mode=mode)
            actual = torch.nn.functional.pad(there, padding, mode=mode)
            assert_alike(actual.detach(), expected.detach())
            expected.square().sum().backward()
            actual.square().sum().backward()
            assert_alike(there.grad, given.grad)


def test_a_rounding_mode_between_two_calls_is_seen(device):
    x, y = matrix(5) * 9, matrix(5) + 1
    for mode in (None, None, "floor", "trunc", None, "floor"):
        actual = torch.div(x.to(device), y.to(device), rounding_mode=mode)
        assert_same(actual, torch.div(x, y, rounding_mode=mode))


def test_the_default_dtype_between_two_calls_is_seen(device):
    integers = torch.arange(6)
    for dtype in (torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float32):
        with default_dtype(dtype):
            assert integers.to(device).sqrt().dtype == dtype
            assert torch.true_divide(integers.to(device), 2).dtype == dtype


def test_deterministic_mode_between_two_calls_is_seen(device):
    """index_put_ with accumulate, and memory that deterministic mode fills."""
    index = torch.tensor([0, 0, 1])
    for mode in (
        contextlib.nullcontext,
        contextlib.nullcontext,
        deterministic,
        contextlib.nullcontext,
    ):
        with mode():
            expected = torch.zeros(3).index_put_((index,), torch.ones(3), accumulate=True)
            actual = torch.zeros(3, device=device)
            actual.index_put_((index.to(device),), torch.ones(3, device=device), accumulate=True)
            assert_same(actual, expected)
    with deterministic():
        assert torch.empty(4, device=device).isnan().all()
        assert torch.empty(4, dtype=torch.int32, device=device).eq(2**31 - 1).all()


def test_scalars_that_are_shapes_are_seen(device):
    for end in (3, 3, 5, 2, 5):
        assert_same(torch.arange(end, device=device), torch.arange(end))
        assert_same(torch.linspace(0, 1, end, device=device), torch.linspace(0, 1, end))
        out = torch.empty(5, dtype=torch.int64, device=device)
        assert_same(torch.arange(0, 5, out=out), torch.arange(5))


def test_thousands_of_shapes_are_right(device):
    """More than the cache holds: it forgets and learns again."""
    source = torch.arange(5000.0)
    moved = source.to(device)
    results = [moved[:n].cumsum(0)[-1] for n in range(1, 5000, 2)]
    expected = [source[:n].cumsum(0)[-1] for n in range(1, 5000, 2)]
    assert_same(torch.stack(results), torch.stack(expected))


def test_who_shares_memory_with_whom_is_seen(device):
    with torch.inference_mode():
        x, y, z = (torch.ones(3, device=device) * n for n in (6, 2, 0))
        for _ in range(2):
            assert torch.ops.aten.div.out(x, y, out=x) is x
        assert torch.ops.aten.div.out(x, y, out=z) is z
        assert z.tolist() == [0.75] * 3


def test_a_list_may_change_after_the_call(device):
    @torch.jit.script
    def reduce(x: torch.Tensor, dims: list[int]):
        y = torch.amax(x, dims)
        dims[0] = 1
        return y

    x = matrix(3, 4)
    with torch.inference_mode():
        for _ in range(4):
            assert_same(reduce(x.to(device), [0]), torch.amax(x, [0]))


def test_tensors_of_two_dtypes_on_one_storage_overlap_by_bytes(device):
    for place in ("cpu", device):
        base = torch.zeros(64, dtype=torch.uint8, device=place)
        base[16:32].view(torch.float32).div_(base[8:12])
        with pytest.raises(RuntimeError, match="single memory location"):
            base[:16].view(torch.float32).div_(base[4:8])


def test_a_tensor_may_be_filled_with_a_part_of_itself_again_and_again(device):
    for _ in range(3):
        x = torch.full((8,), 2.0)
        there = x.to(device)
        x.fill_(x.view(torch.int8)[3])
        there.fill_(there.view(torch.int8)[3])
        assert torch.equal(there.cpu(), x)


# ---- outputs that come empty ----


def assert_alike(actual, expected):
    """Equal values, laid out in memory the same way."""
    assert_same(actual, expected)
    assert actual.stride() == expected.stride()


# PyTorch gives these an empty tensor to resize.
RESIZING = {
    "abs": (torch.abs, (image().to(memory_format=torch.channels_last),)),
    "abs_of_a_transposed_matrix": (torch.abs, (matrix(4, 3).t(),)),
    "isfinite": (torch.isfinite, (image()[:, :, ::2],)),
    "logical_and": (torch.logical_and, (matrix(3, 4), matrix(4).bool())),
    "complex": (torch.complex, (matrix(3, 4).t(), matrix(4, 3))),
    "kthvalue": (torch.kthvalue, (matrix(3, 4), 2)),
}


@pytest.mark.parametrize("name", RESIZING)
def test_an_output_that_comes_empty_is_shaped_the_same_every_time(device, name):
    op, arguments = RESIZING[name]
    expected = op(*arguments)
    there = [x.to(device) if isinstance(x, torch.Tensor) else x for x in arguments]
    for _ in range(3):
        made = tensors_in(op(*there))
        for actual, wanted in zip(made, tensors_in(expected), strict=True):
            assert_alike(actual, wanted)


def test_an_empty_tensor_given_for_the_output_is_shaped_the_same_every_time(device):
    x = matrix(4, 3).t()
    for _ in range(3):
        out, expected = torch.empty(0, device=device), torch.empty(0)
        assert torch.mul(x.to(device), 2, out=out) is out
        assert_alike(out, torch.mul(x, 2, out=expected))


def test_an_empty_part_given_for_the_output_writes_over_what_follows_it(device):
    """What PyTorch does on every device, if there is room in the storage."""
    for _ in range(3):
        whole, there = torch.zeros(10), torch.zeros(10, device=device)
        torch.abs(-matrix(4), out=whole[3:3])
        torch.abs(-matrix(4).to(device), out=there[3:3])
        assert_same(there, whole)
        assert whole[3:7].count_nonzero() == 4


def test_a_full_tensor_given_for_the_output_is_resized_with_a_warning_every_time(device):
    for _ in range(3):
        out = torch.ones(2, device=device)
        with pytest.warns(UserWarning, match="was resized"):
            torch.abs(matrix(3, 4).to(device), out=out)
        assert_same(out, matrix(3, 4))


@pytest.mark.parametrize("count", [3, 5, 1])
def test_an_output_whose_size_data_decide_is_measured_every_time(device, count):
    x = torch.arange(8.0)
    mask = x < count
    for op, arguments in [
        (torch.nonzero, (mask,)),
        (torch.masked_select, (x, mask)),
        (torch.ops.aten.index.Tensor_out, (x, [mask])),
    ]:
        there = [
            [y.to(device) for y in given] if isinstance(given, list) else given.to(device)
            for given in arguments
        ]
        dtype = torch.int64 if op is torch.nonzero else torch.float32
        out = torch.empty(0, dtype=dtype, device=device)
        expected = torch.empty(0, dtype=dtype)
        assert_alike(op(*there, out=out), op(*arguments, out=expected))


def test_ranges_of_ever_new_lengths_are_right(device):
    for end in range(1, 40):
        assert_same(torch.arange(end, device=device), torch.arange(end))
        assert_same(torch.eye(end, device=device), torch.eye(end))


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
def test_a_kernel_of_the_cpus_may_keep_what_it_was_given(device):
    """Whoever replaces one in Python, say: the next call is given other tensors then."""
    x, kept, results = torch.linspace(-0.5, 0.5, 5), [], []

    def keep(x, *, out):
        kept.append((x, out))
        return out.copy_(torch.erfinv(x))

    library = torch.library.Library("aten", "IMPL")
    library.impl("erfinv.out", keep, "CPU", allow_override=True)
    try:
        for _ in range(4):
            results.append(torch.erfinv(x.to(device)))
            torch.accelerator.synchronize()
    finally:
        library._destroy()
    for result in results:
        assert_same(result, torch.erfinv(x))
    assert kept or device.type != "sim"
