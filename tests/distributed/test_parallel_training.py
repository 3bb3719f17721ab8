"""Training on several ranks gives what training in one process gives: DDP, FSDP, DTensor, tensor parallelism,
ZeRO, and checkpoints of all of them."""

import copy

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from parallel_models import assert_state, data, model, optimizer_of, share, train, trained
from ranks import on_ranks
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

NEEDS_STREAMS = pytest.mark.accelerator("FSDP makes streams, and hello has none", only="sim")


def shares(world):
    return tuple(share(world, tensor) for tensor in data(world.size))


def mesh_of(world, *shape, names=None):
    return init_device_mesh(world.device.type, shape or (world.size,), mesh_dim_names=names)


# ---- DistributedDataParallel ----


@pytest.mark.parametrize("bucket_view", [False, True])
@on_ranks
def test_ddp(world, bucket_view):
    # A few hundred bytes: several buckets.
    net = DistributedDataParallel(
        model().to(world.device), bucket_cap_mb=0.0005, gradient_as_bucket_view=bucket_view
    )
    train(net, *shares(world))
    assert_state(net.module.state_dict(), trained(world.size))


@on_ranks
def test_ddp_with_unused_parameters(world):
    net = DistributedDataParallel(model().to(world.device), find_unused_parameters=True)
    train(net, *shares(world), with_extra=False)
    assert_state(net.module.state_dict(), trained(world.size, with_extra=False))


@on_ranks
def test_ddp_with_sparse_gradients(world):
    torch.manual_seed(0)
    alone = nn.Embedding(12, 3, sparse=True)
    net = DistributedDataParallel(copy.deepcopy(alone).to(world.device))
    places = [torch.arange(4) + 2 * rank for rank in range(world.size)]
    net(places[world.rank].to(world.device)).pow(2).mean().backward()
    alone(torch.stack(places)).pow(2).mean().backward()
    torch.testing.assert_close(
        net.module.weight.grad.cpu().to_dense(), alone.weight.grad.to_dense()
    )


@on_ranks
def test_ddp_accumulates_without_communication(world):
    x, y = shares(world)
    net = DistributedDataParallel(model().to(world.device))
    with net.no_sync():
        (net(x[0]) - y[0]).pow(2).mean().backward()
    before = net.module.first.weight.grad.clone()
    (net(x[1]) - y[1]).pow(2).mean().backward()
    reference = model()
    all_x, all_y = data(world.size)
    for i in range(2):
        (reference(all_x[i]) - all_y[i]).pow(2).mean().backward()
    expected = {name: p.grad for name, p in reference.named_parameters()}
    assert_state({name: p.grad for name, p in net.module.named_parameters()}, expected)
    assert not torch.equal(before.cpu(), expected["first.weight"] / 2)


@pytest.mark.parametrize("hook", ["fp16_compress_hook", "allreduce_hook"])
@on_ranks
def test_ddp_with_a_hook_for_the_gradients(world, hook):
    net = DistributedDataParallel(model().float().to(world.device))
    net.register_comm_hook(dist.group.WORLD, getattr(default_hooks, hook))
    x, y = (tensor.float() for tensor in shares(world))
    (net(x[0]) - y[0]).pow(2).mean().backward()
    reference = model()
    all_x, all_y = data(world.size)
    (reference(all_x[0]) - all_y[0]).pow(2).mean().backward()
    expected = {name: p.grad for name, p in reference.named_parameters()}
    error = {"fp16_compress_hook": 2e-3, "allreduce_hook": 1e-5}[hook]
    actual = {name: p.grad for name, p in net.module.named_parameters()}
    largest = max(grad.abs().max().item() for grad in expected.values())
    assert_state(actual, expected, rtol=0, atol=error * largest)


@on_ranks
def test_ddp_sends_buffers_of_rank_0(world):
    net = nn.BatchNorm1d(3).to(world.device)
    net.running_mean.fill_(world.rank)
    net = DistributedDataParallel(net)
    net(torch.ones(4, 3, device=world.device))
    assert net.module.running_mean.cpu().sub(0.1).abs().max() < 1e-6


@on_ranks
def test_batch_norm_over_all_ranks(world):
    x = torch.randn(6 * world.size, 3, 5, dtype=torch.float64)
    reference = nn.BatchNorm1d(3).double()
    whole = x.clone().requires_grad_()
    expected = reference(whole)
    expected.pow(3).sum().backward()
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3).double()).to(world.device)
    part = x[6 * world.rank :][:6].to(world.device).requires_grad_()
    result = net(part)
    result.pow(3).sum().backward()
    mine = slice(6 * world.rank, 6 * world.rank + 6)
    torch.testing.assert_close(result.detach().cpu(), expected.detach()[mine])
    torch.testing.assert_close(part.grad.cpu(), whole.grad[mine])
    torch.testing.assert_close(net.running_var.cpu(), reference.running_var)


