"""Trains with a checkpoint every few steps, goes on from the last one, and dies as it is told.

usage: resume.py FOLDER STEPS [ATTEMPT:RANK:STEP...]

In that attempt that rank gets a KILL in that step, its peers being in a collective. With `-` for
the rank all of them wait there, so that somebody else can harm them. Rank 0 prints where each
attempt began and, at the end, a digest of the parameters, bit by bit.
"""

import gc
import hashlib
import os
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

EVERY = 5  # steps
FEATURES = 8


def main(folder, steps, *faults):
    checkpoint = pathlib.Path(folder) / "checkpoint"
    dist.init_process_group("gloo", init_method="env://")
    try:
        assert_new_store()
        train(checkpoint, int(steps), [fault.split(":") for fault in faults])
    finally:
        gc.collect()  # as in examples/ddp.py
        dist.destroy_process_group()


def assert_new_store():
    """Checks that a value of another attempt's store is not in this one's."""
    store = dist.distributed_c10d._get_default_store()
    came = store.add("ranks that came", 1)
    assert came <= dist.get_world_size(), f"the store knows {came} ranks"
    dist.barrier()
    assert store.add("ranks that came", 0) == dist.get_world_size()


def train(checkpoint, steps, faults):
    torch.manual_seed(7)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    begin = load(checkpoint, model, optimizer)
    # Buckets that are never rebuilt: in another order the same sums have other last bits.
    parallel = DistributedDataParallel(model, find_unused_parameters=True)
    if rank == 0:
        port = os.environ["MASTER_PORT"]
        print(f"attempt {attempt}: from step {begin}, {world_size} ranks, port {port}", flush=True)

    for step in range(begin, steps):
        for of_attempt, of_rank, at_step in faults:
            if (of_attempt, at_step) == (attempt, str(step)):
                be_faulty(checkpoint, rank, of_rank)
        chance = torch.Generator().manual_seed(step + 1000 * rank)
        inputs = torch.randn(8, FEATURES, generator=chance)
        loss = (parallel(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and (step + 1) % EVERY == 0:
            save(checkpoint, model, optimizer, step + 1)

    if rank == 0:
        print(f"done at step {steps} with {world_size} ranks: {digest(model)}", flush=True)


def be_faulty(checkpoint, rank, of_rank):
    if of_rank == "-":
        (checkpoint.parent / f"waits.{rank}").write_text(str(os.getpid()))
        time.sleep(600)
    if of_rank == str(rank):
        os.kill(os.getpid(), signal.SIGKILL)


def load(checkpoint, model, optimizer):
    """Returns the step to go on with."""
    if not checkpoint.exists():
        return 0
    saved = torch.load(checkpoint, weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"]


def save(checkpoint, model, optimizer, step):
    """Whole or not at all: whoever is killed meanwhile leaves the one before."""
    half = checkpoint.with_name(f"half-{os.getpid()}")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, half)
    half.replace(checkpoint)


def digest(model):
    whole = hashlib.sha256()
    for parameter in model.parameters():
        whole.update(parameter.detach().numpy().tobytes())
    return whole.hexdigest()


main(*sys.argv[1:])
