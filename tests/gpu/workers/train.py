"""A few steps of DDP on the GPU of LOCAL_RANK, modulo their number.

usage: train.py BACKEND
"""

import os
import sys

import torch
import torch.distributed as dist

backend = sys.argv[1]
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
torch.cuda.set_device(device)
dist.init_process_group(backend)
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    torch.manual_seed(1000 * step + dist.get_rank())
    loss = model(torch.randn(64, 256, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
total = torch.ones(1, device=device)
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {int(total.item())}: weight {model.module.weight.sum().item():.4f}", flush=True)
dist.destroy_process_group()
