"""Views share the memory of their base: what one writes, the other reads."""

import pytest
import torch
from helpers import assert_equal, on, same_as_cpu, same_gradients


def block(dtype=torch.float32):
    return torch.arange(24).reshape(2, 3, 4).to(dtype)


VIEWS = {
    "view": lambda x: x.view(6, 4),
    "view_inferred": lambda x: x.view(-1),
    "view_as": lambda x: x.view_as(x[0].expand(2, 3, 4)),
    "reshape": lambda x: x.reshape(4, 6),
    "reshape_of_transposed": lambda x: x.transpose(0, 1)[:, :1].reshape(3, 4),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "t": lambda x: x[0].t(),
    "T": lambda x: x[1].T,
    "mT": lambda x: x.mT,
    "swapaxes": lambda x: x.swapaxes(1, 2),
    "movedim": lambda x: x.movedim(0, 2),
    "expand": lambda x: x[:, :1].expand(2, 5, 4),
    "expand_as": lambda x: x[:1].expand_as(x),
    "broadcast_to": lambda x: x.broadcast_to(2, 2, 3, 4),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "squeeze_all": lambda x: x[:1, :1].squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "ravel": lambda x: x.ravel(),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "select": lambda x: x.select(2, 3),
    "slice": lambda x: x[:, ::2, 1:],
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "as_strided": lambda x: x.as_strided((3, 2), (7, 3), 1),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "split": lambda x: x.split(2, dim=2)[1],
    "split_sizes": lambda x: x.split([1, 2], dim=1)[1],
    "chunk": lambda x: x.chunk(3, dim=1)[2],
    "tensor_split": lambda x: x.tensor_split(2, dim=2)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "hsplit": lambda x: x.hsplit(3)[0],
    "detach": lambda x: x.detach(),
    "alias": lambda x: torch.ops.aten.alias(x),
    "int_view": lambda x: x.view(torch.int32),
    "byte_view": lambda x: x.view(torch.uint8),
    "real": lambda x: x.real,
    "chained": lambda x: x.permute(1, 2, 0)[1:].flatten(0, 1)[::3].t(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_the_cpus_metadata_and_values(device, name):
    base = block().to(device)
    view, expected = VIEWS[name](base), VIEWS[name](block())
    assert view.device == device
    assert view.stride() == expected.stride()
    assert view.storage_offset() == expected.storage_offset()
    assert_equal(view, expected)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_the_storage(device, name):
    base = block().to(device)
    view = VIEWS[name](base)
    assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    expected = VIEWS[name](block())
    offset = expected.storage_offset() * expected.element_size()
    assert view.data_ptr() == base.data_ptr() + offset


@pytest.mark.parametrize("name", VIEWS)
def test_writing_the_base_shows_in_the_view(device, name):
    def write(x):
        view = VIEWS[name](x)
        x.add_(100)
        return view

    same_as_cpu(device, write, block())


@pytest.mark.parametrize("name", [n for n in VIEWS if "expand" not in n and "broadcast" not in n])
def test_writing_the_view_shows_in_the_base(device, name):
    def write(x):
        VIEWS[name](x).zero_()
        return x

    same_as_cpu(device, write, block())


@pytest.mark.parametrize(
    "name", ["permute", "diagonal", "unfold", "as_strided", "unbind", "chained"]
)
def test_gradients_through_a_view(device, name):
    x = block(torch.float64).requires_grad_()
    same_gradients(device, lambda x: VIEWS[name](x * 1), x)


@pytest.mark.parametrize("name", ["permute", "diagonal", "narrow", "select", "reshape"])
def test_gradients_through_writing_a_view(device, name):
    def write(x):
        y = x * 2
        VIEWS[name](y).mul_(3)
        return y

    same_gradients(device, write, block(torch.float64).requires_grad_())


# ---- complex views ----


def waves():
    return torch.arange(6.0).reshape(2, 3) * (1 + 2j)


COMPLEX_VIEWS = {
    "view_as_real": torch.view_as_real,
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "conj": lambda z: z.conj(),
    "imag_of_conj": lambda z: z.conj().imag,
    "real_of_transposed": lambda z: z.t().real[1:],
    "adjoint": lambda z: z.mH,
}


@pytest.mark.parametrize("name", COMPLEX_VIEWS)
def test_a_complex_view_shares_the_storage(device, name):
    z = waves().to(device)
    view, expected = COMPLEX_VIEWS[name](z), COMPLEX_VIEWS[name](waves())
    assert view.untyped_storage().data_ptr() == z.untyped_storage().data_ptr()
    assert view.stride() == expected.stride()
    assert view.is_conj() == expected.is_conj() and view.is_neg() == expected.is_neg()
    assert_equal(view, expected)


@pytest.mark.parametrize("name", COMPLEX_VIEWS)
def test_writing_a_complex_view_shows_in_the_base(device, name):
    def write(z):
        COMPLEX_VIEWS[name](z).add_(1)
        return z

    same_as_cpu(device, write, waves())


def test_view_as_complex_shares_the_storage(device):
    pairs = torch.arange(8.0).reshape(2, 2, 2).to(device)
    z = torch.view_as_complex(pairs)
    z.mul_(1j)
    assert pairs.tolist() == [[[-1.0, 0.0], [-3.0, 2.0]], [[-5.0, 4.0], [-7.0, 6.0]]]


# ---- in place on the shape ----


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.transpose_(0, 2),
        lambda x: x[0].t_(),
        lambda x: x.swapaxes_(0, 1),
        lambda x: x.swapdims_(1, 2),
        lambda x: x.squeeze_(),
        lambda x: x.unsqueeze_(1),
        lambda x: x.as_strided_((2, 2), (1, 5), 3),
    ],
    ids=["transpose_", "t_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_"],
)
def test_the_shape_changes_in_place(device, change):
    def run(x):
        y = change(x)
        return y, y + 1

    actual = same_as_cpu(device, run, block())
    expected = run(block())
    assert actual[0].stride() == expected[0].stride()


