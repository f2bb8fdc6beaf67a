"""Meets the other ranks three times in one process, as a program that trains, evaluates and trains again does."""

import datetime
import os
import time

import torch
import torch.distributed as dist

for meeting in range(3):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    total = torch.ones(1) * dist.get_rank()
    dist.all_reduce(total)
    print(f"meeting {meeting}: rank {dist.get_rank()} of {dist.get_world_size()}: {total.item():g}", flush=True)
    dist.destroy_process_group()

# The rank that serves the store may not end first: here it is rank 0.
if os.environ["RANK"] != "0":
    time.sleep(0.5)
