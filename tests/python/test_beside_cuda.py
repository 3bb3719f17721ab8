"""The device in a process that uses CUDA too."""

import pytest
import torch
from helpers import assert_equal, output_of, still_works
from torch.profiler import ProfilerActivity

pytestmark = [
    pytest.mark.accelerator("it is another device than CUDA"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

VALUES = {
    "dense": lambda: torch.arange(6.0).reshape(2, 3),
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "strided": lambda: torch.arange(20.0)[3::4],
    "number": lambda: torch.tensor(3),
    "empty": lambda: torch.empty(0, 3),
    "complex": lambda: torch.tensor([1 + 2j]).conj(),
    "bool": lambda: torch.tensor([True, False]),
}


CPU, CUDA, OURS = ProfilerActivity.CPU, ProfilerActivity.CUDA, ProfilerActivity.PrivateUse1


def len_or_all(activities):
    return "all" if activities is None else str(len(activities))


FIRST_USE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = torch.arange(3.0, device=device)
    before = len(caught)
    y = x.cuda() + torch.ones(3).cuda()
print(y.tolist(), before, *(warning.message for warning in caught))
"""


def test_the_first_use_of_cuda_is_one_warning_that_says_what_fails(device):
    output = output_of(FIRST_USE, device)
    assert output.startswith("[1.0, 2.0, 3.0] 0 PyTorch's 'cuda' is used beside")
    assert "backward()" in output and len(output.splitlines()) == 1


def test_backward_still_fails_on_cuda_and_works_on_the_device(device):
    """When PyTorch's own engine does not fail any more, torchplug._beside has to go."""
    x = torch.ones(3, device=device, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    loss = (torch.ones(3, device="cuda", requires_grad=True) * 2).sum()
    within = (torch.ones(3, requires_grad=True).cuda().to(device) * 2).sum()
    for refused in (loss, within):
        with pytest.raises(RuntimeError, match="different processes"):
            refused.backward()
    engine, one = torch.autograd.Variable._execution_engine, torch.ones((), device="cuda")
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT"):
        engine.run_backward((loss,), (one,), False, False, (), accumulate_grad=True)


@pytest.mark.parametrize("with_cuda", [False, True])
@pytest.mark.parametrize("activities", [None, [CPU, CUDA], [CPU, CUDA, OURS]], ids=len_or_all)
def test_a_profile_has_the_work_of_both(device, trace_of, activities, with_cuda):
    x = torch.ones(3, device=device)
    x.add(x)

    def work():
        x.add(x).neg().cpu()
        if with_cuda:
            torch.ones(3, device="cuda").add(1).cpu()

    trace = trace_of(work, activities)
    assert len(trace.of("privateuse1_runtime")) > 0 and len(trace.work) > 0
    assert (len(trace.of("kernel", name="at::native")) > 0) == with_cuda


@pytest.mark.parametrize("non_blocking", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_tensors_go_there_and_back(device, name, non_blocking):
    expected = VALUES[name]()
    there = expected.to(device).to("cuda", non_blocking=non_blocking)
    assert there.is_cuda
    torch.testing.assert_close(there.cpu(), expected, rtol=0, atol=0)
    assert_equal(there.to(device, non_blocking=non_blocking), expected)


def test_a_copy_converts(device):
    x, y = torch.arange(4.0, device=device), torch.zeros(4, dtype=torch.int64, device="cuda")
    assert y.copy_(x).tolist() == [0, 1, 2, 3]
    assert x.copy_(y + 1).tolist() == [1, 2, 3, 4]


def test_storages_go_there_and_back(device):
    storage = torch.arange(3.0, device=device).untyped_storage()
    assert storage.cuda().tolist() == storage.tolist()


@pytest.mark.parametrize(
    "mix",
    [
        lambda ours, theirs: ours + theirs,
        lambda ours, theirs: theirs + ours,
        lambda ours, theirs: torch.erfinv(theirs, out=ours),
        lambda ours, theirs: torch.cat([ours, theirs]),
        lambda ours, theirs: ours @ theirs,
        lambda ours, theirs: torch.where(ours > 0, ours, theirs),
        lambda ours, theirs: torch.lerp(ours, theirs, 0.5),
        lambda ours, theirs: ours.index_add_(0, torch.tensor([0, 1, 2]).cuda(), theirs),
    ],
    ids=["add", "reverse", "out", "cat", "matmul", "where", "lerp", "index"],
)
def test_an_operator_takes_tensors_of_one_of_them(device, mix):
    ours, theirs = torch.ones(3, 3, device=device), torch.ones(3, 3, device="cuda")
    with pytest.raises(RuntimeError, match=r"(?i)device"):
        mix(ours, theirs)
    assert still_works(device) and theirs.sum().item() == 9