def test_detach_in_place_and_requires_grad(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = (x * 2).detach_()
    assert y.requires_grad is False and y.tolist() == [2.0, 2.0]


# ---- resize_ and set_ ----


def test_resize_to_fewer_elements_keeps_the_storage(device):
    x = torch.arange(12.0, device=device)
    pointer = x.data_ptr()
    x.resize_(2, 3)
    assert x.data_ptr() == pointer and x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    x.resize_(12)
    assert x.tolist() == list(range(12))


@pytest.mark.parametrize("size", [13, 1000, 1 << 20])
def test_resize_to_more_elements_keeps_the_contents(device, size):
    x = torch.arange(12.0, device=device)
    x.resize_(size)
    assert x.shape == (size,) and x.device == device
    assert x[:12].tolist() == list(range(12))
    x.fill_(3)
    assert x.sum().item() == 3.0 * size


def test_resize_from_nothing_and_to_nothing(device):
    x = torch.empty(0, device=device)
    x.resize_(2, 2).fill_(4)
    assert x.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    x.resize_(0)
    assert x.shape == (0,) and x.numel() == 0


def test_a_growing_resize_moves_every_view_of_the_storage(device):
    x = torch.arange(4.0, device=device)
    view = x[1:3]
    x.resize_(5000)
    view.fill_(9)
    assert x[:4].tolist() == [0.0, 9.0, 9.0, 3.0]


def test_resize_with_an_offset(device):
    x = torch.arange(10.0, device=device)[4:]
    x.resize_(30)
    assert x.storage_offset() == 4 and x[:6].tolist() == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    assert x.untyped_storage().nbytes() == (4 + 30) * x.itemsize


def test_resize_as_and_resize_with_a_format(device):
    x = torch.arange(24.0, device=device)
    x.resize_as_(torch.empty(4, 5, device=device))
    assert x.shape == (4, 5)
    x.resize_(1, 2, 3, 4, memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last)


def test_an_out_argument_grows(device):
    x = torch.arange(6.0, device=device)
    out = torch.empty(0, device=device)
    torch.add(x, 1, out=out)
    assert out.device == device and out.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    small = torch.zeros(2, device=device)
    with pytest.warns(UserWarning, match="resized"):
        torch.mul(x, 2, out=small)
    assert small.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_an_out_argument_may_be_strided(device):
    whole = torch.zeros(3, 4, device=device)
    torch.add(torch.ones(4, 3, device=device), 1, out=whole.t())
    assert whole.tolist() == [[2.0] * 4] * 3


def test_set_in_all_forms(device):
    source = torch.arange(12.0, device=device)
    expected = list(range(12))

    x = torch.empty(0, device=device).set_(source)
    assert x.tolist() == expected and x.data_ptr() == source.data_ptr()

    x = torch.empty(0, device=device).set_(source.untyped_storage())
    assert x.tolist() == expected

    x = torch.empty(0, device=device).set_(source.untyped_storage(), 2, (2, 3), (4, 1))
    assert x.tolist() == [[2.0, 3.0, 4.0], [6.0, 7.0, 8.0]]

    x = torch.empty(0, device=device).set_(source, 1, (3,), (2,))
    assert x.tolist() == [1.0, 3.0, 5.0]
    x.zero_()
    assert source[:6].tolist() == [0.0, 0.0, 2.0, 0.0, 4.0, 0.0]

    x.set_()
    assert x.shape == (0,) and x.device == device


def test_set_beyond_the_storage_grows_it(device):
    source = torch.arange(4.0, device=device)
    x = torch.empty(0, device=device).set_(source.untyped_storage(), 0, (100,), (1,))
    assert x.untyped_storage().nbytes() >= 400
    assert x[:4].tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.accelerator("the CPU has no foreign storage")
def test_set_to_a_storage_of_the_cpu_is_refused(device):
    with pytest.raises(RuntimeError, match="device"):
        torch.empty(0, device=device).set_(torch.zeros(4).untyped_storage())


# ---- storages ----


def test_a_storage_knows_its_size_and_device(device):
    x = torch.arange(12.0, device=device)[3:]
    storage = x.untyped_storage()
    assert storage.nbytes() == 48 and len(storage) == 48
    assert storage.device == device
    assert storage.data_ptr() == x.data_ptr() - 12


def test_a_storage_resizes_and_keeps_its_contents(device):
    x = torch.arange(4.0, device=device)
    x.untyped_storage().resize_(400)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    y = torch.empty(0, device=device).set_(x.untyped_storage())
    assert y.numel() == 100 and y[:4].tolist() == [0.0, 1.0, 2.0, 3.0]
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0
    x.untyped_storage().resize_(16)
    x.fill_(2)
    assert x.tolist() == [2.0, 2.0, 2.0, 2.0]


def test_storages_copy_and_move(device):
    storage = torch.arange(4.0, device=device).untyped_storage()
    twin = storage.clone()
    assert twin.device == device and twin.data_ptr() != storage.data_ptr()
    host = storage.cpu()
    assert host.device == torch.device("cpu")
    assert torch.empty(0).set_(host).tolist() == [0.0, 1.0, 2.0, 3.0]
    made = torch.UntypedStorage(16, device=device)
    made.copy_(host)
    assert torch.empty(0, device=device).set_(made).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_the_typed_storage_is_the_same_memory(device):
    x = torch.arange(4.0, device=device)
    storage = x.storage()
    assert storage.size() == 4 and storage.dtype == torch.float32
    assert storage.data_ptr() == x.data_ptr()
    assert storage.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_distinct_tensors_have_distinct_memory(device):
    kept = [torch.full((100,), float(i), device=device) for i in range(50)]
    assert len({x.data_ptr() for x in kept}) == 50
    assert [x[99].item() for x in kept] == list(range(50))
    assert all(x.data_ptr() % 16 == 0 for x in kept)


# ---- dtype views ----


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (torch.int32, (2, 3, 4)),
        (torch.uint8, (2, 3, 16)),
        (torch.int16, (2, 3, 8)),
        (torch.float64, (2, 3, 2)),
        (torch.complex64, (2, 3, 2)),
    ],
    ids=str,
)
def test_view_as_another_dtype(device, dtype, shape):
    view = same_as_cpu(device, lambda x: x.view(dtype), block())
    assert view.shape == shape


