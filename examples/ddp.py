#!/usr/bin/env python3
"""Trains a small model on every worker of the job, with PyTorch's DistributedDataParallel.

Runs on CPUs with the gloo backend, from PyTorch 1.13 on. The data is made, not loaded, and each
rank takes its own share of it. The script checks itself: the loss must fall, and all ranks must
hold the same parameters in the end. Nothing in it knows which launcher started it.

    muster --nproc-per-node 4 examples/ddp.py
"""

import gc
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SAMPLES = 1024
FEATURES = 16
BATCH = 32
EPOCHS = 4


def main():
    dist.init_process_group("gloo", init_method="env://")
    try:
        problem = train_and_check()
    finally:
        # DDP's reference cycles keep the process group alive, and its threads would still let go of
        # tensors while the interpreter shuts down: torch 2.13 aborts there about one time in ten.
        gc.collect()
        dist.destroy_process_group()
    if problem:
        sys.exit(problem)


def train_and_check():
    """Returns what went wrong, or nothing."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)  # a different start on every rank: it is DDP that makes them equal
    model = DistributedDataParallel(
        torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
        )
    )

    losses = train(model, *share_of_data(rank, world_size))

    checksums = gather(checksum(model))
    if any(other != checksums[0] for other in checksums):
        return f"rank {rank}: the ranks do not agree on the parameters: {checksums}"
    if not losses[-1] < 0.5 * losses[0]:
        return f"rank {rank}: the loss does not fall: {losses}"
    if rank == 0:
        print(
            f"{world_size} workers: loss {losses[0]:.4f} -> {losses[-1]:.4f}, all agree on the "
            f"parameters (checksum {checksums[0]:.6f}), torch {torch.__version__}",
            flush=True,
        )
    return None


def share_of_data(rank, world_size):
    """Every world_size-th sample of a set that is the same on all ranks, beginning at our rank."""
    generator = torch.Generator().manual_seed(20)
    inputs = torch.randn(SAMPLES, FEATURES, generator=generator)
    weights = torch.randn(FEATURES, 1, generator=generator)
    targets = torch.sin(inputs @ weights / FEATURES**0.5)
    return inputs[rank::world_size], targets[rank::world_size]


def train(model, inputs, targets):
    """Returns the mean loss of each epoch, over all ranks."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batch = max(1, BATCH // dist.get_world_size())
    losses = []
    for _ in range(EPOCHS):
        total = torch.zeros(1)
        batches = len(inputs) // batch
        for i in range(batches):
            rows = slice(i * batch, (i + 1) * batch)
            loss = torch.nn.functional.mse_loss(model(inputs[rows]), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() / batches
        dist.all_reduce(total)
        losses.append(total.item() / dist.get_world_size())
    return losses


def checksum(model):
    with torch.no_grad():
        return sum(parameter.double().abs().sum() for parameter in model.parameters()).reshape(1)


def gather(value):
    """The value of every rank, as numbers, in the order of the ranks."""
    values = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(values, value)
    return [one.item() for one in values]


if __name__ == "__main__":
    main()
