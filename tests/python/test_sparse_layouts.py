"""All sparse layouts on the device: operators, conversions, autograd and copies give what the CPU gives."""

import copy

import pytest
import torch
from helpers import assert_equal, assert_same, output_of

import torchplug

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|BSR|BSC) tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled"),
]

CONVERSIONS = {
    "coo": lambda x: x.to_sparse_coo(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((2, 2)),
}
LAYOUTS = list(CONVERSIONS)


def dense(dtype=torch.float64):
    rows = [[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0], [0, 0, 5, 0]]
    return torch.tensor(rows, dtype=dtype)


def sparse(layout, where, dtype=torch.float64):
    return CONVERSIONS[layout](dense(dtype).to(where))


def matrix(where):
    return (torch.arange(16, dtype=torch.float64).reshape(4, 4) + 1).to(where)


def pieces(value):
    """The parts of a sparse tensor; others as they are."""
    if isinstance(value, (list, tuple)):
        return [pieces(item) for item in value]
    if not isinstance(value, torch.Tensor) or value.layout == torch.strided:
        return value
    if value.layout == torch.sparse_coo:
        return [
            str(value.layout),
            value.is_coalesced(),
            value._indices(),
            value._values(),
            value.shape,
        ]
    by_row = value.layout in (torch.sparse_csr, torch.sparse_bsr)
    compressed, plain = (
        (value.crow_indices(), value.col_indices())
        if by_row
        else (value.ccol_indices(), value.row_indices())
    )
    return [str(value.layout), compressed, plain, value.values(), value.shape]


def outcome(fn, where):
    """The pieces of the result, which is on the device, or the refusal."""
    try:
        result = fn(where)
    except (RuntimeError, NotImplementedError, ValueError, IndexError) as error:
        return error
    for tensor in result if isinstance(result, (list, tuple)) else [result]:
        assert (
            not isinstance(tensor, torch.Tensor) or tensor.device.type == torch.device(where).type
        )
    return pieces(result)


def check_same(device, fn):
    expected, actual = outcome(fn, "cpu"), outcome(fn, device)
    if isinstance(expected, Exception):
        assert isinstance(actual, (RuntimeError, NotImplementedError, ValueError, IndexError)), (
            actual
        )
        return False
    if isinstance(actual, Exception):
        raise actual
    assert_same(actual, expected)
    return True


OPERATIONS = {
    "matmul": lambda s, m: s @ m,
    "matmul_from_the_left": lambda s, m: m @ s,
    "mv": lambda s, m: s @ m[0],
    "product_of_sparse": lambda s, m: torch.sparse.mm(s, s),
    "addmm": lambda s, m: torch.addmm(m, s, m, beta=2, alpha=3),
    "sparse_addmm": lambda s, m: torch.sparse.addmm(m, s, m),
    "reduced_product": lambda s, m: torch.sparse.mm(s, m, "mean"),
    "sampled_addmm": lambda s, m: torch.sparse.sampled_addmm(s, m, m),
    "linear": lambda s, m: torch.nn.functional.linear(m, s),
    "bmm": lambda s, m: torch.bmm(torch.stack([s, s]), torch.stack([m, m])),
    "hspmm": lambda s, m: torch.hspmm(s, m),
    "smm": lambda s, m: torch.smm(s, m),
    "sspaddmm": lambda s, m: torch.sspaddmm(s, s, m),
    "add": lambda s, m: s + s,
    "add_to_dense": lambda s, m: m + s,
    "sub": lambda s, m: s - s * 3,
    "mul": lambda s, m: s * s,
    "mul_dense": lambda s, m: s * m,
    "mul_number": lambda s, m: s * 3,
    "div_number": lambda s, m: s / 2,
    "neg": lambda s, m: -s,
    "abs": lambda s, m: s.abs(),
    "sqrt": lambda s, m: s.sqrt(),
    "sin": lambda s, m: s.sin(),
    "tanh": lambda s, m: s.tanh(),
    "log1p": lambda s, m: s.log1p(),
    "sign": lambda s, m: s.sign(),
    "relu": lambda s, m: torch.relu(s),
    "pow": lambda s, m: s.pow(2),
    "isnan": lambda s, m: s.isnan(),
    "sum": lambda s, m: s.sum(),
    "sum_dim": lambda s, m: torch.sum(s, 0),
    "sparse_sum": lambda s, m: torch.sparse.sum(s, 0),
    "softmax": lambda s, m: torch.sparse.softmax(s, 1),
    "log_softmax": lambda s, m: torch.sparse.log_softmax(s, 1),
    "norm": lambda s, m: s.norm(),
    "transpose": lambda s, m: s.t(),
    "row": lambda s, m: s[2],
    "element": lambda s, m: s[0, 1],
    "index_select": lambda s, m: s.index_select(0, torch.tensor([2, 0]).to(s.device)),
    "narrow_copy": lambda s, m: torch.narrow_copy(s, 0, 0, 2),
    "cat": lambda s, m: torch.cat([s, s]),
    "stack": lambda s, m: torch.stack([s, s]),
    "unsqueeze": lambda s, m: s.unsqueeze(0),
    "mask": lambda s, m: m.sparse_mask(s),
    "zeros_like": lambda s, m: torch.zeros_like(s),
    "clone": lambda s, m: s.clone(),
    "to_float": lambda s, m: s.float(),
    "to_complex": lambda s, m: s.to(torch.complex128) * 2j,
    "zero_": lambda s, m: s.clone().zero_(),
    "mul_": lambda s, m: s.clone().mul_(3),
    "add_": lambda s, m: s.clone().add_(s),
    "neg_": lambda s, m: s.clone().neg_(),
    "copy_": lambda s, m: s.clone().copy_(s * 2),
    "resize_as": lambda s, m: s.clone().resize_as_(s),
    "coalesce": lambda s, m: s.coalesce(),
    "count": lambda s, m: s._nnz(),
    "item": lambda s, m: s.sum().item(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(device, layout, name):
    """And what the CPU refuses is refused."""
    check_same(device, lambda where: OPERATIONS[name](sparse(layout, where), matrix(where)))


def test_each_operation_is_taken_in_some_layout(device):
    def is_taken(operation):
        return any(
            check_same(
                device, lambda where, layout=layout: operation(sparse(layout, where), matrix(where))
            )
            for layout in LAYOUTS
        )

    assert [name for name, operation in OPERATIONS.items() if not is_taken(operation)] == []


@pytest.mark.parametrize("to", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_convert_into_each_other(device, layout, to):
    taken = check_same(device, lambda where: CONVERSIONS[to](sparse(layout, where)))
    assert taken or "bs" in layout + to, "the CPU converts all but blocked ones"
    assert_equal(sparse(layout, device).to_dense(), dense())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_products_and_of_to_dense(device, layout):
    def product(where):
        s = sparse(layout, where).detach().requires_grad_()
        m = matrix(where).requires_grad_()
        torch.sparse.mm(s, m).square().sum().backward()
        return [s.grad, m.grad]

    def spread(where):
        s = sparse(layout, where).detach().requires_grad_()
        s.to_dense().square().sum().backward()
        return s.grad

    check_same(device, product)
    check_same(device, spread)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_cross_between_devices(device, other_device, layout):
    there = sparse(layout, device).to(other_device)
    assert there.device == other_device and there.values().device == other_device
    assert_same(pieces(there), pieces(sparse(layout, "cpu")))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_cross_and_convert_at_once(device, layout):
    expected = pieces(sparse(layout, "cpu").to(torch.float32))
    assert_same(pieces(sparse(layout, "cpu").to(device, torch.float32)), expected)
    assert_same(pieces(sparse(layout, device).to("cpu", torch.float32)), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_are_saved_loaded_and_copied(device, layout, tmp_path):
    torch.save(sparse(layout, device), tmp_path / "sparse.pt")
    loaded = torch.load(tmp_path / "sparse.pt")
    assert loaded.device == device
    assert_same(pieces(loaded), pieces(sparse(layout, "cpu")))
    at_home = torch.load(tmp_path / "sparse.pt", map_location="cpu")
    assert_same(pieces(at_home), pieces(sparse(layout, "cpu")))
    assert at_home.device == torch.device("cpu")


@pytest.mark.accelerator("the CPU has no deepcopy of compressed tensors")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_deep_copy_is_a_copy(device, layout):
    original = sparse(layout, device)
    twin = copy.deepcopy(original)
    twin.values().fill_(9.0)
    assert_same(pieces(original), pieces(sparse(layout, "cpu")))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_values_are_the_tensors_own(device, layout):
    def write(where):
        s = sparse(layout, where)
        s.values().mul_(2)
        return s

    check_same(device, write)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int64], ids=str
)
def test_other_types(device, layout, dtype):
    check_same(device, lambda where: (sparse(layout, where, dtype) * 3).to_dense())


def test_mixed_precision_leaves_sparse_products_right(device):
    if device.type == "hello":
        pytest.skip("computes in float32 alone")
    s = sparse("coo", device, torch.float32)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        result = torch.sparse.mm(s, matrix(device).float())
    assert_same(result.float().cpu(), (dense() @ matrix("cpu")).float(), rtol=1e-2, atol=1e-2)


@pytest.mark.accelerator("has a ledger")
def test_operators_on_sparse_tensors_are_in_the_ledger(device):
    s = sparse("csr", device)
    torchplug.reset_ledger()
    s.sin()
    entries = [entry for entry in torchplug.ledger() if entry.op == "aten::sin"]
    assert [(entry.way, entry.count) for entry in entries] == [("stage", 1)]
    assert entries[0].bytes == 2 * (5 + 5 + 5) * 8
    assert entries[0].reason == "the plugin has no kernel for it"


REFUSED = """
x = torch.eye(2).to_sparse().to(device)
try:
    x.sin()
except NotImplementedError as error:
    print(error)
"""


@pytest.mark.accelerator("nothing falls back on the CPU")
def test_a_fallback_on_sparse_tensors_can_be_forbidden(device):
    said = output_of(REFUSED, device, TORCHPLUG_FALLBACK="error")
    assert "aten::sin runs on the CPU (stage)" in said and "forbids it" in said


# ---- views of sparse tensors ----


def hybrid(where, dtype=torch.float32):
    """Two sparse dimensions, one dense."""
    indices = torch.tensor([[0, 1, 2], [2, 0, 1]])
    values = torch.arange(6.0).reshape(3, 2).to(dtype) + 1
    return torch.sparse_coo_tensor(indices.to(where), values.to(where), (3, 3, 2)).coalesce()


VIEWS = {
    "unsqueeze": lambda s: s.unsqueeze(0),
    "unsqueeze a dense dimension": lambda s: s.unsqueeze(-1),
    "permute the sparse": lambda s: s.permute(1, 0, 2),
    "select the dense": lambda s: s.select(2, 1),
    "detach": lambda s: s.detach(),
}
COMPLEX_VIEWS = {
    "view_as_real": torch.view_as_real,
    "real": lambda s: s.real,
    "imag": lambda s: s.imag,
}


def check_shares(device, view, dtype):
    """Writing the values of a view shows in the base, and the other way round, where it does on the CPU."""
    seen = []
    for where in ("cpu", device):
        base = hybrid(where, dtype)
        shown = view(base)
        shown._values().mul_(10)
        after_view = base.to_dense().cpu()
        base._values().add_(1)
        seen.append((after_view, shown.to_dense().cpu(), shown.shape, shown.is_coalesced()))
    assert_same(seen[1], seen[0])


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_coo_tensor_shares_its_values(device, name):
    check_shares(device, VIEWS[name], torch.float32)


@pytest.mark.parametrize("name", COMPLEX_VIEWS)
def test_a_view_of_a_complex_coo_tensor_shares_its_values(device, name):
    check_shares(device, COMPLEX_VIEWS[name], torch.complex64)


def test_view_as_complex_of_a_coo_tensor_shares_its_values(device):
    check_shares(device, torch.view_as_complex, torch.float32)


def test_a_part_of_a_batch_of_compressed_tensors_shares_its_values(device):
    for where in ("cpu", device):
        batch = torch.stack([dense(), dense() * 2]).to(where).to_sparse_csr()
        batch[1].values().zero_()
        assert batch.to_dense()[1].count_nonzero() == 0 and batch.to_dense()[0].count_nonzero() == 5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("change", [lambda s: s.mul_(3), lambda s: s.neg_(), lambda s: s.zero_()])
def test_what_is_changed_in_place_shows_in_the_values_taken_before(device, layout, change):
    seen = []
    for where in ("cpu", device):
        s = sparse(layout, where)
        values = s._values() if layout == "coo" else s.values()
        try:
            change(s)
        except (RuntimeError, NotImplementedError) as error:
            seen.append(type(error))
        else:
            seen.append([values.cpu(), s.to_dense().cpu()])
    if isinstance(seen[0], type):
        assert seen[1] is seen[0]
    else:
        assert_same(seen[1], seen[0])


# ---- sparse tensors that are checked ----


@pytest.fixture
def checked():
    with torch.sparse.check_sparse_tensor_invariants(True):
        yield


def test_unsorted_columns_that_the_cpu_takes_are_taken(device, checked):
    def unsorted(where):
        with torch.sparse.check_sparse_tensor_invariants(False):
            made = torch.sparse_csr_tensor([0, 2, 3], [1, 0, 1], [1.0, 2.0, 3.0], (2, 2))
        return made.to(where)

    for fn in (
        lambda s: s * 2,
        lambda s: s @ torch.ones(2, 2, device=s.device),
        lambda s: s.to_dense(),
        lambda s: s.cpu().to_dense().to(s.device),
        lambda s: s.neg(),
    ):
        check_same(device, lambda where, fn=fn: fn(unsorted(where)))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_coalesced_tensor_is_checked_as_on_the_cpu(device, dims):
    def make(where, rows):
        indices = torch.tensor(rows, device=where)[:, None].expand(-1, dims).t().contiguous()
        values = torch.ones(len(rows), device=where)
        size = (4,) * dims
        return torch.sparse_coo_tensor(
            indices, values, size, is_coalesced=True, check_invariants=True
        )

    check_same(device, lambda where: make(where, [0, 2, 3]))
    for rows in ([2, 0, 3], [0, 0, 1], [0, 2, 4], []):
        check_same(device, lambda where, rows=rows: make(where, rows))


def test_gradcheck_over_sparse_inputs(device):
    s = sparse("coo", device).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: torch.sparse.sum(s * s), (s,), masked=True, check_undefined_grad=False
    )


def test_two_sparse_gradients_accumulate_to_as_many_elements_as_on_the_cpu(device):
    counts = []
    for where in ("cpu", device):
        weight = torch.ones(5, 2, device=where, requires_grad=True)
        for rows in ([0, 1], [1, 3], [3]):
            index = torch.tensor(rows, device=where)
            torch.nn.functional.embedding(index, weight, sparse=True).sum().backward()
            counts.append(
                (weight.grad._nnz(), weight.grad.is_coalesced(), weight.grad.to_dense().cpu())
            )
    half = len(counts) // 2
    assert_same(counts[half:], counts[:half])
