"""The threads are PyTorch's: as many as it may use, and no others."""

import pytest
import torch
from helpers import assert_equal
from interpreter import run
from xcpu_weights import packed, xcpu


def test_results_do_not_depend_on_the_number_of_threads():
    weight, _ = packed("bf16", 300, 256)
    x = torch.randn(70, 256)
    torch.set_num_threads(1)
    expected = xcpu.linear(x, weight)
    for count in (2, 3, 5):
        torch.set_num_threads(count)
        assert_equal(xcpu.linear(x, weight), expected)


THREADS = """
import torch, os
{setup}
def threads(): return len(os.listdir("/proc/self/task"))
weight = torch.ops.xcpu.pack(torch.randn(1024, 1024), "int8")
x = torch.randn(64, 1024)
before = threads()
for _ in range(3): torch.ops.xcpu.linear(x, weight)
print(before, threads())
"""


@pytest.mark.parametrize("count", [1, 3])
def test_no_thread_is_started_beside_pytorchs(count):
    setup = f"torch.set_num_threads({count}); torch.randn(1 << 22).exp_()"
    before, after = map(int, run(THREADS.format(setup=setup), "none")[0].split())
    assert before == after
    if count > 1:
        assert before >= count


def test_several_threads_may_call_at_once():
    from concurrent.futures import ThreadPoolExecutor

    weight, _ = packed("int8", 300, 256)
    xs = torch.randn(8, 5, 256)
    expected = [xcpu.linear(x, weight) for x in xs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            assert_equal(list(pool.map(lambda x: xcpu.linear(x, weight), xs)), expected)


FORKED = """
import torch
torch.set_num_threads(2)
torch.randn(1 << 20).exp_()
xcpu = torch.ops.xcpu
weight = xcpu.pack(torch.randn(300, 256), "int8")
xs = torch.randn(4, 70, 256)
expected = xcpu.linear(xs, weight)

class Projected(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        torch.set_num_threads(2)
        return xcpu.linear(xs[i], weight)

loader = torch.utils.data.DataLoader(Projected(), num_workers=2, multiprocessing_context="fork")
print(torch.equal(torch.cat(list(loader)), expected), torch.equal(xcpu.linear(xs, weight), expected))
"""


@pytest.mark.parametrize("choice", ["none", "sim"])
def test_a_forked_process_may_call_them(choice):
    """A worker of a DataLoader, after PyTorch's threads, which it has no more, were used in the parent."""
    assert run(FORKED, choice)[0] == "True True"
