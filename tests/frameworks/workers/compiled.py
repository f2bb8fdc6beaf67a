"""Compiles a small model for CPUs, and tells how long the first step took, and how much of all CPUs, compilers included.

With FAIL_TOGETHER=FOLDER the first attempt fails when all its ranks have taken the step."""

import os
import pathlib
import sys
import time

import torch

began, spent = time.monotonic(), sum(os.times()[:4])
torch.manual_seed(0)
width = 64
model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width), torch.nn.Linear(width, 1))
loss = torch.compile(model)(torch.ones(8, width)).sum()
loss.backward()
gradient = sum(parameter.grad.abs().sum().item() for parameter in model.parameters())
print(f"loss {loss.item():.6f} gradient {gradient:.6f} ", end="")
print(f"first step {time.monotonic() - began:.1f} s with {sum(os.times()[:4]) - spent:.1f} s of CPU", flush=True)
if os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0" and "FAIL_TOGETHER" in os.environ:
    together = pathlib.Path(os.environ["FAIL_TOGETHER"])
    (together / os.environ["RANK"]).touch()
    while len(list(together.iterdir())) < int(os.environ["WORLD_SIZE"]):
        time.sleep(0.05)
    sys.exit(1)
