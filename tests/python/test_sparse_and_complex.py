"""Sparse layouts and complex numbers on the device."""

import pytest
import torch
from helpers import assert_equal, assert_same, on, same_as_cpu, same_gradients
from torch import nn

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled"),
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental"),
]


def dense(dtype=torch.float64):
    return torch.tensor([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]]).to(dtype)


def matrix(rows=4, columns=2):
    return torch.arange(rows * columns, dtype=torch.float64).reshape(rows, columns) + 1


# ---- COO ----


def coo(device):
    """An uncoalesced tensor made of device tensors: (0, 1) is 0.5 + 1.5."""
    indices = torch.tensor([[0, 2, 0, 0, 2], [1, 0, 3, 1, 2]], device=device)
    numbers = torch.tensor([0.5, 3.0, 1.0, 1.5, 4.0], dtype=torch.float64, device=device)
    return torch.sparse_coo_tensor(indices, numbers, (3, 4))


def test_coo_from_device_tensors_is_on_the_device(device):
    x = coo(device)
    assert x.device == device and x.layout == torch.sparse_coo
    assert x.is_sparse and x._nnz() == 5 and not x.is_coalesced()
    assert x._indices().device == device and x._values().device == device


def test_coo_to_dense_adds_duplicates(device):
    made = coo(device).to_dense()
    assert made.device == device
    assert_equal(made, dense())


def test_coo_coalesces(device):
    x = coo(device).coalesce()
    assert x.is_coalesced() and x._nnz() == 4
    assert x.indices().tolist() == [[0, 0, 2, 2], [1, 3, 0, 2]]
    assert x.values().tolist() == [2.0, 1.0, 3.0, 4.0]
    assert x.values().device == device


def test_dense_to_coo(device):
    x = dense().to(device).to_sparse()
    assert x.device == device and x.layout == torch.sparse_coo
    assert_equal(x.indices(), torch.tensor([[0, 0, 2, 2], [1, 3, 0, 2]]))
    assert_equal(x.to_dense(), dense())


def test_coo_crosses_between_cpu_and_device(device):
    there = coo("cpu").to(device)
    assert there.device == device and there._nnz() == 5
    assert_equal(there.to_dense(), dense())
    back = there.cpu()
    assert back.device == torch.device("cpu")
    assert_equal(back.to_dense(), dense())
    assert_equal(back._indices(), coo("cpu")._indices())


def test_a_sparse_tensor_made_with_a_device_argument(device):
    x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), device=device)
    assert x.device == device
    assert x.to_dense().tolist() == [[0.0, 1.0], [2.0, 0.0]]


def test_an_invalid_sparse_tensor_is_refused(device):
    indices = torch.tensor([[0, 5], [0, 1]], device=device)
    with pytest.raises(RuntimeError, match="size"):
        torch.sparse_coo_tensor(
            indices, torch.ones(2, device=device), (3, 3), check_invariants=True
        )


COO_OPERATIONS = {
    "matmul": lambda s, m: s @ m,
    "sparse_mm": lambda s, m: torch.sparse.mm(s, m),
    "mv": lambda s, m: s.mv(m[:, 0]),
    "add_sparse": lambda s, m: (s + s).to_dense(),
    "add_dense": lambda s, m: torch.add(s.to_dense(), s),
    "sub": lambda s, m: (s - s * 2).to_dense(),
    "mul_sparse": lambda s, m: (s.coalesce() * s.coalesce()).to_dense(),
    "mul_number": lambda s, m: (3 * s).to_dense(),
    "div_number": lambda s, m: (s.coalesce() / 2).to_dense(),
    "neg": lambda s, m: (-s).to_dense(),
    "sum": lambda s, m: torch.sparse.sum(s),
    "sum_dim": lambda s, m: torch.sparse.sum(s, dim=0).to_dense(),
    "softmax": lambda s, m: torch.sparse.softmax(s.coalesce(), 1).to_dense(),
    "transpose": lambda s, m: s.t().to_dense(),
    "relu": lambda s, m: s.coalesce().relu().to_dense(),
    "abs": lambda s, m: s.coalesce().abs().to_dense(),
    "sqrt": lambda s, m: s.coalesce().sqrt().to_dense(),
    "index_select": lambda s, m: s.index_select(0, torch.tensor([2, 0]).to(s.device)).to_dense(),
    "narrow_row": lambda s, m: s[2].to_dense(),
    "cat": lambda s, m: torch.cat([s, s]).to_dense(),
    "norm": lambda s, m: s.coalesce().norm(),
    "clone": lambda s, m: s.clone().to_dense(),
    "addmm": lambda s, m: torch.sparse.addmm(torch.ones(3, 2).to(m), s, m, beta=2, alpha=3),
    "sparse_product": lambda s, m: torch.sparse.mm(s, s.t()).to_dense(),
    "sparse_mask": lambda s, m: dense().to(s.device).sparse_mask(s.coalesce()).to_dense(),
    "zero": lambda s, m: s.clone().zero_().to_dense(),
    "to_float32": lambda s, m: s.to(torch.float32).to_dense(),
}


