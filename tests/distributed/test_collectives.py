"""Each collective gives what arithmetic says, for every dtype, shape and layout that it takes."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from ranks import on_ranks

REDUCIBLE = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.complex64,
]
MOVABLE = [*REDUCIBLE, torch.int16, torch.bool, torch.complex128, torch.float8_e4m3fn]


def assert_is(tensor, expected, device):
    assert tensor.device == device, f"{tensor.device} instead of {device}"
    expected = torch.as_tensor(expected, dtype=tensor.dtype)
    torch.testing.assert_close(tensor.cpu(), expected, rtol=0, atol=0)


def sample(rank, dtype, *shape):
    """Small numbers that tell the ranks apart; exact in every dtype."""
    count = torch.Size(shape).numel()
    numbers = (torch.arange(count, dtype=torch.float32) + 3 * rank) % 7
    return numbers.to(dtype).reshape(shape)


def samples(world, dtype, *shape):
    return [sample(rank, dtype, *shape) for rank in range(world.size)]


@pytest.mark.parametrize("dtype", REDUCIBLE, ids=str)
@on_ranks
def test_all_reduce_adds(world, dtype):
    x = sample(world.rank, dtype, 3, 5).to(world.device)
    dist.all_reduce(x)
    assert_is(x, sum(samples(world, dtype, 3, 5)), world.device)


@on_ranks
def test_every_reduction_that_gloo_has(world):
    def reduced(op, dtype):
        x = (sample(world.rank, dtype, 6) + 1).to(world.device)
        dist.all_reduce(x, op)
        return x, torch.stack([s + 1 for s in samples(world, dtype, 6)])

    for dtype in (torch.float32, torch.int64):
        for op, fn in [
            (dist.ReduceOp.SUM, lambda all: all.sum(0)),
            (dist.ReduceOp.PRODUCT, lambda all: all.prod(0)),
            (dist.ReduceOp.MIN, lambda all: all.amin(0)),
            (dist.ReduceOp.MAX, lambda all: all.amax(0)),
        ]:
            x, all_ranks = reduced(op, dtype)
            assert_is(x, fn(all_ranks), world.device)
    for op, fn in [
        (dist.ReduceOp.BAND, torch.bitwise_and),
        (dist.ReduceOp.BOR, torch.bitwise_or),
        (dist.ReduceOp.BXOR, torch.bitwise_xor),
    ]:
        x, all_ranks = reduced(op, torch.int32)
        expected = all_ranks[0]
        for other in all_ranks[1:]:
            expected = fn(expected, other)
        assert_is(x, expected, world.device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
@on_ranks
def test_an_average_is_the_sum_by_the_number_of_ranks(world, dtype):
    x = sample(world.rank, dtype, 8).to(world.device)
    dist.all_reduce(x, dist.ReduceOp.AVG)
    assert_is(x, sum(samples(world, dtype, 8)) / world.size, world.device)


@on_ranks
def test_a_sum_can_be_scaled_first(world):
    x = sample(world.rank, torch.float32, 8).to(world.device)
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.25))
    assert_is(x, sum(samples(world, torch.float32, 8)) * 0.25, world.device)
    x = sample(world.rank, torch.float32, world.size).to(world.device)
    out = torch.zeros(1, device=world.device)
    factor = torch.tensor([0.5], device=world.device)
    dist.reduce_scatter_tensor(out, x, dist._make_nccl_premul_sum(factor))
    assert_is(out, sum(samples(world, torch.float32, world.size))[[world.rank]] * 0.5, world.device)
    assert_is(x, sample(world.rank, torch.float32, world.size), world.device)


@on_ranks
def test_booleans_stay_booleans(world):
    x = torch.tensor([True, world.rank == 0, False], device=world.device)
    dist.all_reduce(x)
    assert_is(x, [True, True, False], world.device)
    assert x.cpu().view(torch.uint8).tolist() == [1, 1, 0]
    x = torch.tensor([True, world.rank == 0, False], device=world.device)
    dist.all_reduce(x, dist.ReduceOp.PRODUCT)
    assert_is(x, [True, False, False], world.device)


@pytest.mark.parametrize("dtype", MOVABLE, ids=str)
@on_ranks
def test_data_of_every_dtype_move_unchanged(world, dtype):
    own = sample(world.rank, dtype, 2, 3)
    expected = samples(world, dtype, 2, 3)

    x = own.to(world.device)
    dist.broadcast(x, src=1)
    assert_is(x, expected[1], world.device)

    gathered = [torch.empty_like(own, device=world.device) for _ in range(world.size)]
    dist.all_gather(gathered, own.to(world.device))
    for rank in range(world.size):
        assert_is(gathered[rank], expected[rank], world.device)

    flat = torch.empty(2 * world.size, 3, dtype=dtype, device=world.device)
    dist.all_gather_into_tensor(flat, own.to(world.device))
    assert_is(flat, torch.stack(expected).reshape(-1, 3), world.device)


@on_ranks
def test_reduce_leaves_the_other_ranks_alone(world):
    own = sample(world.rank, torch.float32, 5)
    x = own.to(world.device)
    dist.reduce(x, dst=1)
    expected = sum(samples(world, torch.float32, 5)) if world.rank == 1 else own
    assert_is(x, expected, world.device)


@on_ranks
def test_gather_and_scatter(world):
    own = sample(world.rank, torch.int64, 4)
    root = world.size - 1
    everything = [torch.zeros(4, dtype=torch.int64, device=world.device) for _ in range(world.size)]
    gathered = everything if world.rank == root else None
    dist.gather(own.to(world.device), gathered, dst=root)
    if world.rank == root:
        for rank in range(world.size):
            assert_is(everything[rank], sample(rank, torch.int64, 4), world.device)
    got = torch.zeros(4, dtype=torch.int64, device=world.device)
    dist.scatter(got, gathered, src=root)
    assert_is(got, own, world.device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
@on_ranks
def test_reduce_scatter(world, dtype):
    expected = sum(samples(world, dtype, 2 * world.size, 3))[2 * world.rank : 2 * world.rank + 2]
    whole = sample(world.rank, dtype, 2 * world.size, 3)
    x = whole.to(world.device)
    out = torch.zeros(2, 3, dtype=dtype, device=world.device)
    dist.reduce_scatter_tensor(out, x)
    assert_is(out, expected, world.device)
    assert_is(x, whole, world.device)
    out.zero_()
    dist.reduce_scatter(out, [part.contiguous() for part in x.chunk(world.size)])
    assert_is(out, expected, world.device)


@on_ranks
def test_all_to_all_with_equal_and_unequal_parts(world):
    def part(source, target, rows):
        return torch.full((rows, 2), 10.0 * source + target)

    size, device = world.size, world.device
    x = torch.cat([part(world.rank, target, 3) for target in range(size)]).to(device)
    out = torch.zeros_like(x)
    dist.all_to_all_single(out, x)
    assert_is(out, torch.cat([part(source, world.rank, 3) for source in range(size)]), device)

    # Rank r sends t rows to rank t: the first rank receives nothing.
    splits = list(range(size))
    x = torch.cat([part(world.rank, target, target) for target in range(size)]).to(device)
    out = torch.zeros(size * world.rank, 2, device=device)
    dist.all_to_all_single(out, x, [world.rank] * size, splits)
    assert_is(
        out, torch.cat([part(source, world.rank, world.rank) for source in range(size)]), device
    )

    outs = [torch.zeros(world.rank, 2, device=device) for _ in range(size)]
    dist.all_to_all(outs, [part(world.rank, target, target).to(device) for target in range(size)])
    for source in range(size):
        assert_is(outs[source], part(source, world.rank, world.rank), device)


@on_ranks
def test_several_tensors_at_once(world):
    shapes = [(3,), (2, 2), (1, 4)]
    own = [sample(world.rank, torch.float32, *shape).to(world.device) for shape in shapes]
    expected = [sum(samples(world, torch.float32, *shape)) for shape in shapes]

    with dist._coalescing_manager():
        for x in own:
            dist.all_reduce(x)
    for x, sum_of_all in zip(own, expected, strict=True):
        assert_is(x, sum_of_all, world.device)

    inputs = [sample(world.rank, torch.float32, *shape).to(world.device) for shape in shapes]
    outputs = [
        torch.zeros(world.size * x.shape[0], *x.shape[1:], device=world.device) for x in inputs
    ]
    with dist._coalescing_manager(async_ops=True) as manager:
        for out, x in zip(outputs, inputs, strict=True):
            dist.all_gather_into_tensor(out, x)
    manager.wait()
    for out, shape in zip(outputs, shapes, strict=True):
        assert_is(out, torch.cat(samples(world, torch.float32, *shape)), world.device)

    parts = [torch.zeros(2, device=world.device) for _ in range(2)]
    wholes = [
        sample(world.rank + i, torch.float32, 2 * world.size).to(world.device) for i in range(2)
    ]
    with dist._coalescing_manager():
        for out, x in zip(parts, wholes, strict=True):
            dist.reduce_scatter_tensor(out, x)
    for i, out in enumerate(parts):
        total = sum(sample(rank + i, torch.float32, 2 * world.size) for rank in range(world.size))
        assert_is(out, total.chunk(world.size)[world.rank], world.device)


@on_ranks
def test_views_of_any_strides_and_offsets(world):
    base = torch.zeros(6, 8, device=world.device)
    for view in (base[:, 1:5:2], base.t()[2:4], base[3, 1], base[1:1], base[:, ::3].t()):
        base.fill_(-1)
        view.fill_(world.rank + 1)
        expected = base.cpu()
        dist.all_reduce(view)
        total = sum(range(1, world.size + 1))
        expected[expected == world.rank + 1] = total
        assert_is(base, expected, world.device)

    column = base[:, 2]
    base.fill_(world.rank)
    dist.broadcast(column, src=1)
    expected = torch.full((6, 8), float(world.rank))
    expected[:, 2] = 1
    assert_is(base, expected, world.device)


@on_ranks
def test_lazy_negatives(world):
    z = torch.complex(torch.zeros(3), torch.arange(3.0) + world.rank + 1).to(world.device)
    x = z.conj().imag
    assert x.is_neg()
    # The dispatcher would resolve it, and what is reduced would not be x.
    dist.group.WORLD._get_backend(world.device).allreduce([x]).wait()
    total = sum(torch.arange(3.0) + rank + 1 for rank in range(world.size))
    assert_is(x.resolve_neg(), -total, world.device)
    assert_is(z.imag.clone(), total, world.device)


@on_ranks
def test_single_numbers_and_nothing_at_all(world):
    x = torch.tensor(world.rank + 1.0, device=world.device)
    dist.all_reduce(x)
    assert_is(x, sum(range(1, world.size + 1)), world.device)
    empty = torch.zeros(0, 3, device=world.device)
    dist.all_reduce(empty)
    dist.broadcast(empty, 0)
    dist.all_gather([torch.zeros(0, 3, device=world.device) for _ in range(world.size)], empty)
    dist.all_gather_into_tensor(torch.zeros(0, 3, device=world.device), empty)
    dist.reduce_scatter_tensor(torch.zeros(0, 3, device=world.device), empty)
    dist.all_to_all_single(torch.zeros(0, 3, device=world.device), empty)
    assert empty.shape == (0, 3)


@on_ranks
def test_a_parameter_in_inference_mode_and_outside(world):
    parameter = torch.nn.Parameter(torch.full((3,), world.rank + 1.0, device=world.device))
    dist.all_reduce(parameter.data)
    with torch.inference_mode():
        x = torch.full((3,), world.rank + 1.0, device=world.device)
        dist.all_reduce(x)
        out = [torch.zeros(3, device=world.device) for _ in range(world.size)]
        dist.all_gather(out, x)
    total = float(sum(range(1, world.size + 1)))
    for y in (parameter.data, x, *out):
        assert_is(y, [total] * 3, world.device)


@on_ranks
def test_a_barrier_is_behind_the_work_of_the_current_stream(world):
    x = torch.ones(4, device=world.device)
    for _ in range(20):
        x = x + 1
    computed = torch.Event(world.device)
    computed.record()
    work = dist.barrier(async_op=True, device_ids=[world.device.index])
    work.wait()
    assert work.is_completed()
    assert computed.query()
    dist.barrier()


@on_ranks
def test_objects(world):
    got = [None] * world.size
    dist.all_gather_object(got, {"rank": world.rank})
    assert got == [{"rank": rank} for rank in range(world.size)]
    things = ["a", [1, 2], world.rank] if world.rank == 1 else [None] * 3
    dist.broadcast_object_list(things, src=1, device=world.device)
    assert things == ["a", [1, 2], 1]
    got = [None] * world.size if world.rank == 0 else None
    dist.gather_object(f"from {world.rank}", got, dst=0)
    assert world.rank != 0 or got == [f"from {rank}" for rank in range(world.size)]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {rank}" for rank in range(world.size)], src=0)
    assert mine == [f"for {world.rank}"]
    if world.rank == 0:
        dist.send_object_list(["x", 2], dst=1, device=world.device)
    elif world.rank == 1:
        received = [None, None]
        dist.recv_object_list(received, src=0, device=world.device)
        assert received == ["x", 2]


@on_ranks
def test_objects_carry_tensors_of_the_device(world):
    got = [None] * world.size
    dist.all_gather_object(got, torch.full((2,), float(world.rank), device=world.device))
    for rank, tensor in enumerate(got):
        assert tensor.device.type == world.device.type
        assert tensor.tolist() == [rank, rank]


@on_ranks
def test_functional_collectives(world):
    group = dist.group.WORLD
    x = sample(world.rank, torch.float32, world.size, 2).to(world.device)
    everything = samples(world, torch.float32, world.size, 2)
    for op, expected in [("sum", sum(everything)), ("avg", sum(everything) / world.size)]:
        assert_is(functional.all_reduce(x, op, group).wait(), expected, world.device)
    gathered = functional.all_gather_tensor(x, 0, group)
    assert_is(gathered.wait(), torch.cat(everything), world.device)
    part = functional.reduce_scatter_tensor(x, "sum", 0, group)
    assert_is(part.wait(), sum(everything)[[world.rank]], world.device)
    exchanged = functional.all_to_all_single(x, None, None, group)
    expected = torch.stack([whole[world.rank] for whole in everything])
    assert_is(exchanged.wait(), expected, world.device)
    assert_is(functional.broadcast(x, 1, group).wait(), everything[1], world.device)
    leaf = x.clone().requires_grad_()
    functional.all_gather_tensor_autograd(leaf, 0, group).pow(2).sum().backward()
    assert_is(leaf.grad, 2 * everything[world.rank] * world.size, world.device)


@on_ranks
def test_all_gather_of_unequal_parts(world):
    """As NCCL has it; gloo's own needs equal ones."""
    for lengths in ([3 + rank for rank in range(world.size)], [0] + [2] * (world.size - 1)):
        outputs = [torch.zeros(length, 2, device=world.device) for length in lengths]
        own = sample(world.rank, torch.float32, lengths[world.rank], 2).to(world.device)
        dist.all_gather(outputs, own)
        for rank, output in enumerate(outputs):
            assert_is(output, sample(rank, torch.float32, lengths[rank], 2), world.device)


