"""Communication is work of a stream: it begins when the stream gets there, and nobody waits for it who was not
told to. What the ranks tell each other on the host, through the store, decides who is where; no clock does."""

import threading
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from ranks import on_ranks

ONLY_STREAMS = pytest.mark.accelerator("hello has no streams: the host waits", only="sim")


def wait_for(world, key):
    world.store.get(key)


def let_go(world, key):
    world.store.set(key, "1")


@on_ranks
def test_an_asynchronous_collective_does_not_wait_for_the_other_ranks(world):
    x = torch.full((100,), world.rank + 1.0, device=world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has left")
    work = dist.all_reduce(x, async_op=True)
    if world.rank == 0:
        assert not work.is_completed()
        let_go(world, "rank 0 has left")
    work.wait()
    assert x.cpu().eq(sum(range(1, world.size + 1))).all()
    assert work.is_completed()
    assert work.is_success()
    assert work.exception() is None
    assert work.result()[0].data_ptr() == x.data_ptr()


@ONLY_STREAMS
@on_ranks
def test_waiting_for_a_collective_holds_up_the_stream_and_not_the_host(world):
    x = torch.full((100,), world.rank + 1.0, device=world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has left")
    dist.all_reduce(x)
    y = x * 2
    if world.rank == 0:
        assert not torch.accelerator.current_stream(world.device).query()
        let_go(world, "rank 0 has left")
    assert y.cpu().eq(2 * sum(range(1, world.size + 1))).all()


@ONLY_STREAMS
@on_ranks
def test_work_goes_on_beside_a_collective(world):
    x = torch.full((100,), world.rank + 1.0, device=world.device)
    y = torch.full((100,), 3.0, device=world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has computed")
    work = dist.all_reduce(x, async_op=True)
    if world.rank == 0:
        assert (y @ y).item() == 900
        assert not work.is_completed()
        let_go(world, "rank 0 has computed")
    work.wait()
    assert x.cpu().eq(sum(range(1, world.size + 1))).all()


@ONLY_STREAMS
@on_ranks
def test_only_the_stream_that_waits_is_held_up(world):
    x = torch.full((100,), world.rank + 1.0, device=world.device)
    side = torch.Stream(world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has computed")
    work = dist.all_reduce(x, async_op=True)
    with side:
        work.wait()
        y = x + 1
    if world.rank == 0:
        assert torch.ones(7, device=world.device).sum().item() == 7
        assert not side.query()
        let_go(world, "rank 0 has computed")
    side.synchronize()
    assert y.cpu().eq(1 + sum(range(1, world.size + 1))).all()


@on_ranks
def test_a_collective_reads_what_the_stream_has_written_by_then(world):
    side = None if world.device.type == "hello" else torch.Stream(world.device)
    for turn in range(10):
        x = torch.zeros(20_000, device=world.device)
        if side is not None:
            side.wait_stream(torch.accelerator.current_stream(world.device))
        if side is not None and turn % 2:
            with side:
                for _ in range(30):
                    x += 1
                work = dist.all_reduce(x, async_op=True)
        else:
            for _ in range(30):
                x += 1
            work = dist.all_reduce(x, async_op=True)
        work.wait()
        x *= 2
        assert x.cpu().eq(60 * world.size).all()


@ONLY_STREAMS
@on_ranks
def test_a_future_is_complete_when_its_collective_is_enqueued(world):
    x = torch.full((100,), world.rank + 1.0, device=world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has left")
    future = dist.all_reduce(x, async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    if world.rank == 0:
        assert future.done()
        assert doubled.done()
        let_go(world, "rank 0 has left")
    assert doubled.wait().cpu().eq(2 * sum(range(1, world.size + 1))).all()


@on_ranks
def test_a_future_gives_the_result(world):
    x = torch.full((5,), world.rank + 1.0, device=world.device)
    future = dist.all_reduce(x, async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2).wait()
    (result,) = future.wait()
    assert result.device == world.device
    assert result.cpu().eq(sum(range(1, world.size + 1))).all()
    assert doubled.cpu().eq(2 * sum(range(1, world.size + 1))).all()


@on_ranks
def test_memory_of_a_collective_is_not_used_again_before_it_is_over(world):
    x = torch.full((5000,), world.rank + 1.0, device=world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has left")
    work = dist.all_reduce(x, async_op=True)
    if world.rank == 0:
        del x, work
    others = [torch.full((5000,), -1.0, device=world.device) for _ in range(5)]
    if world.rank == 0:
        let_go(world, "rank 0 has left")
    dist.barrier(device_ids=[world.device.index])
    for other in others:
        assert other.cpu().eq(-1).all()


@on_ranks
def test_a_wait_with_a_limit_fails_when_it_is_over(world):
    x = torch.ones(3, device=world.device)
    if world.rank != 0:
        wait_for(world, "rank 0 has waited")
    work = dist.all_reduce(x, async_op=True)
    if world.rank == 0 and world.device.type == "sim":
        with pytest.raises(
            dist.DistBackendError, match=r"all_reduce .* has not finished after 20 ms"
        ):
            work.wait(timedelta(milliseconds=20))
    if world.rank == 0:
        let_go(world, "rank 0 has waited")
    work.wait()
    assert x.cpu().eq(world.size).all()


@on_ranks
def test_groups_can_be_used_in_different_orders_on_different_ranks(world):
    first, second = dist.new_group(), dist.new_group()
    for _ in range(10):
        x = torch.full((10,), world.rank + 1.0, device=world.device)
        y = torch.full((10,), 10.0 * (world.rank + 1), device=world.device)
        calls = [(x, first), (y, second)]
        if world.rank % 2:
            calls.reverse()
        works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in calls]
        for work in works:
            work.wait()
        total = sum(range(1, world.size + 1))
        assert x.cpu().eq(total).all()
        assert y.cpu().eq(10 * total).all()
    dist.destroy_process_group(first)
    dist.destroy_process_group(second)


@ONLY_STREAMS
@on_ranks
def test_a_collective_can_wait_for_one_of_another_group(world):
    """Rank 0 begins a collective that the others begin only after one of another group."""
    first, second = dist.new_group(), dist.new_group()
    x = torch.full((10,), world.rank + 1.0, device=world.device)
    y = torch.full((10,), world.rank + 1.0, device=world.device)
    if world.rank == 0:
        work = dist.all_reduce(x, group=first, async_op=True)
        dist.all_reduce(y, group=second)
        work.wait()
    else:
        dist.all_reduce(y, group=second)
        assert y.cpu().eq(sum(range(1, world.size + 1))).all()
        dist.all_reduce(x, group=first)
    assert x.cpu().eq(sum(range(1, world.size + 1))).all()
    dist.destroy_process_group(first)
    dist.destroy_process_group(second)


@on_ranks
def test_two_threads_use_one_group(world):
    """All collectives are alike, so that every pairing of calls is the same."""
    results, failures = [], []

    def reduce_many():
        try:
            for _ in range(20):
                x = torch.full((50,), world.rank + 1.0, device=world.device)
                dist.all_reduce(x)
                results.append(x.cpu())
        except BaseException as failure:  # noqa: BLE001 - shown below
            failures.append(failure)

    threads = [threading.Thread(target=reduce_many) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert len(results) == 60
    assert all(x.eq(sum(range(1, world.size + 1))).all() for x in results)


@on_ranks
def test_a_collective_cannot_be_captured_and_the_group_goes_on(world):
    module = torch.get_device_module(world.device)
    x = torch.full((4,), world.rank + 1.0, device=world.device)
    for collective in (lambda: dist.all_reduce(x), lambda: dist.broadcast(x, 0)):
        graph = module.Graph()
        with (
            pytest.raises(
                RuntimeError, match="A collective is not allowed while its stream is capturing"
            ),
            module.graph(graph),
        ):
            collective()
    dist.all_reduce(x)
    dist.barrier()
    assert x.cpu().eq(sum(range(1, world.size + 1))).all()
