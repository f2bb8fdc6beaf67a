"""HAI's sample: one process per node that starts one for each GPU, and reads HAI's variables.

Source: HAI Platform, "Distributed training"; hfai.multiprocessing.spawn is torch's with a binding.
CPUs stand for the GPUs: gloo instead of nccl, and 2 instead of torch.cuda.device_count().
"""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def main(local_rank, gpus):
    ip = os.environ["MASTER_IP"]
    port = os.environ["MASTER_PORT"]
    hosts = int(os.environ["WORLD_SIZE"])
    rank = int(os.environ["RANK"])
    dist.init_process_group(
        backend="gloo",
        init_method=f"tcp://{ip}:{port}",
        world_size=hosts * gpus,
        rank=rank * gpus + local_rank,
    )
    total = torch.tensor([2.0 ** dist.get_rank()])
    dist.all_reduce(total)
    print(
        f"rank {dist.get_rank()} of {dist.get_world_size()} on node {rank}: sum {total.item():.0f}"
        f" by port {port}",
        flush=True,
    )
    dist.barrier()
    dist.destroy_process_group()  # without it gloo's threads may end the process by SIGABRT at its exit


if __name__ == "__main__":
    ngpus = 2
    mp.spawn(main, args=(ngpus,), nprocs=ngpus)
