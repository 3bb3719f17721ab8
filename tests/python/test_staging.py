"""Staged operators on a device with streams: large copies go through pinned memory and are not waited for."""

import pytest
from helpers import output_of
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PRELUDE = """
import ctypes
import torchplug.testing

unseen = ctypes.CDLL(sys.argv[2])
unseen.unseen_pinned.restype = unseen.unseen_pageable.restype = ctypes.c_uint64
LARGE, SMALL = 1 << 20, 16


def copied(body):
    torch.accelerator.synchronize()
    before = unseen.unseen_pinned(), unseen.unseen_pageable()
    body()
    torch.accelerator.synchronize()
    return unseen.unseen_pinned() - before[0], unseen.unseen_pageable() - before[1]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    plugin = compile_test_plugin(tmp_path_factory.mktemp("plugin"), "unseen")

    def run(code, **settings):
        return output_of(PRELUDE + code, "unseen", plugin, TORCHPLUG_DEVICE=plugin, **settings)

    return run


def test_large_arguments_go_through_pinned_memory(run):
    run("""
x, y = torch.rand(LARGE, device=device), torch.rand(LARGE, device=device)
pinned, pageable = copied(lambda: x.atan2_(y))
assert (pinned, pageable) == (3 * x.nbytes, 0)
small = torch.rand(SMALL, device=device)
pinned, pageable = copied(lambda: small.atan2_(small))
assert (pinned, pageable) == (0, 2 * small.nbytes)
""")


def test_a_plugin_without_pinned_memory_is_staged_through_ordinary(run):
    run(
        """
x, y = torch.rand(LARGE, device=device), torch.rand(LARGE, device=device)
assert copied(lambda: x.atan2_(y)) == (0, 3 * x.nbytes)
""",
        TORCHPLUG_UNSEEN_PAGEABLE=1,
    )


def test_what_is_only_written_is_not_waited_for_and_each_call_has_memory_of_its_own(run):
    run("""
stream = torch.accelerator.current_stream()
tensors = [torch.zeros(LARGE, device=device) for _ in range(6)]
tensors[0].fill_(9.0)
torch.accelerator.synchronize()
gate = torchplug.testing.hold(stream)
for turn in range(2):
    for value, x in enumerate(tensors):
        x.fill_(value + 10.0 * turn)
    assert not stream.query()
gate.open()
for value, x in enumerate(tensors):
    assert x.min().item() == x.max().item() == value + 10.0
""")


def test_results_are_the_cpus_in_every_order_of_calls(run):
    run("""
torch.manual_seed(0)
x = torch.rand(300, 400)
y = x.to(device)
for turn in range(20):
    for a in (x, y):
        a.erfinv_().tanh_().abs_()
        torch.hypot(a, a.flip(0), out=a)
        a[:, ::2].mul_(0.5)
        a[10:200].copy_(a[100:290].double())
        a.clamp_(0.1, 0.9)
torch.testing.assert_close(y.cpu(), x, rtol=0, atol=0)
""")


def test_threads_stage_at_the_same_time(run):
    run("""
import threading

failed = []


def work(seed):
    x = torch.rand(70000, generator=torch.Generator().manual_seed(seed))
    with torch.Stream(device=device):
        y = x.to(device)
        for _ in range(10):
            x.erfinv_().tanh_().abs_().clamp_(0.1, 0.9)
            y.erfinv_().tanh_().abs_().clamp_(0.1, 0.9)
        if not torch.equal(y.cpu(), x):
            failed.append(seed)


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed
""")


def test_a_captured_call_writes_an_output_it_does_not_read(run):
    run("""
module = torch.get_device_module(device)
x = torch.full((LARGE,), 0.5, device=device)
room = torch.full((LARGE, 2), 7.0, device=device)
dense, gaps = torch.zeros(LARGE, device=device), room[:, 1]


def body():
    torch.erfinv(x, out=dense)
    torch.erfinv(x, out=gaps)


module.synchronize()
with module.stream(module.graphs.own_stream()):
    for _ in range(2):
        body()
module.synchronize()
graph = module.Graph()
with module.graph(graph):
    body()
for value in (0.25, 0.75):
    x.fill_(value)
    room.fill_(3.0)
    module.synchronize()
    graph.replay()
    module.synchronize()
    expected = torch.full((1,), value).erfinv()
    assert (dense.cpu() == expected).all() and (gaps.cpu() == expected).all()
    assert (room[:, 0].cpu() == 3.0).all()
""")


def test_large_results_come_from_pinned_memory_once_their_shape_is_known(run):
    run("""
x = torch.rand(LARGE).to(device)
torch.erfinv(x)
assert copied(lambda: torch.erfinv(x)) == (2 * x.nbytes, 0)
""")


LARGE_RESULTS = """
functions = {
    "pointwise": lambda a: torch.erfinv(a * 0.5),
    "promoted": lambda a: torch.true_divide((a * 9).int(), 3),
    "two results": lambda a: torch.sort(a, dim=1, descending=True),
    "of another shape": lambda a: torch.cumsum(a, 2).flip(3),
    "its own strides": lambda a: torch.nn.functional.pad(a, (1, 1, 1, 1), mode="reflect"),
    "a view of nothing": lambda a: torch.cat([a, a[:0]], 0),
}
torch.manual_seed(0)
base = torch.rand(4, 8, 40, 50)
inputs = [base, base.to(memory_format=torch.channels_last), base.transpose(1, 3), base[:, ::2]]
for name, function in functions.items():
    kept = []
    for turn in range(3):
        for x in inputs:
            expected = function(x + turn)
            actual = function(x.to(device) + turn)
            kept.append((expected, actual))
    for expected, actual in kept:  # of the later calls none has written into these
        for e, a in zip(*([t] if torch.is_tensor(t) else t for t in (expected, actual))):
            assert a.stride() == e.stride(), name
            torch.testing.assert_close(a.cpu(), e, rtol=0, atol=0, equal_nan=True, msg=name)
"""


def test_large_results_have_the_cpus_values_and_strides_and_keep_them(run):
    run(LARGE_RESULTS)
    run(LARGE_RESULTS, TORCHPLUG_UNSEEN_PAGEABLE=1)