@on_ranks
def test_zero_redundancy_optimizer(world):
    net = DistributedDataParallel(model().to(world.device))
    train(
        net,
        *shares(world),
        make_optimizer=lambda p: ZeroRedundancyOptimizer(p, torch.optim.Adam, lr=0.05),
    )
    assert_state(net.module.state_dict(), trained(world.size))


# ---- fully sharded ----


def sharded(world, net, **options):
    for layer in (net.first, net.second):
        fully_shard(layer, **options)
    return fully_shard(net, **options)


@NEEDS_STREAMS
@pytest.mark.parametrize("reshard", [True, False])
@on_ranks
def test_fsdp2(world, reshard):
    net = sharded(
        world, model().to(world.device), mesh=mesh_of(world), reshard_after_forward=reshard
    )
    assert isinstance(net.first.weight, DTensor)
    assert net.first.weight.to_local().shape[0] == 16 // world.size
    train(net, *shares(world))
    assert_state(net.state_dict(), trained(world.size))


@NEEDS_STREAMS
@on_ranks
def test_fsdp2_of_two_dimensions(world):
    """Replicated over one, sharded over the other."""
    mesh = mesh_of(world, 2, world.size // 2, names=("replicate", "shard"))
    net = sharded(world, model().to(world.device), mesh=mesh)
    train(net, *shares(world))
    assert_state(net.state_dict(), trained(world.size))


@NEEDS_STREAMS
@on_ranks
def test_fsdp2_in_lower_precision(world):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    net = sharded(world, model().float().to(world.device), mesh=mesh_of(world), mp_policy=policy)
    x, y = (tensor.float() for tensor in shares(world))
    out = net(x[0])
    assert out.dtype == torch.bfloat16
    (out - y[0]).pow(2).mean().backward()
    assert net.first.weight.grad.dtype == torch.float32

    expected = {name: torch.zeros_like(p) for name, p in model().float().named_parameters()}
    parts = [tensor[0].float().chunk(world.size) for tensor in data(world.size)]
    for inputs, targets in zip(*parts, strict=True):
        alone = model().to(torch.bfloat16)
        (alone(inputs.to(torch.bfloat16)) - targets).pow(2).mean().backward()
        for name, parameter in alone.named_parameters():
            expected[name] += parameter.grad.float() / world.size
    actual = {name: p.grad for name, p in net.named_parameters()}
    assert_state(actual, expected, rtol=1e-2, atol=1e-2)


@NEEDS_STREAMS
@on_ranks
def test_fsdp2_with_parameters_on_the_host(world):
    net = sharded(world, model(), mesh=mesh_of(world), offload_policy=CPUOffloadPolicy())
    train(net, *shares(world))
    assert net.first.weight.device.type == "cpu"
    state = {name: value.to_local() for name, value in net.state_dict().items()}
    gathered = [None] * world.size
    dist.all_gather_object(gathered, state)
    whole = {name: torch.cat([part[name] for part in gathered]) for name in state}
    assert_state(whole, trained(world.size))


@NEEDS_STREAMS
@on_ranks
def test_fsdp1(world):
    net = FullyShardedDataParallel(model().to(world.device), device_id=world.device)
    train(net, *shares(world))
    with FullyShardedDataParallel.summon_full_params(net):
        state = {name: value.clone() for name, value in net.module.state_dict().items()}
    assert_state(state, trained(world.size))


@NEEDS_STREAMS
@on_ranks
def test_clipping_the_gradients_of_a_sharded_model(world):
    net = sharded(world, model().to(world.device), mesh=mesh_of(world))
    x, y = shares(world)
    (net(x[0]) - y[0]).pow(2).mean().backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    reference = model()
    all_x, all_y = data(world.size)
    (reference(all_x[0]) - all_y[0]).pow(2).mean().backward()
    expected = nn.utils.clip_grad_norm_(reference.parameters(), 0.1)
    torch.testing.assert_close(norm.full_tensor().cpu(), expected)
    assert_state(
        {name: p.grad for name, p in net.named_parameters()},
        {name: p.grad for name, p in reference.named_parameters()},
    )


# ---- DTensor and tensor parallelism ----


@on_ranks
def test_dtensor_moves_between_placements(world):
    mesh = mesh_of(world)
    whole = torch.arange(8.0 * 3 * world.size, dtype=torch.float64).reshape(4 * world.size, 6)
    x = whole.to(world.device)
    assert x.shape[0] % world.size == 0
    by_row = distribute_tensor(x, mesh, [Shard(0)])
    assert by_row.to_local().device == world.device
    for placement in (Replicate(), Shard(1), Shard(0)):
        moved = by_row.redistribute(mesh, [placement])
        torch.testing.assert_close(moved.full_tensor().cpu(), whole, rtol=0, atol=0)
    partial = DTensor.from_local(x, mesh, [Partial()])
    summed = partial.redistribute(mesh, [Replicate()])
    torch.testing.assert_close(summed.to_local().cpu(), whole * world.size, rtol=0, atol=0)
    scattered = partial.redistribute(mesh, [Shard(0)])
    mine = (whole * world.size).chunk(world.size)[world.rank]
    torch.testing.assert_close(scattered.to_local().cpu(), mine, rtol=0, atol=0)


@pytest.mark.parametrize("left", [Shard(0), Shard(1), Replicate()], ids=str)
@pytest.mark.parametrize("right", [Shard(0), Shard(1), Replicate()], ids=str)
@on_ranks
def test_dtensor_multiplies(world, left, right):
    mesh = mesh_of(world)
    a = torch.randn(8, 12, dtype=torch.float64)
    b = torch.randn(12, 4, dtype=torch.float64)
    product = distribute_tensor(a.to(world.device), mesh, [left]) @ distribute_tensor(
        b.to(world.device), mesh, [right]
    )
    torch.testing.assert_close(product.full_tensor().cpu(), a @ b)


@on_ranks
def test_dtensor_of_uneven_parts(world):
    mesh = mesh_of(world)
    whole = torch.randn(2 * world.size + 1, 3, dtype=torch.float64)
    x = distribute_tensor(whole.to(world.device), mesh, [Shard(0)])
    torch.testing.assert_close(x.full_tensor().cpu(), whole)
    total = x.sum(0)
    torch.testing.assert_close(total.full_tensor().cpu(), whole.sum(0))


@on_ranks
def test_tensor_parallelism(world):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).double()
    reference = copy.deepcopy(net)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallel = parallelize_module(net.to(world.device), mesh_of(world), plan)
    assert parallel[0].weight.to_local().shape == (16 // world.size, 8)
    x, y = data(1)
    train(parallel, x.to(world.device), y.to(world.device))
    train(reference, x, y)
    assert_state(parallel.state_dict(), reference.state_dict())


@NEEDS_STREAMS
@on_ranks
def test_tensor_parallelism_within_data_parallelism(world):
    if world.size < 4:
        return
    mesh = mesh_of(world, 2, 2, names=("data", "tensor"))
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).double()
    reference = copy.deepcopy(net)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(net.to(world.device), mesh["tensor"], plan)
    fully_shard(net, mesh=mesh["data"])
    x, y = data(2)
    half = slice(4 * mesh["data"].get_local_rank(), 4 * mesh["data"].get_local_rank() + 4)
    train(net, x[:, half].to(world.device), y[:, half].to(world.device))
    train(reference, x, y)
    assert_state(net.state_dict(), reference.state_dict())


