"""Trains on gloo, saves, and crashes as soon as it may, in each attempt but the last; then prints what it has learned.

usage: restarted.py KIND FOLDER CRASHES; in attempt N rank 0 crashes when FOLDER/goN is there
"""

import hashlib
import os
import pathlib
import random
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset

KIND, FOLDER, CRASHES = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
FEATURES = 8
STEPS = 5


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    last = FOLDER / f"after-{ATTEMPT - 1}.pt"
    if last.exists():
        model.load_state_dict(torch.load(last, weights_only=True))
    train(wrapped(model), rank)
    if KIND != "fsdp" and rank == 0:
        torch.save(model.state_dict(), FOLDER / f"after-{ATTEMPT}.tmp")
        os.replace(FOLDER / f"after-{ATTEMPT}.tmp", FOLDER / f"after-{ATTEMPT}.pt")
    dist.barrier()
    drawn = f"{torch.initial_seed()} {random.random()} {hash('muster')}"
    print(f"attempt {ATTEMPT} rank {rank} has {digest(model)}, drew {hashlib.md5(drawn.encode()).hexdigest()}", flush=True)
    while ATTEMPT < CRASHES and not (FOLDER / f"go{ATTEMPT}").exists():
        time.sleep(0.01)
    if ATTEMPT < CRASHES and rank == 0:
        os._exit(3)
    while ATTEMPT < CRASHES:
        time.sleep(0.1)  # until muster ends it
    dist.destroy_process_group()


def wrapped(model):
    if KIND == "fsdp":
        fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
        return model
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    return torch.compile(ddp, backend="aot_eager") if KIND == "compile" else ddp


def train(model, rank):
    chance = torch.Generator().manual_seed(rank + 10 * ATTEMPT)
    inputs = torch.randn(4 * STEPS, FEATURES, generator=chance)
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    how = {"loaders": {"num_workers": 2}, "spawned loaders": {"num_workers": 2, "multiprocessing_context": "spawn"}}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for given, wanted in DataLoader(data, batch_size=4, **how.get(KIND, {})):
        optimizer.zero_grad()
        ((model(given) - wanted) ** 2).mean().backward()
        optimizer.step()
    if KIND == "spawn":
        torch.multiprocessing.spawn(be_spawned, args=(FOLDER,), nprocs=2)


def be_spawned(index, folder):
    """A process of mp.spawn imports this program anew."""
    assert torch.ones(2).sum().item() == 2 and folder.is_dir(), index


def digest(model):
    values = [one.full_tensor() if hasattr(one, "full_tensor") else one for one in model.state_dict().values()]
    return hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in values)).hexdigest()[:16]


if __name__ == "__main__":
    main()
