"""Trains a line with Horovod: the same gradients on all ranks, and what Horovod says of each."""

import os

import horovod.torch as hvd
import torch

hvd.init()
assert hvd.mpi_enabled() and not hvd.gloo_enabled()
for name in ("rank", "size", "local_rank", "local_size"):
    assert getattr(hvd, name)() == int(os.environ["HOROVOD_" + name.upper()]), name

torch.manual_seed(hvd.rank())
model = torch.nn.Linear(1, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
for _ in range(200):
    x = torch.rand(16, 1)
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), 2 * x + 1)
    loss.backward()
    optimizer.step()

total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum).item()
gathered = hvd.allgather(model.weight.detach())
assert torch.equal(gathered, gathered[:1].expand_as(gathered)), "weights differ"
print(
    f"rank {hvd.rank()} of {hvd.size()}, {hvd.local_rank()} of {hvd.local_size()}, "
    f"{hvd.cross_rank()} of {hvd.cross_size()}: sum {total:.0f}, loss {loss.item():.1f}",
    flush=True,
)
hvd.shutdown()
