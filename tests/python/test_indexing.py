"""Reading and writing through an index, in every form PyTorch has, is what it is on the CPU."""

import pytest
import torch
from helpers import (
    assert_equal,
    error_of,
    on,
    same_as_cpu,
    same_gradients,
    same_outcome,
    still_works,
    synchronize,
)


def grid(dtype=torch.float32):
    return torch.arange(60).reshape(3, 4, 5).to(dtype)


def long(*values):
    return torch.tensor(values)


ROWS = torch.tensor([True, False, True])
MASK = torch.arange(60).reshape(3, 4, 5) % 7 == 0

INDICES = {
    "int": 1,
    "negative_int": -1,
    "slice": slice(1, 3),
    "slice_from_the_end": slice(-2, None),
    "slice_with_step": (slice(None), slice(None, None, 3)),
    "slice_beyond_the_end": slice(1, 100),
    "empty_slice": slice(2, 2),
    "none": (None, 1),
    "none_in_the_middle": (slice(None), None, 2),
    "ellipsis": (..., 2),
    "ellipsis_in_the_middle": (0, ..., slice(1, 4, 2)),
    "all_ints": (1, 2, 3),
    "empty_tuple": (),
    "true": True,
    "false": False,
    "list": [2, 0],
    "list_of_bools": [True, False, True],
    "long_tensor": long(2, 0, 0),
    "negative_long_tensor": long(-1, -3),
    "int32_tensor": torch.tensor([2, 0], dtype=torch.int32),
    "0_dim_tensor": torch.tensor(2),
    "long_matrix": torch.tensor([[0, 1], [2, 2]]),
    "two_long_tensors": (long(0, 1, 2), long(3, 2, 1)),
    "broadcast_long_tensors": (torch.tensor([[0], [2]]), long(1, 3)),
    "apart_long_tensors": (long(0, 1), slice(None), long(4, 0)),
    "long_and_slice": (slice(1, None), long(3, 3, 0)),
    "long_and_int": (1, long(3, 0)),
    "long_and_none": (long(0, 2), None, slice(None, None, 2)),
    "long_and_ellipsis": (..., long(4, 1)),
    "row_mask": ROWS,
    "full_mask": MASK,
    "mask_and_slice": (ROWS, slice(None, None, 2)),
    "mask_and_long": (ROWS, long(1, 3)),
    "slice_and_mask": (0, slice(None), torch.tensor([1, 0, 0, 1, 1], dtype=torch.bool)),
    "empty_long": torch.empty(0, dtype=torch.long),
    "mask_of_nothing": torch.zeros(3, dtype=torch.bool),
}


@pytest.mark.parametrize("name", INDICES)
def test_reading_with_indices_on_the_device(device, name):
    same_as_cpu(device, lambda x, index: x[index], grid(), INDICES[name])


@pytest.mark.parametrize("name", INDICES)
def test_reading_with_indices_on_the_cpu(device, name):
    result = grid().to(device)[INDICES[name]]
    assert result.device == device
    assert_equal(result, grid()[INDICES[name]])


@pytest.mark.parametrize("name", INDICES)
def test_writing_a_number(device, name):
    def write(x, index):
        x[index] = 7
        return x

    same_as_cpu(device, write, grid(), INDICES[name])


@pytest.mark.parametrize("name", INDICES)
def test_writing_a_tensor_that_broadcasts(device, name):
    def write(x, index):
        value = x[index].flatten()[:1].clone() + 1
        x[index] = value.reshape(()) if value.numel() else 0.5
        return x

    same_as_cpu(device, write, grid(), INDICES[name])


@pytest.mark.parametrize("name", INDICES)
def test_writing_a_tensor_of_the_same_shape(device, name):
    def write(x, index):
        x[index] = x[index] * -2
        return x

    same_as_cpu(device, write, grid(), INDICES[name])


@pytest.mark.parametrize("name", INDICES)
def test_updating_in_place(device, name):
    def write(x, index):
        x[index] += 100
        return x

    same_as_cpu(device, write, grid(torch.int64), INDICES[name])


@pytest.mark.parametrize(
    "name", ["slice_with_step", "long_tensor", "apart_long_tensors", "full_mask"]
)
def test_gradients_through_an_index(device, name):
    x = grid(torch.float64).requires_grad_()
    same_gradients(device, lambda x, index: x[index], x, INDICES[name])


