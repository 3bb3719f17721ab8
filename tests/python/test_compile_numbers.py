"""torch.compile(backend="torchplug"): programs whose numbers were once wrong, or lacked an error, in engines alone."""

import pytest
import torch
from compiling import compiled, same_as_eager, total
from torch.nn import functional as F

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


def soil(device):
    """Leaves memory behind in which elements that nobody writes are seen."""
    kept = [torch.full((n,), 7.0, device=device) for n in (16, 64, 256, 1024)]
    del kept


# ---- open sizes ----

OPEN = {
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "amax": lambda x: x.amax(-1, keepdim=True),
    "max": lambda x: x.max(-1)[0],
    "argmin": lambda x: x.argmin(-1),
    "any": lambda x: (x > 0).any(-1),
    "softmax": lambda x: x.softmax(-1),
    "softmax across": lambda x: x.softmax(1),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "every other": lambda x: (x + x[0, 0, 0])[..., ::2],
    "cumulated": lambda x: x.cumsum(2).exp(),
    "transposed": lambda x: (x.transpose(1, 2) * 2).contiguous().flatten(1).sum(0),
}


@pytest.mark.parametrize("name", OPEN)
def test_every_element_is_written_whatever_sizes_are_open(device, name):
    fn = OPEN[name]
    call = compiled(fn, dynamic=True)
    for shape in ((5, 4, 6, 1), (4, 3, 5, 1), (5, 4, 2, 2), (3, 7, 2, 5), (2, 3, 4, 9)):
        x = torch.randn(shape, device=device)
        soil(device)
        torch.testing.assert_close(call(x), fn(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("channels", [4, 6])
def test_group_norm_with_an_open_number_of_channels(device, channels):
    def fn(x):
        return F.group_norm(x, 2) * 2

    x = torch.randn(3, channels, 5, 6, device=device, requires_grad=True)
    call = compiled(fn, dynamic=True)
    soil(device)
    torch.testing.assert_close(call(x), fn(x), rtol=1e-5, atol=1e-5)
    ours, theirs = (torch.autograd.grad(f(x).square().sum(), x)[0] for f in (call, fn))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


# ---- dtypes ----


@pytest.mark.parametrize("where", ["cpu", "device"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_number_of_float32_is_not_rounded_to_a_half_first(device, where, dtype):
    x = torch.tensor([0.01, 0.0, -3.0], dtype=dtype, device=device)
    number = torch.tensor(
        1e5 if dtype == torch.float16 else 1.01, device="cpu" if where == "cpu" else device
    )
    for fn in (
        lambda x, n: (x * n) + 1,
        lambda x, n: (x / n) * 2,
        lambda x, n: (x + n * 0.5) * 2,
        lambda x, n: (n - x) * 2,
    ):
        same_as_eager(fn, x, number, tolerance={"rtol": 1e-2, "atol": 1e-6})


def test_logsumexp_of_whole_numbers(device):
    same_as_eager(lambda x: x.logsumexp(0), torch.arange(4, device=device))


# ---- zeros have signs ----

OF_ZEROS = {  # of which PyTorch's kernels agree with each other
    "clamp": lambda x: x.clamp(0.0, 1.0),
    "clamp from minus zero": lambda x: x.clamp(-0.0, 1.0),
    "clamp_max": lambda x: x.clamp(max=-0.0),
    "hardtanh": lambda x: F.hardtanh(x, 0.0, 1.0),
    "relu": lambda x: x.relu(),
    "amax of rows": lambda x: torch.stack([x, -x]).amax(1),
    "amin of rows": lambda x: torch.stack([x, -x]).amin(1),
    "max of columns": lambda x: torch.stack([x, -x]).max(0)[0],
    "fmax": lambda x: torch.fmax(x, -x),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", OF_ZEROS)
def test_of_zeros_that_are_equal_the_sign_is_eagers(device, name, dtype):
    fn = OF_ZEROS[name]
    zeros = torch.tensor([0.0, -0.0], dtype=dtype).repeat(40)[:67]
    found = compiled(fn)(zeros.to(device))
    assert found.cpu().signbit().tolist() == fn(zeros).signbit().tolist()
    assert total("runs") > 0


# ---- what PyTorch refuses ----

REFUSED = {
    "max of nothing": (lambda x: x[:0].max() * 2, torch.float32),
    "min of nothing": (lambda x: x[:0].min() * 2, torch.float32),
    "index_select by fractions": (lambda x: x.index_select(0, x) * 2, torch.float32),
    "select_scatter outside": (lambda x: x.select_scatter(x[0] * 2, 0, 9), torch.float32),
    "uniform backwards": (lambda x: (x * 2).uniform_(2, 1), torch.float32),
    "variance of whole numbers": (lambda x: x.var() * 2, torch.int64),
    "deviation of whole numbers": (lambda x: x.std() * 2, torch.int64),
    "lerp of whole numbers": (lambda x: torch.lerp(x, x + 1, 0.5), torch.int64),
    "dropout of more than all": (lambda x: torch.dropout(x * 2, 1.5, True), torch.float32),
    "bernoulli of more than 1": (lambda x: (x * 2).bernoulli_(1.5), torch.float32),
    "difference with a bool": (lambda x: (1 - (x > 0)) * 2, torch.float32),
    "argmax of bools": (lambda x: (x > 0).argmax(), torch.float32),
    "relu of bools": (lambda x: (x > 0).relu(), torch.float32),
    "ceil of bools": (lambda x: (x > 0).ceil(), torch.float32),
    "whole numbers to the power -1": (lambda x: (x + 1) ** -1, torch.int64),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses_is_refused(device, name):
    fn, dtype = REFUSED[name]
    x = torch.arange(4, device=device).to(dtype)
    with pytest.raises((RuntimeError, IndexError)):
        fn(x)
        torch.accelerator.synchronize()
    with pytest.raises(Exception, match=r"\w"):
        compiled(fn)(x)
        torch.accelerator.synchronize()