@pytest.mark.parametrize("name", COO_OPERATIONS)
def test_coo_operations(device, name):
    result = COO_OPERATIONS[name](coo(device), matrix().to(device))
    assert result.device == device
    assert_same(result, COO_OPERATIONS[name](coo("cpu"), matrix()))


def test_gradients_of_a_sparse_matrix_product(device):
    def run(where):
        s = coo(where).coalesce().requires_grad_()
        m = matrix().to(where).requires_grad_()
        torch.sparse.mm(s, m).square().sum().backward()
        return s.grad.to_dense(), m.grad

    actual = run(device)
    assert all(grad.device == device for grad in actual)
    assert_same(actual, run("cpu"))


def test_gradients_to_the_values_of_a_sparse_tensor(device):
    def fn(numbers):
        indices = torch.tensor([[0, 1], [1, 0]], device=numbers.device)
        s = torch.sparse_coo_tensor(indices, numbers, (2, 2))
        return torch.sparse.mm(s, matrix(2, 2).to(numbers.device))

    same_gradients(device, fn, torch.tensor([2.0, 5.0], dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize(
    "optimizer", [torch.optim.SparseAdam, torch.optim.SGD, torch.optim.Adagrad]
)
def test_a_sparse_embedding_trains(device, optimizer):
    def run(where):
        torch.manual_seed(0)
        table = nn.Embedding(6, 3, sparse=True).to(where)
        stepper = optimizer(table.parameters(), lr=0.1)
        for _ in range(3):
            stepper.zero_grad()
            table(torch.tensor([1, 4, 1], device=where)).square().sum().backward()
            assert table.weight.grad.is_sparse
            stepper.step()
        return table.weight, table.weight.grad.coalesce().to_dense()

    actual = run(device)
    assert actual[0].device == device
    assert_same(actual, run("cpu"))


def test_an_embedding_bag_with_sparse_gradients(device):
    def run(where):
        torch.manual_seed(0)
        bag = nn.EmbeddingBag(6, 3, mode="sum", sparse=True).to(where)
        result = bag(torch.tensor([1, 2, 4, 1], device=where), torch.tensor([0, 2], device=where))
        result.sum().backward()
        return result, bag.weight.grad.to_dense()

    assert_same(run(device), run("cpu"))


# ---- CSR ----


def csr(device):
    return torch.sparse_csr_tensor(
        torch.tensor([0, 2, 2, 4], device=device),
        torch.tensor([1, 3, 0, 2], device=device),
        torch.tensor([2.0, 1.0, 3.0, 4.0], dtype=torch.float64, device=device),
        (3, 4),
    )


def test_csr_from_device_tensors_is_on_the_device(device):
    x = csr(device)
    assert x.device == device and x.layout == torch.sparse_csr
    assert x.crow_indices().tolist() == [0, 2, 2, 4]
    assert x.col_indices().tolist() == [1, 3, 0, 2]
    assert x.values().device == device
    assert_equal(x.to_dense(), dense())


def test_dense_to_csr_and_csc(device):
    x = dense().to(device)
    assert_equal(x.to_sparse_csr().crow_indices(), torch.tensor([0, 2, 2, 4]))
    assert_equal(x.to_sparse_csr().to_dense(), dense())
    assert_equal(x.to_sparse_csc().ccol_indices(), torch.tensor([0, 1, 2, 3, 4]))
    assert_equal(x.to_sparse_csc().to_dense(), dense())
    assert x.to_sparse_csr().device == device


def test_blocked_layouts(device):
    x = torch.zeros(4, 4)
    x[0:2, 2:4] = 5
    for convert, layout in (
        (torch.Tensor.to_sparse_bsr, torch.sparse_bsr),
        (torch.Tensor.to_sparse_bsc, torch.sparse_bsc),
    ):
        made = convert(x.to(device), (2, 2))
        assert made.layout == layout and made.device == device
        assert made.values().shape == (1, 2, 2)
        assert_equal(made.to_dense(), x)


def test_csr_crosses_between_cpu_and_device(device):
    there = csr("cpu").to(device)
    assert there.device == device and there.layout == torch.sparse_csr
    assert_equal(there.values(), csr("cpu").values())
    back = there.cpu()
    assert back.device == torch.device("cpu")
    assert_equal(back.to_dense(), dense())


CSR_OPERATIONS = {
    "matmul": lambda s, m: s @ m,
    "mv": lambda s, m: s.mv(m[:, 1]),
    "addmm": lambda s, m: torch.addmm(torch.ones(3, 2).to(m), s, m, alpha=2),
    "mul_number": lambda s, m: (s * 3).to_dense(),
    "neg": lambda s, m: (-s).to_dense(),
    "sin": lambda s, m: s.sin().to_dense(),
    "add": lambda s, m: (s + s).to_dense(),
    "to_coo": lambda s, m: s.to_sparse_coo().to_dense(),
    "transpose": lambda s, m: s.t().to_dense(),
    "clone": lambda s, m: s.clone().to_dense(),
}


@pytest.mark.parametrize("name", CSR_OPERATIONS)
def test_csr_operations(device, name):
    result = CSR_OPERATIONS[name](csr(device), matrix().to(device))
    assert result.device == device
    assert_same(result, CSR_OPERATIONS[name](csr("cpu"), matrix()))


@pytest.mark.parametrize("make", [coo, csr], ids=["coo", "csr"])
def test_sparse_tensors_print_as_on_the_cpu(device, make):
    def text(where):
        return "".join(repr(make(where)).split()).replace(f",device='{where}'", "")

    assert text(device) == text("cpu")
    if device.type != "cpu":
        assert f"device='{device}'" in repr(make(device))


@pytest.mark.parametrize("make", [coo, csr], ids=["coo", "csr"])
def test_sparse_tensors_can_be_saved(device, make, tmp_path):
    torch.save(make(device), tmp_path / "sparse.pt")
    loaded = torch.load(tmp_path / "sparse.pt")
    assert loaded.device == device and loaded.layout == make("cpu").layout
    assert_equal(loaded.to_dense(), dense())


# ---- complex numbers ----


def waves(*shape, dtype=torch.complex128):
    return torch.randn(*shape, dtype=dtype)


def hermitian(n=4):
    a = waves(n, n)
    return a @ a.mH + n * torch.eye(n)


COMPLEX_OPERATIONS = {
    "add": lambda z: z + z,
    "mul": lambda z: z * (2 - 1j) * z,
    "div": lambda z: 1 / z,
    "matmul": lambda z: z @ z,
    "abs": lambda z: z.abs(),
    "angle": lambda z: z.angle(),
    "exp": lambda z: z.exp(),
    "log": lambda z: z.log(),
    "sqrt": lambda z: z.sqrt(),
    "pow": lambda z: z**3,
    "tanh": lambda z: z.tanh(),
    "sum": lambda z: z.sum(0),
    "mean": lambda z: z.mean(),
    "prod": lambda z: z.prod(1),
    "cumsum": lambda z: z.cumsum(0),
    "polar": lambda z: torch.polar(z.abs(), z.angle()),
    "complex": lambda z: torch.complex(z.real, z.imag),
    "conj_matmul": lambda z: z.conj() @ z.mH,
    "conj_add": lambda z: z.conj() + z,
    "conj_resolved": lambda z: z.conj().resolve_conj(),
    "conj_physical": lambda z: z.conj_physical(),
    "negated_imag": lambda z: z.conj().imag * 2,
    "negated_resolved": lambda z: z.conj().imag.resolve_neg(),
    "negated_sum": lambda z: z.conj().imag.sum(1),
    "conj_of_view": lambda z: z.t()[1:].conj().exp(),
    "vdot": lambda z: torch.vdot(z[0], z[1]),
    "isfinite": lambda z: torch.isfinite(z),
    "eq": lambda z: z == z.clone(),
    "cov": lambda z: torch.cov(z),
    "fft": lambda z: torch.fft.fft(z),
    "ifft": lambda z: torch.fft.ifft(z),
    "fft2": lambda z: torch.fft.fft2(z),
    "hfft": lambda z: torch.fft.hfft(z),
    "rfft": lambda z: torch.fft.rfft(z.real),
    "irfft": lambda z: torch.fft.irfft(z),
    "fftshift": lambda z: torch.fft.fftshift(z),
    "fftfreq": lambda z: torch.fft.fftfreq(8, device=z.device),
    "stft": lambda z: torch.stft(
        z.real.reshape(-1),
        8,
        4,
        window=torch.hann_window(8, device=z.device).double(),
        return_complex=True,
    ),
    "det": lambda z: torch.linalg.det(z),
    "inv": lambda z: torch.linalg.inv(z),
    "solve": lambda z: torch.linalg.solve(z, z[:, :2]),
    "svdvals": lambda z: torch.linalg.svdvals(z),
    "pinv": lambda z: torch.linalg.pinv(z),
    "matrix_norm": lambda z: torch.linalg.matrix_norm(z, 2),
    "einsum": lambda z: torch.einsum("ij,kj->ik", z, z.conj()),
    "view_as_real": lambda z: torch.view_as_real(z.resolve_conj()),
}


@pytest.mark.parametrize("name", COMPLEX_OPERATIONS)
def test_complex_operations(device, name):
    same_as_cpu(device, COMPLEX_OPERATIONS[name], waves(4, 4))


@pytest.mark.parametrize("name", COMPLEX_OPERATIONS)
def test_complex_operations_on_a_conjugated_tensor(device, name):
    z = waves(4, 4)
    actual = COMPLEX_OPERATIONS[name](z.to(device).conj())
    assert actual.device == device
    assert_same(actual, COMPLEX_OPERATIONS[name](z.conj()))


def test_complex_decompositions(device):
    a = hermitian()
    same_as_cpu(device, torch.linalg.eigvalsh, a)
    same_as_cpu(device, torch.linalg.cholesky, a)
    there = a.to(device)
    u, s, vh = torch.linalg.svd(there)
    assert_same(u * s @ vh, a)
    values, vectors = torch.linalg.eigh(there)
    assert_same(vectors * values @ vectors.mH, a)
    q, r = torch.linalg.qr(there)
    assert_same(q @ r, a)
    assert_same(q.mH @ q, torch.eye(4, dtype=torch.complex128))


@pytest.mark.parametrize(
    "name", ["mul", "matmul", "abs", "exp", "fft", "conj_matmul", "negated_imag"]
)
def test_gradients_of_complex_operations(device, name):
    same_gradients(device, COMPLEX_OPERATIONS[name], waves(3, 3).requires_grad_())


def test_lazy_bits_are_lazy(device):
    z = waves(3).to(device)
    assert z.conj().is_conj() and z.conj().data_ptr() == z.data_ptr()
    assert not z.conj().conj().is_conj()
    assert z.conj().imag.is_neg()
    assert not z.conj().resolve_conj().is_conj()
    assert not z.conj().clone().is_conj() or z.conj().clone().data_ptr() != z.data_ptr()


def test_in_place_on_lazy_bits_writes_the_base(device):
    def write(z):
        z.conj().mul_(2j)
        z.conj().imag.add_(1)
        torch.add(z, 1, out=z.conj())
        return z

    same_as_cpu(device, write, waves(4))


def test_complex32_converts(device):
    z = on(device, torch.tensor([1 + 2j, 3 - 4j]))
    half = z.to(torch.complex32)
    assert half.device == device
    assert half.to(torch.complex64).tolist() == [1 + 2j, 3 - 4j]
