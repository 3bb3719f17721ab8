"""torch.compile(backend="torchplug") on several ranks trains as one process does."""

from unittest import mock

import pytest
import torch
import torch.distributed as dist
from parallel_models import assert_state, data, model, share, train, trained
from ranks import on_ranks
from torch.nn.parallel import DistributedDataParallel

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")


@pytest.mark.parametrize("splits", [True, False], ids=["graphs by buckets", "one graph"])
@on_ranks
def test_compiled_ddp(world, splits):
    from torchplug.compile import _backend

    torch._dynamo.reset()
    _backend.programs = []
    # A few hundred bytes: several buckets, and as many graphs if PyTorch splits at them.
    net = DistributedDataParallel(model().to(world.device), bucket_cap_mb=0.0005)
    with (
        torch._dynamo.config.patch(optimize_ddp=splits),
        mock.patch.object(dist, "_DEFAULT_FIRST_BUCKET_BYTES", 500),
    ):
        train(
            torch.compile(net, backend="torchplug"),
            *(share(world, tensor) for tensor in data(world.size)),
        )
    assert_state(net.module.state_dict(), trained(world.size))
    programs, _backend.programs = _backend.programs, None
    runs = [group.engines.report()["runs"] for program in programs for group in program.groups]
    assert sum(runs) > 0
    assert (len(programs) > 2) == splits
