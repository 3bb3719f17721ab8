"""Linear algebra, values and gradients, against the CPU."""

import pytest
import torch
from helpers import assert_same, same_as_cpu, same_gradients


def real(*shape, grad=True):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=grad)


def square(n=4):
    return real(n, n, grad=False) + n * torch.eye(n, dtype=torch.float64)


def symmetric(n=4):
    a = real(n, n, grad=False)
    return a @ a.t() + torch.eye(n, dtype=torch.float64)


LINEAR_ALGEBRA = {
    "solve": lambda a: torch.linalg.solve(a, a[:, :2] + 1),
    "inv": lambda a: torch.linalg.inv(a),
    "inv_ex": lambda a: torch.linalg.inv_ex(a),
    "det": lambda a: torch.linalg.det(a),
    "slogdet": lambda a: tuple(torch.linalg.slogdet(a)),
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.mT),
    "cholesky_solve": lambda a: torch.cholesky_solve(a, torch.linalg.cholesky(a @ a.mT)),
    "svdvals": lambda a: torch.linalg.svdvals(a),
    "eigvalsh": lambda a: torch.linalg.eigvalsh(a + a.mT),
    "lstsq": lambda a: torch.linalg.lstsq(a[:, :2], a[:, 2:]).solution,
    "pinv": lambda a: torch.linalg.pinv(a[:, :2]),
    "matrix_rank": lambda a: torch.linalg.matrix_rank(a),
    "matrix_power": lambda a: torch.linalg.matrix_power(a, 3),
    "matrix_exp": lambda a: torch.linalg.matrix_exp(a / 10),
    "norms": lambda a: (torch.linalg.norm(a), torch.linalg.matrix_norm(a, 2), torch.linalg.cond(a)),
    "triangular": lambda a: torch.linalg.solve_triangular(a.triu(), a, upper=True),
    "lu_solve": lambda a: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), a),
    "multi_dot": lambda a: torch.linalg.multi_dot([a, a, a[:, :2]]),
    "cross": lambda a: torch.linalg.cross(a[:3], a[:3] + 1, dim=0),
    "vander": lambda a: torch.linalg.vander(a[0]),
}


@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
def test_linear_algebra(device, name):
    fn = LINEAR_ALGEBRA[name]
    same_as_cpu(device, fn, square())
    if name not in ("lstsq", "cross", "vander", "multi_dot"):
        batch = torch.stack([square(), square()])
        if name in ("svdvals", "det", "inv", "cholesky", "eigvalsh", "matrix_exp"):
            same_as_cpu(device, fn, batch)


@pytest.mark.parametrize(
    "name", ["solve", "inv", "det", "cholesky", "eigvalsh", "lstsq", "svdvals"]
)
def test_gradients_of_linear_algebra(device, name):
    same_gradients(device, LINEAR_ALGEBRA[name], square().requires_grad_())


def test_decompositions_put_the_matrix_together_again(device):
    a = symmetric()
    there = a.to(device)
    u, s, vh = torch.linalg.svd(there)
    assert u.device == s.device == vh.device == device
    assert_same(u * s @ vh, a)
    values, vectors = torch.linalg.eigh(there)
    assert_same(vectors * values @ vectors.mT, a)
    q, r = torch.linalg.qr(there)
    assert_same(q @ r, a)
    p, lower, upper = torch.linalg.lu(there)
    assert_same(p @ lower @ upper, a)
    values, vectors = torch.linalg.eig(square().to(device))
    assert values.dtype == torch.complex128 and vectors.device == device


def test_a_singular_matrix_is_refused(device):
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(torch.zeros(3, 3, device=device)).cpu()
    with pytest.raises(torch.linalg.LinAlgError, match="positive-definite"):
        torch.linalg.cholesky(-torch.eye(3, device=device)).cpu()
