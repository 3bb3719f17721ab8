"""Integers, order and counting against the CPU."""

import pytest
import torch
from helpers import same_as_cpu
from torch.nn import functional as F


def shuffled(*shape):
    count = torch.Size(shape).numel()
    return torch.randperm(count).reshape(shape)


COUNTING = {
    "sort": lambda x: x.sort(dim=1, descending=True),
    "stable_sort": lambda x: torch.sort(x % 3, dim=1, stable=True),
    "argsort": lambda x: x.argsort(0),
    "msort": lambda x: torch.msort(x),
    "topk": lambda x: x.topk(2, dim=1),
    "topk_smallest": lambda x: x.topk(3, dim=1, largest=False),
    "kthvalue": lambda x: x.kthvalue(2, dim=0),
    "unique": lambda x: torch.unique(x % 5, return_inverse=True, return_counts=True),
    "unique_dim": lambda x: torch.unique(x % 2, dim=0, return_counts=True),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.flatten() // 4, return_counts=True),
    "nonzero": lambda x: x.nonzero(),
    "nonzero_tuple": lambda x: x.nonzero(as_tuple=True),
    "count_nonzero": lambda x: x.count_nonzero(0),
    "histc": lambda x: torch.histc(x.double(), 5, 0, 20),
    "bincount": lambda x: torch.bincount(x.flatten() % 4),
    "bincount_weights": lambda x: torch.bincount(x.flatten() % 4, x.flatten().double(), 6),
    "searchsorted": lambda x: torch.searchsorted(x.flatten().sort().values, x[0] + 1),
    "bucketize": lambda x: torch.bucketize(x, x[0].sort().values, right=True),
    "argmax": lambda x: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)),
    "max_dim": lambda x: x.max(1),
    "aminmax": lambda x: torch.aminmax(x),
    "any_all": lambda x: (x.bool().any(), x.bool().all(1), (x > 3).any(0)),
    "cumsum": lambda x: x.cumsum(1),
    "cummax": lambda x: x.cummax(1),
    "integer_sum": lambda x: (x.int().sum(), x.to(torch.uint8).sum(), x.bool().sum()),
    "integer_matmul": lambda x: x @ x.t(),
    "median": lambda x: (x.median(), x.median(1), x.double().nanmedian()),
    "mode": lambda x: (x % 3).mode(1).values,
    "quantile": lambda x: x.double().quantile(
        torch.tensor([0.25, 0.9]).to(x.device).double(), dim=1
    ),
    "isin": lambda x: torch.isin(x, x[0]),
    "one_hot": lambda x: F.one_hot(x % 4, 5),
    "tril_triu": lambda x: (x.tril(-1), x.triu(1)),
    "gcd": lambda x: torch.gcd(x, torch.full_like(x, 12)),
    "bitwise": lambda x: (x & 3, x | 8, x ^ 5, ~x, x << 2, x >> 1),
    "rounding": lambda x: [
        (x / 7).double().__getattribute__(f)() for f in ("round", "floor", "trunc")
    ],
    "scatter_count": lambda x: torch.zeros(4, device=x.device, dtype=x.dtype).scatter_add_(
        0, x.flatten() % 4, torch.ones_like(x.flatten())
    ),
    "histogram_of_ints": lambda x: torch.histc((x % 4).float(), bins=4, min=0, max=3),
    "arange_linspace": lambda x: (
        torch.arange(1, 9, 2, device=x.device),
        torch.linspace(0, 1, 7, device=x.device),
        torch.logspace(0, 2, 5, device=x.device),
        torch.eye(3, device=x.device),
        torch.full((2,), 7, device=x.device),
    ),
    "combinations": lambda x: torch.combinations(x[0], 2),
    "allclose": lambda x: (torch.allclose(x.double(), x.double()), torch.equal(x, x + 1)),
}


@pytest.mark.parametrize("name", COUNTING)
def test_order_and_counting(device, name):
    same_as_cpu(device, COUNTING[name], shuffled(4, 6))


@pytest.mark.accelerator("the CPU's own histc takes no integers")
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_histc_counts_the_integers_of_a_router(device, dtype):
    """Mixture-of-experts routing asks every accelerator for this."""
    x = torch.tensor([0, 3, 1, 3, 2, 3]).to(device, dtype)
    counts = torch.histc(x, bins=4, min=0, max=3)
    assert counts.device == device
    assert counts.tolist() == [1, 1, 1, 3]
