"""A script for torchrun that starts as docs/distributed.md says, trains with DistributedDataParallel and waits
for the others, with no warning on the way."""

import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from parallel_models import ROWS, data, model, train

PHASES = ("forward_compute", "backward_compute", "backward_comm")


def main():
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    local_rank = int(os.environ["LOCAL_RANK"]) % torch.accelerator.device_count()
    device = torch.device(torch.accelerator.current_accelerator().type, local_rank)
    torch.accelerator.set_device_index(device.index)
    dist.init_process_group(device_id=device)
    rank, size = dist.get_rank(), dist.get_world_size()
    net = DistributedDataParallel(model().to(device))
    rows = slice(rank * ROWS, rank * ROWS + ROWS)
    for _ in range(4):
        train(net, *(tensor[:, rows].to(device) for tensor in data(size)))
    dist.barrier()
    logged = net._get_ddp_logging_data()
    for phase in PHASES:
        assert logged[f"avg_{phase}_time"] > 0, (phase, logged)
    print(f"rank {rank} of {size} has trained quietly", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
