"""Process groups: every way to make one, subgroups, meshes, and what they say of themselves."""

import contextlib
import warnings
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from ranks import GROUP_TIMEOUT, on_ranks
from torch.distributed.device_mesh import init_device_mesh


def use(world):
    """A collective, a barrier, objects and DistributedDataParallel."""
    x = torch.full((3,), world.rank + 1.0, device=world.device)
    dist.all_reduce(x)
    assert x.cpu().eq(sum(range(1, world.size + 1))).all()
    dist.barrier()
    got = [None] * world.size
    dist.all_gather_object(got, world.rank)
    assert got == list(range(world.size))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to(world.device))
    model(torch.full((1, 2), float(world.rank), device=world.device)).sum().backward()
    mean = sum(range(world.size)) / world.size
    assert model.module.weight.grad.cpu().eq(mean).all()


class Anew:
    """Takes the group of the tests down, makes others, and puts it back."""

    def __init__(self, world):
        self.world = world
        self.count = 0

    def make(self, *arguments, **options):
        if dist.is_initialized():
            dist.destroy_process_group()
        self.count += 1
        path = self.world.directory / f"store {self.count}"
        dist.init_process_group(
            *arguments,
            store=dist.FileStore(str(path), self.world.size),
            rank=self.world.rank,
            world_size=self.world.size,
            timeout=timedelta(seconds=GROUP_TIMEOUT),
            **options,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.make(f"cpu:gloo,{self.world.device.type}:torchplug")


@on_ranks
def test_every_way_to_name_the_backend(world):
    name = world.device.type
    with Anew(world) as anew, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given, said in [("torchplug", "torchplug"), ("TORCHPLUG", "torchplug")]:
            anew.make(given)
            assert dist.get_backend() == said
            assert dist.group.WORLD._get_backend(world.device).name() == "torchplug"
            use(world)
        anew.make()
        use(world)
        anew.make(device_id=world.device)
        assert dist.get_backend() == "torchplug"
        assert dist.group.WORLD.bound_device_id == world.device
        use(world)
        anew.make(f"{name}:torchplug,cpu:gloo", device_id=world.device)
        use(world)
        x = torch.ones(2)
        dist.all_reduce(x)
        assert x.eq(world.size).all()


@on_ranks
def test_gloo_s_options_reach_gloo(world):
    options = dist.ProcessGroupGloo._Options()
    options._threads = 3
    options._devices = [dist.ProcessGroupGloo.create_default_device()]
    with Anew(world) as anew:
        anew.make("torchplug", pg_options=options)
        use(world)
        given = dist.group.WORLD._get_backend(world.device).options
        assert given._threads == 3
        assert given._timeout == timedelta(seconds=GROUP_TIMEOUT)
        with pytest.raises(TypeError, match="options of type dict"):
            dist.new_group(backend="torchplug", pg_options={})


@on_ranks
def test_torch_distributed_knows_the_backend(world):
    assert dist.is_backend_available("torchplug")
    assert dist.get_default_backend_for_device(world.device) == "torchplug"
    assert dist.get_default_backend_for_device(world.device.type) == "torchplug"
    assert dist.Backend("torchplug") == dist.Backend.TORCHPLUG
    backend = dist.group.WORLD._get_backend(world.device)
    assert (backend.rank(), backend.size()) == (world.rank, world.size)
    assert not backend.supports_splitting
    before = backend._get_sequence_number_for_group()
    dist.all_reduce(torch.ones(1, device=world.device))
    assert backend._get_sequence_number_for_group() == before + 1


@on_ranks
def test_a_tensor_on_the_cpu_goes_to_gloo(world):
    x = torch.full((3,), world.rank + 1.0)
    dist.all_reduce(x)
    assert x.eq(sum(range(1, world.size + 1))).all()


@on_ranks
def test_subgroups(world):
    halves = [list(range(0, world.size, 2)), list(range(1, world.size, 2))]
    groups = [dist.new_group(ranks) for ranks in halves]
    mine = world.rank % 2
    x = torch.full((4,), float(world.rank), device=world.device)
    dist.all_reduce(x, group=groups[mine])
    assert x.cpu().eq(sum(halves[mine])).all()
    assert dist.get_group_rank(groups[mine], world.rank) == halves[mine].index(world.rank)
    dist.broadcast(x, src=halves[mine][-1], group=groups[mine])
    own, _ = dist.new_subgroups(world.size // 2)
    y = torch.ones(2, device=world.device)
    dist.all_reduce(y, group=own)
    assert y.cpu().eq(world.size // 2).all()


@on_ranks
def test_a_mesh_of_two_dimensions(world):
    mesh = init_device_mesh(
        world.device.type, (2, world.size // 2), mesh_dim_names=("outer", "inner")
    )
    assert mesh.device_type == world.device.type
    for dimension, ranks in [
        ("outer", [world.rank % (world.size // 2) + i * (world.size // 2) for i in range(2)]),
        (
            "inner",
            [
                r
                for r in range(world.size)
                if r // (world.size // 2) == world.rank // (world.size // 2)
            ],
        ),
    ]:
        x = torch.full((3,), float(world.rank), device=world.device)
        dist.all_reduce(x, group=mesh.get_group(dimension))
        assert x.cpu().eq(sum(ranks)).all()


@on_ranks
def test_a_timeout_can_be_set_later(world):
    group = dist.new_group(backend="torchplug")
    group.set_timeout(timedelta(seconds=GROUP_TIMEOUT + 1))
    assert group._get_backend(world.device).options._timeout.total_seconds() == GROUP_TIMEOUT + 1
    x = torch.ones(1, device=world.device)
    dist.all_reduce(x, group=group)
    assert x.item() == world.size


@on_ranks
def test_an_aborted_group_ends_what_waits_and_refuses_more(world):
    group = dist.new_group(backend="torchplug")
    if world.rank == 0:
        x = torch.ones(3, device=world.device)
        work = dist.all_reduce(x, group=group, async_op=True)
        group.abort()
        with pytest.raises(dist.DistBackendError, match="the process group was aborted"):
            work.wait()
            torch.accelerator.synchronize(world.device)
        assert work.is_completed()
        assert isinstance(work.exception(), dist.DistBackendError)
        with pytest.raises(dist.DistBackendError, match="cannot start: the process group was"):
            dist.all_reduce(x, group=group)
        # What wait() has raised is kept for the device's next synchronisation too.
        with contextlib.suppress(dist.DistBackendError):
            torch.accelerator.synchronize(world.device)
    dist.barrier()


@on_ranks
def test_a_barrier_that_names_the_missing_rank(world):
    group = dist.new_group(backend="gloo")
    dist.monitored_barrier(group, timedelta(seconds=GROUP_TIMEOUT))
    backend = dist.new_group(backend="torchplug")._get_backend(world.device)
    backend.monitored_barrier(timedelta(seconds=GROUP_TIMEOUT), False)