@on_ranks
def test_all_reduce_adds_sparse_tensors(world):
    def rows(rank):
        dense = torch.zeros(4 * world.size, 3)
        dense[[rank, 2 * rank + 1]] = sample(rank, torch.float32, 2, 3) + 1
        return dense

    expected = sum(rows(rank) for rank in range(world.size))
    for is_async in (False, True):
        x = rows(world.rank).to(world.device).to_sparse(1)
        work = dist.all_reduce(x, async_op=is_async)
        if is_async:
            work.wait()
        assert x.is_sparse and x.device == world.device
        assert_is(x.to_dense(), expected, world.device)
    with pytest.raises(ValueError, match="can only sum"):
        dist.all_reduce(x, dist.ReduceOp.MAX)


@on_ranks
def test_what_cannot_be_done_is_refused_with_one_sentence(world):
    def refused(error, text, fn, *arguments):
        with pytest.raises(error, match=text):
            fn(*arguments)

    device = world.device
    shorts = torch.ones(3, dtype=torch.int16, device=device)
    refused(TypeError, "gloo does not support ReduceOp.SUM for Short", dist.all_reduce, shorts)
    average = (torch.ones(3, dtype=torch.int64, device=device), dist.ReduceOp.AVG)
    refused(TypeError, "ReduceOp.AVG for Long", dist.all_reduce, *average)
    bits = (torch.ones(3, device=device), dist.ReduceOp.BAND)
    refused(TypeError, "ReduceOp.BAND for Float", dist.all_reduce, *bits)
    backend = dist.group.WORLD._get_backend(device)
    here = [torch.ones(3)]
    refused(ValueError, "was given a tensor on cpu", backend.allreduce, here)
    outputs = [torch.zeros(2, device=device) for _ in range(world.size)]
    three = torch.ones(3, device=device)
    refused((ValueError, RuntimeError), "elements", dist.all_gather, outputs, three)
    uneven = torch.ones(world.size + 1, device=device)
    refused(ValueError, "rows for", dist.all_to_all_single, torch.zeros_like(uneven), uneven)
    dist.barrier()


@on_ranks
def test_tensors_on_different_devices_are_in_one_order(world):
    if torch.accelerator.device_count() < 2:
        return
    devices = [torch.device(world.device.type, index) for index in range(2)]
    results = []
    for turn in range(20):
        x = torch.full((100,), float(turn + world.rank), device=devices[(turn + world.rank) % 2])
        dist.all_reduce(x, async_op=True).wait()
        results.append(x)
    for turn, x in enumerate(results):
        expected = float(sum(turn + rank for rank in range(world.size)))
        assert x.cpu().tolist() == [expected] * 100
