"""Prints what this worker sees of the GPUs."""

import torch

names = [str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())]
print("sees", len(names), *names, flush=True)
