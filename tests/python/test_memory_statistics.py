"""How much memory is allocated, reserved and free: torch.<device>'s numbers, and torch.accelerator's."""

import gc

import pytest
import torch
from helpers import still_works

pytestmark = pytest.mark.accelerator("the CPU is not an accelerator")

KIB = 1 << 10
MIB = 1 << 20


@pytest.fixture
def allocated(module):
    """What is allocated once queued work has let go of its tensors."""

    def read():
        gc.collect()
        module.synchronize()
        return module.memory_allocated()

    return read


def bytes_on(device, count):
    return torch.empty(count, dtype=torch.uint8, device=device)


# ---- allocated ----


@pytest.mark.parametrize("count", [1, 512, 513, 700, 80 * KIB, MIB])
def test_a_small_tensor_takes_the_next_multiple_of_512_bytes(device, allocated, module, count):
    before = allocated()
    requested = module.memory_stats()["requested_bytes.all.current"]
    kept = bytes_on(device, count)
    assert allocated() - before == (count + 511) // 512 * 512
    assert module.memory_stats()["requested_bytes.all.current"] - requested == count
    del kept
    assert allocated() == before


def test_memory_is_allocated_while_any_view_of_it_lives(device, allocated):
    before = allocated()
    x = torch.zeros(KIB, dtype=torch.float32, device=device)
    view = x[10:]
    del x
    assert allocated() - before == 4 * KIB
    del view
    assert allocated() == before


def test_every_live_tensor_is_counted(device, module, allocated):
    before = allocated()
    count = module.memory_stats()["allocation.all.current"]
    kept = [torch.zeros(KIB, dtype=torch.float32, device=device) for _ in range(20)]
    assert allocated() - before == 20 * 4 * KIB
    assert module.memory_stats()["allocation.all.current"] - count == 20
    del kept
    assert allocated() == before


def test_an_operator_leaves_only_its_result(device, allocated):
    x = torch.zeros(10 * KIB, device=device)
    before = allocated()
    y = (x + 1).relu() * 2
    assert allocated() - before == 40 * KIB
    assert y[0].item() == 2.0


def test_the_peak_is_remembered_until_it_is_reset(device, module, allocated):
    before = allocated()
    module.reset_peak_memory_stats()
    kept = [bytes_on(device, 64 * KIB) for _ in range(3)]
    del kept
    assert allocated() == before
    bytes_on(device, 64 * KIB)
    assert module.max_memory_allocated() == before + 3 * 64 * KIB
    module.reset_peak_memory_stats()
    assert module.max_memory_allocated() == before


def test_each_device_has_its_own_memory(module, other_device):
    before = module.memory_allocated(0), module.memory_allocated(1)
    x = torch.zeros(KIB, device=other_device)
    assert module.memory_allocated(0) == before[0]
    assert module.memory_allocated(other_device) == before[1] + 4 * KIB
    del x
    module.synchronize(1)
    assert module.memory_allocated(1) == before[1]


# ---- reserved and free ----


def test_freed_memory_stays_reserved_until_the_cache_is_emptied(device, module):
    module.synchronize()
    module.empty_cache()
    module.reset_peak_memory_stats()
    before = module.memory_reserved()
    x = bytes_on(device, 32 * MIB)
    assert module.memory_reserved() == before + 32 * MIB
    del x
    assert module.memory_reserved() == before + 32 * MIB
    module.empty_cache()
    assert module.memory_reserved() == before
    assert module.max_memory_reserved() == before + 32 * MIB
    assert still_works(device)


def test_freed_memory_is_used_again(device, module):
    torch.zeros(4 * MIB, dtype=torch.uint8, device=device)
    held = module.memory_stats()["num_device_alloc"]
    for _ in range(50):
        torch.zeros(4 * MIB, dtype=torch.uint8, device=device)
    assert module.memory_stats()["num_device_alloc"] == held


def test_what_is_reserved_is_not_free(device, module):
    module.synchronize()
    module.empty_cache()
    free, total = module.mem_get_info()
    assert 0 < free <= total
    kept = bytes_on(device, 16 * MIB)
    left, same = module.mem_get_info()
    assert same == total
    assert kept.nbytes <= free - left < 17 * MIB  # the validate layer puts a guard behind it
    assert module.device_memory_used() == total - left


# ---- all statistics ----