# ---- checkpoints ----


@NEEDS_STREAMS
@on_ranks
def test_a_checkpoint_of_a_sharded_model_continues_the_training(world):
    net = sharded(world, model().to(world.device), mesh=mesh_of(world))
    optimizer = optimizer_of(net.parameters())
    x, y = shares(world)

    def step(net, optimizer, i):
        optimizer.zero_grad()
        (net(x[i]) - y[i]).pow(2).mean().backward()
        optimizer.step()

    step(net, optimizer, 0)
    step(net, optimizer, 1)
    weights, moments = get_state_dict(net, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=world.directory / "saved")

    other = sharded(world, model().to(world.device), mesh=mesh_of(world))
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other_optimizer = optimizer_of(other.parameters())
    weights, moments = get_state_dict(other, other_optimizer)
    state = {"model": weights, "optimizer": moments}
    dcp.load(state, checkpoint_id=world.directory / "saved")
    set_state_dict(
        other, other_optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    step(other, other_optimizer, 2)
    assert_state(other.state_dict(), trained(world.size))


@NEEDS_STREAMS
@on_ranks
def test_a_checkpoint_is_read_by_fewer_ranks_than_wrote_it(world):
    net = sharded(world, model().to(world.device), mesh=mesh_of(world))
    train(net, *shares(world))
    dcp.save({"model": net.state_dict()}, checkpoint_id=world.directory / "saved")
    dist.barrier()
    half = dist.new_group(list(range(world.size // 2)))
    if world.rank < world.size // 2:
        mesh = dist.DeviceMesh.from_group(half, world.device.type)
        fewer = sharded(world, model().to(world.device), mesh=mesh)
        state = {"model": fewer.state_dict()}
        dcp.load(state, checkpoint_id=world.directory / "saved", process_group=half)
        fewer.load_state_dict(state["model"])
        assert_state(fewer.state_dict(), trained(world.size))
    dist.barrier()
