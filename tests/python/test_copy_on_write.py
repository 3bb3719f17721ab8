"""torch.Tensor._lazy_clone: clones that share memory until one of the tensors is written."""

import pytest
import torch
from helpers import assert_equal, on

VALUES = torch.arange(12.0).reshape(3, 4)

# Everything that writes a tensor: by a kernel, by the CPU's, by a copy, a fill, a new size.
WRITES = {
    "relu_": lambda x: x.neg_().relu_(),
    "add_": lambda x: x.add_(1),
    "mul_ by a tensor": lambda x: x.mul_(torch.full_like(x, 2)),
    "a view": lambda x: x[1].add_(1),
    "a strided view": lambda x: x.t()[::2].mul_(3),
    "copy_ from the host": lambda x: x.copy_(torch.full((3, 4), 7.0)),
    "copy_ on the device": lambda x: x.copy_(torch.full((3, 4), 7.0, device=x.device)),
    "zero_": lambda x: x.zero_(),
    "zero_ a view": lambda x: x[:, 1].zero_(),
    "fill_": lambda x: x.fill_(3),
    "masked assignment": lambda x: x.__setitem__(x > 4, -1.0),
    "indexed assignment": lambda x: x.__setitem__(torch.tensor([0, 2], device=x.device), 5.0),
    "out=": lambda x: torch.add(torch.ones_like(x), 1, out=x),
    "resize_": lambda x: x.resize_(5, 4)[:3].add_(1),
    "a list of tensors": lambda x: torch._foreach_add_([x, torch.ones_like(x)], 1),
    "batch norm's statistics": lambda x: torch.nn.functional.batch_norm(
        torch.ones(2, 4, device=x.device), x[0], x[1], training=True
    ),
}


def is_lazy(tensor):
    return torch._C._is_cow_tensor(tensor)


def test_a_lazy_clone_shares_memory_and_looks_alike(device):
    for x in (VALUES, VALUES.t(), VALUES[:, 1:3], VALUES[0, 0], torch.empty(0, 3)):
        there = x.to(device)
        clone = there._lazy_clone()
        assert clone.stride() == there.stride() and clone.storage_offset() == there.storage_offset()
        assert_equal(clone, x)
        assert_equal(there, x)
        assert is_lazy(clone) == is_lazy(x.clone()._lazy_clone())


@pytest.mark.parametrize("planned", [False, True], ids=["first", "planned"])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_of_either_leaves_the_other_as_it_was(device, name, planned):
    write = WRITES[name]
    if planned:
        write(VALUES.to(device))
    expected = VALUES.clone()
    write(expected)
    for written in (0, 1):
        pair = [VALUES.to(device)]
        pair.append(pair[0]._lazy_clone())
        assert pair[0].data_ptr is not None and is_lazy(pair[0]) and is_lazy(pair[1])
        write(pair[written])
        assert_equal(pair[written][: len(VALUES)], expected[: len(VALUES)])
        assert_equal(pair[1 - written], VALUES)
        assert not is_lazy(pair[written])


def test_reading_does_not_copy(device):
    x = VALUES.to(device)
    clone = x._lazy_clone()
    for _ in range(2):
        assert_equal(clone + x, VALUES + VALUES)
        assert_equal(clone @ x.t(), VALUES @ VALUES.t())
        assert_equal(clone.relu(), VALUES.relu())
        assert clone.sum().item() == VALUES.sum().item()
        clone.cpu()
    assert is_lazy(clone) and is_lazy(x)


def test_a_clone_outlives_what_it_was_made_of_and_its_memory_goes_back(device, module):
    module.synchronize()
    before = module.memory_allocated()
    x = torch.ones(1 << 18, device=device)
    clones = [x._lazy_clone() for _ in range(3)]
    assert module.memory_allocated() - before == x.nbytes
    del x
    clones[0].add_(1)
    assert module.memory_allocated() - before == 2 * clones[0].nbytes
    assert clones.pop(0).sum().item() == 2 << 18
    clones.pop()
    clones[0].add_(2)  # the last one: nothing is copied
    assert module.memory_allocated() - before == clones[0].nbytes
    assert clones[0].sum().item() == 3 << 18
    clones.clear()
    assert module.memory_allocated() == before


def test_clones_that_lie_side_by_side_are_freed_one_by_one(device, module):
    before = module.memory_allocated()
    tensors = [torch.full((100,), float(i), device=device) for i in range(6)]
    clones = [x._lazy_clone() for x in tensors]
    for i in (2, 0, 5):
        tensors[i] = clones[i] = None  # frees the block
        filling = torch.full((100,), -1.0, device=device)
        for j, clone in enumerate(clones):
            assert clone is None or clone.tolist() == [j] * 100
        del filling
    for i in (1, 3):
        tensors[i] = None
        clones[i].add_(1)  # the last one: nothing is copied
        assert clones[i].tolist() == [i + 1] * 100
    tensors.clear()
    clones.clear()
    del clone
    assert module.memory_allocated() == before


def test_the_copy_is_made_on_the_tensors_device(other_device):
    x = torch.ones(4, device=other_device)
    clone = x._lazy_clone()
    assert torch.accelerator.current_device_index() != other_device.index
    clone.add_(1)
    assert clone.tolist() == [2.0] * 4 and x.tolist() == [1.0] * 4
    assert clone.untyped_storage().device == other_device


def test_gradients_flow_through_it(device):
    for place in ("cpu", device):
        (x,) = on(place, [VALUES.clone().requires_grad_()])
        (x._lazy_clone() * 2).sum().backward()
        assert_equal(x.grad, torch.full((3, 4), 2.0))
