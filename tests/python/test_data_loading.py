"""Batches come from worker processes, through pinned memory, onto the device."""

import pytest
import torch
from helpers import TIMEOUT, assert_equal, fork_server, still_works, synchronize
from torch import multiprocessing
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Squares(Dataset):
    """Item i is a row of i * i, computed with PyTorch in the worker."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"row": torch.full((3,), float(index)).square(), "label": index}


def rows():
    return [[float(i * i)] * 3 for i in range(12)]


@pytest.mark.parametrize("pin_memory", [False, True], ids=["pageable", "pinned"])
@pytest.mark.parametrize("workers", ["none", "fork", "spawn"])
@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true but no accelerator")
def test_a_loader_feeds_the_device(device, workers, pin_memory):
    assert still_works(device)  # the device is in use before the workers start
    how = {"num_workers": 0}
    if workers != "none":
        count = 1 if workers == "spawn" else 2  # it takes seconds to start one
        how = {"num_workers": count, "multiprocessing_context": workers, "timeout": TIMEOUT}
    loader = DataLoader(Squares(), batch_size=5, pin_memory=pin_memory, **how)
    seen, labels = [], []
    for batch in loader:
        if device.type != "cpu":
            assert batch["row"].is_pinned() == pin_memory
        on_device = batch["row"].to(device, non_blocking=True)
        assert on_device.device == device
        seen += (on_device + 0).tolist()
        labels += batch["label"].to(device).tolist()
    assert seen == rows()
    assert labels == list(range(12))
    assert still_works(device)


def test_a_device_generator_does_not_disturb_shuffling(device):
    def order():
        torch.manual_seed(4)
        loader = DataLoader(TensorDataset(torch.arange(9)), batch_size=3, shuffle=True)
        return [batch.tolist() for (batch,) in loader]

    expected = order()
    torch.rand(5, device=device)
    assert order() == expected


def test_a_dataset_of_device_tensors_is_batched_on_the_device(device):
    data = torch.arange(12.0).reshape(6, 2)
    loader = DataLoader(TensorDataset(data.to(device)), batch_size=4)
    batches = [batch for (batch,) in loader]
    assert all(batch.device == device for batch in batches)
    assert_equal(torch.cat(batches), data)


@pytest.mark.accelerator("pinned memory needs a device to be pinned for")
class TestPinnedMemory:
    def test_pin_memory_copies_into_pinned_memory(self):
        x = torch.arange(10.0)
        pinned = x.pin_memory()
        assert pinned.is_pinned() and not x.is_pinned()
        assert pinned.device == torch.device("cpu")
        assert_equal(pinned, x)

    def test_pinning_again_gives_the_same_memory(self):
        pinned = torch.arange(10.0).pin_memory()
        assert pinned.pin_memory().data_ptr() == pinned.data_ptr()

    def test_a_factory_makes_pinned_memory(self):
        assert torch.zeros(4, pin_memory=True).is_pinned()
        assert torch.zeros(4, pin_memory=True).tolist() == [0.0] * 4

    def test_a_view_of_pinned_memory_is_pinned(self):
        pinned = torch.arange(10.0).pin_memory()
        assert pinned[3:7].is_pinned()

    @pytest.mark.pytorch("a storage is asked whether CUDA has pinned it", since=(2, 13))
    def test_the_storage_of_pinned_memory_is_pinned(self):
        assert torch.arange(10.0).pin_memory().untyped_storage().is_pinned()

    def test_device_memory_is_not_pinned(self, device):
        assert not torch.zeros(4, device=device).is_pinned()

    def test_device_memory_cannot_be_pinned(self, device):
        with pytest.raises(RuntimeError, match="pin"):
            torch.zeros(4, device=device).pin_memory()

    def test_the_host_may_use_pinned_memory(self):
        pinned = torch.zeros(1000, pin_memory=True)
        pinned.numpy()[:] = 5
        assert pinned.sum().item() == 5000

    def test_a_non_blocking_copy_both_ways_keeps_the_values(self, device):
        source = torch.arange(1 << 16, dtype=torch.float32).pin_memory()
        target = torch.zeros(1 << 16).pin_memory()
        target.copy_(source.to(device, non_blocking=True) * 2, non_blocking=True)
        synchronize(device)
        assert_equal(target, torch.arange(1 << 16, dtype=torch.float32) * 2)

    def test_pinned_memory_dropped_during_a_copy_is_not_reused_too_early(self, device):
        results = []
        for i in range(50):
            source = torch.full((1 << 16,), float(i), pin_memory=True)
            results.append(source.to(device, non_blocking=True))
            del source
        for i, result in enumerate(results):
            assert_equal(result, torch.full((1 << 16,), float(i)))


def square_on(name, queue):
    device = torch.device(name)
    x = torch.arange(4.0, device=device)
    queue.put([str(x.device), x.square().tolist(), still_works(device)])


def test_children_use_the_device_beside_the_parent(device):
    assert still_works(device)
    context = fork_server()
    queue = context.SimpleQueue()
    children = [context.Process(target=square_on, args=(str(device), queue)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(TIMEOUT)
        assert child.exitcode == 0
    for _ in children:
        assert queue.get() == [str(device), [0.0, 1.0, 4.0, 9.0], True]
    assert still_works(device)


def fail_on(rank, name):
    device = torch.device(name)
    assert still_works(device)
    torch.zeros(2, 3, device=device) @ torch.zeros(2, 3, device=device)


def test_an_error_in_a_spawned_child_reaches_the_parent(device):
    with pytest.raises(multiprocessing.ProcessRaisedException, match="cannot be multiplied"):
        multiprocessing.spawn(fail_on, args=(str(device),), nprocs=1)
