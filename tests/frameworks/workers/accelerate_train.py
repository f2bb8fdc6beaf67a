"""Trains with Hugging Face's accelerate on CPUs, over the processes that its environment describes."""

import gc

import torch
from accelerate import Accelerator

STEPS = 20
FEATURES = 16


def main():
    accelerator = Accelerator(cpu=True)
    train(accelerator)
    accelerator.free_memory()
    gc.collect()  # as in examples/ddp.py
    accelerator.end_training()


def train(accelerator):
    rank, world_size = accelerator.process_index, accelerator.num_processes
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    )
    model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.02))

    inputs = torch.randn(32, FEATURES, generator=torch.Generator().manual_seed(rank))
    losses = []
    for _ in range(STEPS):
        loss = (model(inputs) - inputs.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        losses.append(accelerator.reduce(loss.detach().clone(), "mean").item())

    assert losses[-1] < 0.5 * losses[0], losses
    accelerator.print(
        f"{world_size} workers: loss {losses[0]:.6f} -> {losses[-1]:.6f}, "
        f"{accelerator.distributed_type}"
    )


main()
