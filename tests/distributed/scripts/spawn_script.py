"""A script that starts its ranks itself."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing


def work(rank, size, path):
    torch.set_num_threads(1)
    kind = torch.accelerator.current_accelerator().type
    device = torch.device(kind, rank % torch.accelerator.device_count())
    dist.init_process_group(
        init_method=f"file://{path}", rank=rank, world_size=size, device_id=device
    )
    x = torch.full((3,), rank + 1.0, device=device)
    dist.all_reduce(x)
    assert x.tolist() == [sum(range(1, size + 1))] * 3
    print(f"rank {rank} of {size} has added on {dist.get_backend()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    path = os.path.join(os.environ["SPAWN_DIRECTORY"], "store")
    torch.multiprocessing.spawn(work, args=(2, path), nprocs=2)
