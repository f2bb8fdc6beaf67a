"""Trains without knowing its launcher: at a signal the ranks agree on a step, save there, and end with 0.

usage: agree_and_save.py SIGNAL FOLDER STEPS

It goes on from the checkpoint in the folder. The parameters after the last step are left there as `final`.
"""

import gc
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

FEATURES = 32
asked = torch.zeros(1)


def ask(_number, _frame):
    asked.fill_(1)


def main(name, folder, steps):
    signal.signal(signal.Signals[f"SIG{name}"], ask)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo", init_method="env://")
    try:
        train(pathlib.Path(folder), int(steps))
    finally:
        gc.collect()  # as in examples/ddp.py
        dist.destroy_process_group()


def train(folder, steps):
    torch.manual_seed(7)
    rank = dist.get_rank()
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step = load(folder / "checkpoint", model, optimizer)
    # Buckets that are never rebuilt: in another order the same sums have other last bits.
    parallel = DistributedDataParallel(model, find_unused_parameters=True)
    print("going on from step", step, flush=True)

    while step < steps:
        learn(parallel, optimizer, torch.Generator().manual_seed(step + 1_000_000 * rank))
        step += 1
        if all_are_to_save():
            if rank == 0:
                save(folder / "checkpoint", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step})
                print("saved step", step, flush=True)
            dist.barrier()
            return
    if rank == 0:
        save(folder / "final", model.state_dict())


def learn(model, optimizer, chance):
    inputs = torch.randn(8, FEATURES, generator=chance)
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def all_are_to_save():
    """Signals reach the ranks at different steps: one that was asked is enough, and all save at the same step."""
    flag = asked.clone()
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def load(checkpoint, model, optimizer):
    """Returns the step to go on with."""
    if not checkpoint.exists():
        return 0
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"]


def save(path, state):
    half = path.with_name(f"half-{os.getpid()}")
    torch.save(state, half)
    half.replace(path)


main(*sys.argv[1:])
