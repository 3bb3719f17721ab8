"""Memory of graphs: a pool of their own, which goes to nobody else while they live."""

import gc

import pytest
import torch
from helpers import assert_equal, capture, on_capture_stream

pytestmark = [
    pytest.mark.accelerator("the CPU captures nothing"),
    pytest.mark.usefixtures("nothing_left_behind"),
]

MIB = 1 << 20


def test_memory_of_a_graph_goes_to_nobody_else_while_it_lives(device, module):
    x = torch.ones(1000, device=device)
    graph, y = capture(module, lambda: (x + 1) * 2)
    expected = y.data_ptr()
    others = [torch.full((1000,), 9.0, device=device) for _ in range(20)]
    assert expected not in [other.data_ptr() for other in others]
    graph.replay()
    assert_equal(y, torch.full((1000,), 4.0))
    for other in others:
        assert_equal(other, torch.full((1000,), 9.0))
    del y  # free within the pool only
    others = [torch.full((1000,), 8.0, device=device) for _ in range(20)]
    graph.replay()
    module.synchronize()
    for other in others:
        assert_equal(other, torch.full((1000,), 8.0))


def test_memory_of_a_graph_is_given_back_after_reset(device, module):
    x = torch.ones(4 * MIB // 4, device=device)
    gc.collect()
    module.synchronize()
    on_capture_stream(module, lambda: x + 1)
    module.empty_cache()
    before = module.memory_reserved()
    graph = module.Graph()
    with module.graph(graph):
        y = x + 1
    assert module.memory_reserved() >= before + 4 * MIB
    del y
    module.empty_cache()
    assert module.memory_reserved() >= before + 4 * MIB  # a replay will write it
    graph.replay()
    graph.reset()
    module.empty_cache()
    assert module.memory_reserved() == before


def test_memory_freed_in_a_capture_is_used_again_in_it(device, module):
    x = torch.ones(4 * MIB // 4, device=device)

    def chain():
        y = x
        for _ in range(20):
            y = y + 1
        return y

    on_capture_stream(module, chain)
    module.empty_cache()
    before = module.memory_reserved()
    graph = module.Graph()
    with module.graph(graph):
        y = chain()
    assert module.memory_reserved() - before < 20 * 4 * MIB / 2
    graph.replay()
    assert_equal(y[:3], torch.full((3,), 21.0))
    del graph, y
    module.empty_cache()


def test_results_outlive_their_graph(device, module):
    x = torch.ones(1000, device=device)
    graph, y = capture(module, lambda: x + 1)
    graph.replay()
    del graph
    gc.collect()
    module.empty_cache()
    [torch.full((1000,), 9.0, device=device) for _ in range(20)]
    assert_equal(y, torch.full((1000,), 2.0))


def test_graphs_can_share_a_pool(device, module):
    x = torch.ones(4 * MIB // 4, device=device)
    on_capture_stream(module, lambda: (x + 1).sum())
    module.empty_cache()
    first, second, third = module.Graph(), module.Graph(), module.Graph()
    with module.graph(first):
        a = (x + 1).sum()
    before = module.memory_reserved()
    with module.graph(second, pool=first.pool()):
        b = (x + 1).sum()
    assert second.pool() == first.pool()
    assert module.memory_reserved() - before < 4 * MIB  # what x + 1 took is there
    handle = module.graph_pool_handle()
    with module.graph(third, pool=handle):
        c = (x + 1).sum()
    assert third.pool() == handle != first.pool()
    for graph in (first, second, third):
        graph.replay()
    assert_equal((a, b, c), (torch.tensor(2.0 * MIB),) * 3)
    first.reset()  # the pool lives on in the second
    x.fill_(2)
    second.replay()
    assert_equal(b, torch.tensor(3.0 * MIB))
