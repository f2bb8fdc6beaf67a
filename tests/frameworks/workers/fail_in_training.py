"""A training script whose rank 2 ends with code 23 in the middle, its peers being in a collective."""

import os
import sys
import traceback

import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://")
for step in range(1000):
    try:
        if step == 5 and dist.get_rank() == 2:
            raise RuntimeError("the loss is not a number any more")
    except RuntimeError:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(23)
    dist.all_reduce(torch.ones(1))
