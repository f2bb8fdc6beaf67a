"""Trains with NCCL, all ranks on one GPU, until one rank hangs in the way that its arguments say.

usage: hang.py KIND RANK

"silent" is no hang: all ranks train for a while without a line.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist

KIND, HUNG = sys.argv[1], int(sys.argv[2])
FOREVER = 100_000
SILENCE = 20  # seconds
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def load_shard():
    time.sleep(FOREVER)


def spin():
    while True:
        pass


def save(model):
    """Is in a collective of its own: the others are in another one."""
    dist.broadcast(model, HUNG)
    torch.cuda.synchronize()


def step(model, group):
    """A step in the group of all ranks, or of one half of them; waits for the GPU, as reading the loss does."""
    dist.all_reduce(model, group=group)
    torch.cuda.synchronize()


def hang(model):
    print("hangs now", flush=True)
    if KIND == "asleep" or KIND == "half":
        load_shard()
    elif KIND == "loop":
        spin()
    elif KIND == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif KIND == "mismatch":
        save(model)
    elif KIND == "kernel":
        torch.cuda._sleep(1 << 60)  # a kernel that does not end


# NCCL refuses two ranks of one host on one GPU, so each has a host of its own, and sockets between them.
os.environ.update(NCCL_HOSTID=f"host-{RANK}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
dist.init_process_group("nccl")
halves = [dist.new_group(list(range(WORLD))[half::2], group_desc=f"half {half}") for half in range(2)]
weights = torch.ones(1024, device="cuda")
begin = time.monotonic()
for number in range(20):
    step(weights, None)
    step(weights, halves[RANK % 2])
if KIND == "silent":
    print("trains now", file=sys.stderr, flush=True)
    goes_on = torch.ones(1, device="cuda")
    while goes_on.item():
        step(weights, None)
        goes_on.fill_(time.monotonic() < begin + SILENCE)
        dist.broadcast(goes_on, 0)
elif RANK == HUNG:
    hang(weights)
if KIND == "half":
    step(weights, halves[RANK % 2])
step(weights, None)
