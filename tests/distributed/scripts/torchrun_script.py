"""A script that knows no device, for torchrun: it trains with DistributedDataParallel on what is there."""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from parallel_models import ROWS, assert_state, data, model, train, trained


def main():
    torch.set_num_threads(1)
    accelerator = torch.accelerator.current_accelerator()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.accelerator.set_device_index(local_rank % torch.accelerator.device_count())
    # Makes the process group too, and names no backend.
    mesh = init_device_mesh(accelerator.type, (int(os.environ["WORLD_SIZE"]),))
    rank, size = dist.get_rank(), dist.get_world_size()
    net = DistributedDataParallel(model().to(accelerator), device_ids=None, device_mesh=mesh)
    rows = slice(rank * ROWS, rank * ROWS + ROWS)
    train(net, *(tensor[:, rows].to(accelerator) for tensor in data(size)))
    assert_state(net.module.state_dict(), trained(size))
    print(f"rank {rank} of {size} has trained", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
