#!/usr/bin/env python3
"""A training as it is run for days: data from files, checkpoints, and a start where it was ended.

Plain PyTorch, on GPUs by NCCL or on CPUs by gloo; nothing in it knows which launcher started it. After each
epoch, and when it is asked to end by SIGTERM, it writes a checkpoint; started again, it goes on from there.

    examples/make_data.py data
    muster --nproc-per-node 2 --max-restarts 3 examples/train.py --data data --checkpoints checkpoints
"""

import argparse
import gc
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

STOPPED = 128 + signal.SIGTERM  # the exit code of a job that was asked to end


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of examples/make_data.py")
    parser.add_argument("--checkpoints", type=pathlib.Path, required=True, help="folder that all nodes see")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16, help="samples of each rank")
    arguments = parser.parse_args()

    asked_to_end = []
    signal.signal(signal.SIGTERM, lambda *_: asked_to_end.append(True))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        code = Training(arguments, asked_to_end).run()
    finally:
        gc.collect()  # DDP's reference cycles keep the process group alive
        dist.destroy_process_group()
    sys.exit(code)


class Training:
    def __init__(self, arguments, asked_to_end):
        self.arguments = arguments
        self.asked_to_end = asked_to_end
        self.is_first = dist.get_rank() == 0
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(self.device)
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
        self.model = DistributedDataParallel(model.to(self.device))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.file = arguments.checkpoints / "last.pt"
        self.epoch = 0

    def run(self):
        """Returns the exit code."""
        self.load()
        samples = read_data(self.arguments.data)
        sampler = DistributedSampler(samples, seed=20)
        batches = DataLoader(samples, batch_size=self.arguments.batch, sampler=sampler)
        while self.epoch < self.arguments.epochs:
            sampler.set_epoch(self.epoch)  # another order in each epoch, and the same one after a restart
            loss = self.train(batches)
            if loss is None:
                self.save("asked to end")
                return STOPPED
            self.epoch += 1
            self.save(f"loss {loss:.4f}")
        return 0

    def train(self, batches):
        """One epoch: its mean loss over all ranks, or None if the job is asked to end."""
        total = torch.zeros(1, device=self.device)
        for inputs, targets in batches:
            if self.is_end_agreed():
                return None
            loss = torch.nn.functional.mse_loss(self.model(inputs.to(self.device)), targets.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.detach() / len(batches)
        dist.all_reduce(total)
        return total.item() / dist.get_world_size()

    def is_end_agreed(self):
        """The ranks hear of the end at different moments: they stop after the same step."""
        is_asked = torch.tensor([float(bool(self.asked_to_end))], device=self.device)
        dist.all_reduce(is_asked)
        return is_asked.item() > 0

    def save(self, reason):
        """Writes beside the file and renames: whoever is killed meanwhile leaves the last one whole."""
        if self.is_first:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            new = self.file.with_suffix(".new")
            states = {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save({"epoch": self.epoch, **states}, new)
            os.replace(new, self.file)
            print(f"epoch {self.epoch} of {self.arguments.epochs}: {reason}, saved {self.file}", flush=True)
        dist.barrier()

    def load(self):
        if not self.file.exists():
            return
        state = torch.load(self.file, map_location=self.device)  # not weights_only: torch 1.13 would refuse numbers
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch = state["epoch"]
        if self.is_first:
            print(f"going on after epoch {self.epoch} from {self.file}", flush=True)


def read_data(folder):
    files = sorted(folder.glob("*.pt"))
    if not files:
        sys.exit(f"no *.pt in {folder}; examples/make_data.py {folder} makes them")
    return ConcatDataset([TensorDataset(*torch.load(file, weights_only=True)) for file in files])


if __name__ == "__main__":
    main()
