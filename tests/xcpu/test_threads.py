"""The threads are PyTorch's: as many as it may use, and no others."""

import pytest
import torch
from helpers import assert_equal
from interpreter import run
from weights import packed, xcpu


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
