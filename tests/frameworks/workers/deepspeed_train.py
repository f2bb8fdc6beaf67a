"""Trains with DeepSpeed's ZeRO stage 1 on CPUs; --local_rank is accepted as DeepSpeed hands it over."""

import argparse
import gc
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("DS_IGNORE_CUDA_DETECTION", "1")

import deepspeed
import torch

STEPS = 20
FEATURES = 16
SETTINGS = {
    "train_micro_batch_size_per_gpu": 32,
    "optimizer": {"type": "Adam", "params": {"lr": 0.02, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.parse_args()
    # Sums within a node by gloo as well: DeepSpeed would compile its own, for minutes.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo")
    train()
    gc.collect()  # as in examples/ddp.py
    torch.distributed.destroy_process_group()


def train():
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    )
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=SETTINGS
    )
    inputs = torch.randn(32, FEATURES, generator=torch.Generator().manual_seed(rank))
    losses = []
    for _ in range(STEPS):
        loss = (engine(inputs) - inputs.mean(1, keepdim=True)).square().mean()
        engine.backward(loss)
        engine.step()
        mean = loss.detach().clone()
        torch.distributed.all_reduce(mean)
        losses.append(mean.item() / world_size)

    assert losses[-1] < 0.5 * losses[0], losses
    if rank == 0:
        print(f"{world_size} workers: loss {losses[0]:.6f} -> {losses[-1]:.6f}", flush=True)


main()