def test_writing_through_another_dtype(device):
    x = torch.zeros(4, device=device)
    x.view(torch.int32)[1:3] = 0x3F800000
    assert x.tolist() == [0.0, 1.0, 1.0, 0.0]


# ---- version counters ----


def test_versions_count_writes_through_every_alias(device):
    x = torch.zeros(4, device=device)
    view = x[1:]
    start = x._version
    view.add_(1)
    x[0] = 3
    torch.add(x, 1, out=x)
    x.copy_(torch.ones(4))
    expected = torch.zeros(4)
    alias, first = expected[1:], expected._version
    alias.add_(1)
    expected[0] = 3
    torch.add(expected, 1, out=expected)
    expected.copy_(torch.ones(4))
    assert x._version - start == expected._version - first
    assert view._version == x._version
    assert x.detach()._version == x._version
    assert x.clone()._version == 0


def test_reading_does_not_count_as_a_write(device):
    x = torch.arange(4.0, device=device)
    before = x._version
    x + 1, x.sum().item(), x.cpu(), repr(x), x.tolist(), torch.relu(x)
    assert x._version == before


def test_a_view_keeps_its_base_alive(device):
    view = torch.arange(1000.0, device=device)[500:502]
    others = [torch.full((1000,), -1.0, device=device) for _ in range(20)]
    assert view.tolist() == [500.0, 501.0]
    assert len(others) == 20


def test_a_view_knows_its_base(device):
    x = on(device, torch.zeros(2, 2, requires_grad=True)) * 1
    view = x.t()
    assert view._is_view() and view._base is x
    assert x.is_set_to(x.view(2, 2))
