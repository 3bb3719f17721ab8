"""A rank that is gone, or never comes, is an error on the others within the timeout; nothing hangs."""

import os
import signal

import pytest
import torch
import torch.distributed as dist
from ranks import LIMIT, Ranks, on_ranks

NAME = torch._C._get_privateuse1_backend_name()
TIMEOUT = 4  # seconds


@pytest.fixture
def fragile():
    """Two ranks that give up soon."""
    group = Ranks(2, NAME, "torchplug", TIMEOUT)
    yield group
    group.end()


def fails(world):
    """A collective fails, at its call or when the device is waited for."""
    x = torch.ones(1000, device=world.device)
    with pytest.raises(
        (dist.DistBackendError, RuntimeError), match=r"all_reduce .* failed: "
    ) as caught:
        dist.all_reduce(x)
        torch.accelerator.synchronize(world.device)
    return str(caught.value)


def check(fragile, tmp_path, function, expected):
    """Runs a check of this file on both ranks; they answer as expected, and end."""
    answers = fragile.answers(__name__, function.on_rank.__name__, tmp_path, {})
    report = fragile.report(function.on_rank.__name__, answers)
    for answer, start in zip(answers, expected, strict=True):
        assert answer.startswith(start) if start else answer == "", report
    for process in fragile.processes:
        process.connection.close()
    for process in fragile.processes:
        process.process.wait(LIMIT)


@on_ranks
def _killed(world):
    dist.all_reduce(torch.ones(3, device=world.device))
    torch.accelerator.synchronize(world.device)
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    assert "Connection" in fails(world)


def test_a_killed_rank_is_an_error_on_the_others(fragile, tmp_path):
    check(fragile, tmp_path, _killed, ["", "the process ended with -9"])


@on_ranks
def _absent(world):
    if world.rank == 1:
        world.store.get("rank 0 has given up")
        return
    assert f"Timed out waiting {TIMEOUT}000ms" in fails(world)
    world.store.set("rank 0 has given up", "1")


def test_a_rank_that_never_comes_is_an_error_after_the_timeout(fragile, tmp_path):
    check(fragile, tmp_path, _absent, ["", ""])


@on_ranks
def _unequal(world):
    x = torch.ones(1000 * (world.rank + 1), device=world.device)
    with pytest.raises(RuntimeError, match=r"all_reduce .* failed|mismatch between collectives"):
        dist.all_reduce(x)
        torch.accelerator.synchronize(world.device)


def test_unequal_sizes_end_in_gloo_s_words(fragile, tmp_path):
    """gloo ends the process that received too much; the other has an error."""
    check(fragile, tmp_path, _unequal, ["the process ended with -6", ""])
    assert "Is there a distributed collective mismatch in your code?" in fragile.processes[0].said()


def test_unequal_sizes_are_found_first_in_debug_mode(tmp_path):
    group = Ranks(2, NAME, "torchplug", TIMEOUT, TORCH_DISTRIBUTED_DEBUG="DETAIL")
    try:
        check(group, tmp_path, _unequal, ["", ""])
    finally:
        group.end()


@on_ranks
def _leaves(world):
    x = torch.ones(1000, device=world.device)
    if world.rank == 1:
        dist.all_reduce(x, async_op=True)
        raise SystemExit("gone with a collective that nobody else began")
    y = torch.zeros(3, device=world.device)
    with pytest.raises((dist.DistBackendError, RuntimeError), match=r"recv .* failed: "):
        dist.recv(y, 1)
        torch.accelerator.synchronize(world.device)


def test_a_process_ends_though_a_collective_of_its_own_waits(tmp_path):
    """With a timeout so long that only the other's end can be what ends the wait."""
    group = Ranks(2, NAME, "torchplug", 10 * LIMIT)
    try:
        check(group, tmp_path, _leaves, ["", "the process ended with 1"])
    finally:
        group.end()
