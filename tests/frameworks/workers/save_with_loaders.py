"""Trains a tiny model with data loaders; saves and ends with 0 at a request, as users write it. A second request while it saves means now.

save_with_loaders.py CHECKPOINT SECONDS: so long it takes to save, in which further batches are read.
"""

import os
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

checkpoint, seconds = sys.argv[1], float(sys.argv[2])
asked = []


def ask(number, _frame):
    if asked:
        os._exit(99)
    asked.append(number)


class Numbers(Dataset):
    def __len__(self):
        return 10**9

    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.tensor([float(index % 7)])


def main():
    for name in ("SIGTERM", "SIGUSR1"):
        signal.signal(getattr(signal, name), ask)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    save_by = None
    for step, batch in enumerate(DataLoader(Numbers(), batch_size=4, num_workers=2)):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        if step == 2:
            print("training", flush=True)
        if asked and save_by is None:
            print("asked by", signal.Signals(asked[0]).name, flush=True)
            save_by = time.monotonic() + seconds
        if save_by is not None and time.monotonic() > save_by:
            torch.save(model.state_dict(), checkpoint + ".new")
            os.rename(checkpoint + ".new", checkpoint)
            print("saved", flush=True)
            return


main()
