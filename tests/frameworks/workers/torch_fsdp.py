"""Trains with PyTorch's fully_shard (FSDP 2) on CPUs: every rank holds its part of the parameters."""

import gc
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS = 20
FEATURES = 16


def main():
    dist.init_process_group("gloo", init_method="env://")
    try:
        problem = train()
    finally:
        gc.collect()  # as in examples/ddp.py
        dist.destroy_process_group()
    if problem:
        sys.exit(problem)


def train():
    """Returns what went wrong, or nothing."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    )
    mesh = init_device_mesh("cpu", (world_size,))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    chance = torch.Generator().manual_seed(rank)
    inputs = torch.randn(32, FEATURES, generator=chance)
    losses = []
    for _ in range(STEPS):
        loss = (model(inputs) - inputs.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / world_size)

    own = sum(parameter.to_local().numel() for parameter in model.parameters())
    whole = sum(parameter.numel() for parameter in model.parameters())
    if not losses[-1] < 0.5 * losses[0]:
        return f"rank {rank}: the loss does not fall: {losses}"
    if not own < whole:
        return f"rank {rank} holds {own} of {whole} parameters: nothing is sharded"
    if rank == 0:
        print(
            f"{world_size} workers: loss {losses[0]:.6f} -> {losses[-1]:.6f}, "
            f"{own} of {whole} parameters here",
            flush=True,
        )
    return None


main()