def test_torch_accelerator_has_the_numbers_of_the_module(device, module):
    kept = bytes_on(device, MIB)
    ours, theirs = module, torch.accelerator
    assert theirs.memory_allocated() == ours.memory_allocated() >= kept.nbytes
    assert theirs.max_memory_allocated() == ours.max_memory_allocated()
    assert theirs.memory_reserved() == ours.memory_reserved()
    assert theirs.max_memory_reserved() == ours.max_memory_reserved()
    assert theirs.get_memory_info() == ours.mem_get_info()
    assert theirs.memory_stats() == ours.memory_stats()
    theirs.reset_peak_memory_stats()
    assert ours.max_memory_allocated() == ours.memory_allocated()
    assert ours.max_memory_reserved() == ours.memory_reserved()


def test_the_statistics_agree_with_the_numbers(device, module):
    kept = bytes_on(device, 3 * MIB)
    stats = module.memory_stats()
    assert stats["allocated_bytes.all.current"] == module.memory_allocated() >= kept.nbytes
    assert stats["allocated_bytes.all.peak"] == module.max_memory_allocated()
    assert stats["reserved_bytes.all.current"] == module.memory_reserved()
    assert stats["reserved_bytes.all.peak"] == module.max_memory_reserved()


def test_every_statistic_that_torch_cuda_documents_is_there(module):
    stats = module.memory_stats()
    for name in (
        "allocation",
        "allocated_bytes",
        "segment",
        "reserved_bytes",
        "active",
        "active_bytes",
        "inactive_split",
        "inactive_split_bytes",
        "requested_bytes",
    ):
        for value in ("current", "peak", "allocated", "freed"):
            pools = [stats[f"{name}.{pool}.{value}"] for pool in ("small_pool", "large_pool")]
            if value == "peak":
                assert max(pools) <= stats[f"{name}.all.peak"] <= sum(pools)
            else:
                assert stats[f"{name}.all.{value}"] == sum(pools)
    for name in (
        "num_alloc_retries",
        "num_ooms",
        "num_sync_all_streams",
        "num_device_alloc",
        "num_device_free",
        "oversize_allocations.current",
        "oversize_segments.peak",
        "max_split_size",
    ):
        assert name in stats


def test_nested_statistics_are_the_flat_ones(module):
    def flatten(value, name=""):
        if not isinstance(value, dict):
            return {name: value}
        parts = ((f"{name}.{key}" if name else key, item) for key, item in value.items())
        return {key: item for name, part in parts for key, item in flatten(part, name).items()}

    assert flatten(module.memory_stats_as_nested_dict()) == module.memory_stats()
    assert flatten(module.host_memory_stats_as_nested_dict()) == module.host_memory_stats()


def test_accumulated_statistics_can_be_reset(module, device):
    torch.zeros(10, device=device)
    module.synchronize()
    module.reset_accumulated_memory_stats()
    assert module.memory_stats()["allocated_bytes.all.allocated"] == 0
    bytes_on(device, 10)
    stats = module.memory_stats()
    assert stats["allocated_bytes.all.allocated"] == stats["allocated_bytes.all.freed"] == 512


def test_the_summary_is_a_table_of_the_statistics(module, device):
    kept = bytes_on(device, 3 * MIB)
    summary = module.memory_summary()
    assert f"{device}" in summary and "Allocated memory" in summary and "large pool" in summary
    short = module.memory_summary(device, abbreviated=True)
    assert "pool" not in short and len(short) < len(summary)
    assert all(len(line) <= 80 for line in summary.splitlines())
    del kept


# ---- pinned memory of the host ----


def test_pinned_memory_is_counted(module):
    """What earlier tests let go of may come back meanwhile, so only what grows is compared."""
    module.reset_accumulated_host_memory_stats()
    kept = torch.zeros(MIB, dtype=torch.uint8).pin_memory()
    stats = module.host_memory_stats()
    assert stats["active_bytes.allocated"] == MIB <= stats["active_bytes.current"]
    assert stats["active_requests.allocated"] == 1
    del kept
    assert module.host_memory_stats()["active_requests.freed"] > stats["active_requests.freed"]
    module.reset_peak_host_memory_stats()
    stats = module.host_memory_stats()
    assert stats["active_bytes.peak"] == stats["active_bytes.current"]


def test_cached_pinned_memory_can_be_freed(module):
    torch.zeros(MIB, dtype=torch.uint8).pin_memory()
    module.empty_host_cache()
    stats = module.host_memory_stats()
    assert stats["allocated_bytes.current"] == stats["active_bytes.current"]
