"""Trains on uneven inputs with PyTorch's Join, and ends at a time of its own.

Rank r has 6 + 3 r batches: the later ranks go on while the earlier ones only shadow their
collectives. Then rank 0, which hosts the store, ends first, and each rank half a second later.
"""

import gc
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo", init_method="env://")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    problem = train(rank, world_size)
    gc.collect()  # as in examples/ddp.py
    dist.destroy_process_group()
    if problem:
        sys.exit(problem)
    time.sleep(0.5 * rank)
    print(f"rank {rank} of {world_size} on {os.uname().nodename} leaves", flush=True)


def train(rank, world_size):
    """Returns what went wrong, or nothing."""
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01
    )
    batches = [torch.full((8, 4), 0.1 * (rank + 1)) for _ in range(6 + 3 * rank)]
    with Join([model, optimizer]):
        for batch in batches:
            optimizer.zero_grad()
            (model(batch) - 1).square().mean().backward()
            optimizer.step()

    own = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everybodys = [torch.empty_like(own) for _ in range(world_size)]
    dist.all_gather(everybodys, own)
    if not all(torch.equal(other, own) for other in everybodys):
        return f"rank {rank}: the ranks do not agree on the parameters: {everybodys}"
    return None


main()