@pytest.mark.parametrize("value", ["number", "cpu_scalar", "cpu_tensor", "device_row"])
def test_what_may_be_assigned(device, value):
    x, expected = grid().to(device), grid()
    given = {
        "number": 3.5,
        "cpu_scalar": torch.tensor(3.5),
        "cpu_tensor": torch.arange(5.0),
        "device_row": torch.arange(5.0).to(device),
    }[value]
    x[1, ::2] = given
    expected[1, ::2] = given.cpu() if isinstance(given, torch.Tensor) else given
    assert_equal(x, expected)


def test_slices_are_views_and_gathers_are_copies(device):
    x = grid().to(device)
    x[0, 1:3].zero_()
    x[[1, 2]].zero_()
    expected = grid()
    expected[0, 1:3] = 0
    assert_equal(x, expected)


DTYPES = [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.bool, torch.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_can_be_indexed(device, dtype):
    def both(x, index, mask):
        x[index] = x[index].flip(0)
        return x[mask], x[1:, index]

    same_as_cpu(device, both, grid(dtype), long(2, 0), MASK)


# ---- the named operations ----


def operations():
    x, y = grid(), grid() * 0.5
    flat = torch.arange(12.0).reshape(3, 4)
    index = torch.tensor([[0, 1, 2, 0], [2, 0, 0, 1]])
    source = torch.arange(8.0).reshape(2, 4) + 1
    rows = long(0, 2, 0)
    mask = MASK
    return {
        "index_put": (lambda x, i, v: x.index_put((i,), v), flat, rows, torch.ones(3, 4)),
        "index_put_accumulate": (
            lambda x, i, v: x.index_put_((i,), v, accumulate=True),
            flat,
            rows,
            torch.ones(3, 4),
        ),
        "index_put_two": (
            lambda x, i, j, v: x.index_put_((i, j), v, accumulate=True),
            flat,
            long(0, 2, 2),
            long(1, 3, 3),
            torch.tensor([1.0, 2.0, 4.0]),
        ),
        "index_select": (lambda x, i: x.index_select(1, i), x, long(3, 0, 3)),
        "index_add": (lambda x, i, v: x.index_add(0, i, v, alpha=2), flat, rows, torch.ones(3, 4)),
        "index_copy": (lambda x, i, v: x.index_copy_(0, i, v), flat, long(2, 0), source),
        "index_fill": (lambda x, i: x.index_fill_(1, i, -1), flat, long(1, 3)),
        "index_reduce": (
            lambda x, i, v: x.index_reduce_(0, i, v, "prod"),
            flat,
            rows,
            torch.full((3, 4), 2.0),
        ),
        "gather": (lambda x, i: x.gather(0, i), flat, index),
        "gather_along_rows": (lambda x, i: x.gather(1, i), flat, index),
        "take_along_dim": (lambda x: x.take_along_dim(x.argsort(1, descending=True), 1), flat),
        "scatter": (lambda x, i, v: x.scatter(0, i, v), flat, index, source),
        "scatter_value": (lambda x, i: x.scatter_(0, i, 9.0), flat, index),
        "scatter_add": (lambda x, i, v: x.scatter_add_(0, i, v), flat, index, source),
        "scatter_reduce": (
            lambda x, i, v: x.scatter_reduce(0, i, v, "amax", include_self=False),
            flat,
            index,
            source,
        ),
        "take": (lambda x, i: x.take(i), x, torch.tensor([[0, 59], [-1, 7]])),
        "put": (lambda x, i, v: x.put_(i, v, accumulate=True), flat, long(0, 5, 5), torch.ones(3)),
        "masked_fill": (lambda x, m: x.masked_fill(m, -1), x, mask),
        "masked_fill_tensor": (lambda x, m, v: x.masked_fill_(m, v), x, mask, torch.tensor(2.5)),
        "masked_select": (lambda x, m: x.masked_select(m), x, mask),
        "masked_scatter": (
            lambda x, m, v: x.masked_scatter(m, v),
            x,
            mask,
            torch.arange(60.0) + 100,
        ),
        "where": (lambda x, y, m: torch.where(m, x, y), x, y, mask),
        "where_number": (lambda x, m: torch.where(m, x, 0.0), x, mask),
        "where_indices": (lambda m: torch.where(m), mask),
        "nonzero": (lambda m: m.nonzero(), mask),
        "argwhere": (lambda x: torch.argwhere(x % 3 == 0), x),
        "select_scatter": (lambda x, v: x.select_scatter(v, 0, 1), flat, torch.zeros(4)),
        "slice_scatter": (lambda x, v: x.slice_scatter(v, 0, 1, 3), flat, torch.zeros(2, 4)),
        "diagonal_scatter": (lambda x, v: x.diagonal_scatter(v), flat, torch.zeros(3)),
        "fill_diagonal": (lambda x: x.fill_diagonal_(5), flat),
        "tril_indices": (lambda x: x[tuple(torch.tril_indices(3, 4, device=x.device))], flat),
        "flip": (lambda x: x.flip(0, 2), x),
        "roll": (lambda x: x.roll((1, 2), (0, 1)), x),
        "repeat_interleave": (lambda x, n: x.repeat_interleave(n, 0), flat, long(1, 0, 3)),
    }


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", operations())
def test_indexing_operations(device, name):
    fn, *args = operations()[name]
    same_as_cpu(device, fn, *args)


@pytest.mark.parametrize("name", ["gather", "scatter", "scatter_add", "index_select", "index_add"])
def test_gradients_of_indexing_operations(device, name):
    fn, *args = operations()[name]
    args = [a.double().requires_grad_() if a.is_floating_point() else a for a in args]
    same_gradients(device, lambda *a: fn(*(a[0] * 1, *a[1:])), *args)


# ---- refusals ----


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[3],
        lambda x: x[-4],
        lambda x: x[0, 0, 0, 0],
        lambda x: x[1.5],
        lambda x: x["a"],
        lambda x: x[:, :, :, :],
        lambda x: x[torch.ones(4, dtype=torch.bool, device=x.device)],
        lambda x: x[::-1],
        lambda x: x.select(5, 0),
        lambda x: x.index_select(0, torch.zeros(1, device=x.device)),
        lambda x: x.__setitem__(0, torch.ones(3, device=x.device)),
        lambda x: x.gather(0, torch.zeros(1, dtype=torch.long, device=x.device)),
        lambda x: x.masked_fill(torch.ones(3, 4, 5, device=x.device), 0),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_what_the_cpu_refuses_is_refused(device, read):
    assert error_of(lambda: read(grid()), torch.device("cpu")) is not None
    same_outcome(device, read, grid())
    assert still_works(device)


@pytest.mark.parametrize("where", ["device", "cpu"])
@pytest.mark.parametrize("bad", [3, -4, 1 << 40])
def test_an_index_out_of_range_raises_index_error_and_leaves_the_device_usable(device, bad, where):
    x = grid().to(device)
    index = torch.tensor([0, bad]).to(device if where == "device" else "cpu")
    with pytest.raises(
        IndexError, match=f"index {bad} is out of bounds for dimension 0 with size 3"
    ):
        x[index]
        synchronize(device)
    assert_equal(x, grid())
    assert still_works(device)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, i: x.gather(0, i),
        lambda x, i: x.index_select(0, i[0, 0]),
        lambda x, i: x.scatter(0, i, 1.0),
        lambda x, i: torch.nn.functional.embedding(i, x[:, :, 0]),
        lambda x, i: x.take(i * 1000),
    ],
    ids=["gather", "index_select", "scatter", "embedding", "take"],
)
def test_every_out_of_range_operation_raises_what_the_cpu_raises(device, use):
    index = torch.full((1, 4, 5), 3)
    same_outcome(device, use, grid(), index)
    assert still_works(device)


@pytest.mark.accelerator("the CPU has one device")
def test_a_tensor_on_the_host_is_not_indexed_by_one_of_the_device(device):
    x = torch.arange(3.0)
    with pytest.raises(RuntimeError, match="same device"):
        x[torch.tensor([0, 2], device=device)]


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_a_mask_of_bytes_selects_by_its_values_every_time(device):
    x = torch.arange(4.0)
    for bits in ([1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]):
        mask = torch.tensor(bits, dtype=torch.uint8)
        assert_equal(x.to(device)[mask.to(device)], x[mask])


def test_iteration_containment_and_length(device):
    x = on(device, torch.arange(6.0).reshape(3, 2))
    assert [row.tolist() for row in x] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert len(x) == 3
    assert 4 in x and 9 not in x
    first, *rest = x
    assert first.device == device and len(rest) == 2
    assert [row.tolist() for row in reversed(x)] == [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0]]
