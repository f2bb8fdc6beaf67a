"""HAI's example of a training that is suspended, with a model, a checkpoint and CPU tensors.

usage: train_as_hai_has_it.py FOLDER PAUSE

It goes on from the checkpoint in the folder, and leaves the last parameters there as `final`. Unless the file `go` is there, it stays at one
step until it is to be suspended. Behind its save it waits for PAUSE seconds, as the example does.
Source: HAI Platform, "Time sharing": the loop, the question to the first process of the first node, and the call of spawn are its lines.
"""

import os
import pathlib
import sys
import time

import hfai
import torch

EPOCHS, STEPS, HELD, NGPUS = 2, 10, 7, 2
folder, pause = pathlib.Path(sys.argv[1]), float(sys.argv[2])


def main(gpu_id):
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    nodes, node = hfai.distributed.get_world_size(), hfai.distributed.get_rank()
    address = f"tcp://{os.environ['MASTER_IP']}:{os.environ['MASTER_PORT']}"
    hfai.distributed.init_process_group(
        "gloo", init_method=address, world_size=nodes * NGPUS, rank=node * NGPUS + gpu_id
    )
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first_epoch, first_step = 0, 0
    if (folder / "checkpoint").exists():
        state = torch.load(folder / "checkpoint")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first_epoch, first_step = state["epoch"], state["step"]
    say(f"going on at epoch {first_epoch} step {first_step}")

    for epoch in range(first_epoch, EPOCHS):
        for step in range(first_step, STEPS):
            train(model, optimizer, epoch * STEPS + step)
            if hfai.distributed.get_rank() == 0 and gpu_id == 0:
                if (epoch, step) == (0, HELD):
                    say("holding")
                    while not (folder / "go").exists() and not hfai.client.receive_suspend_command():
                        time.sleep(0.01)
                if hfai.client.receive_suspend_command():
                    save(model, optimizer, epoch, step + 1)
                    time.sleep(pause)
                    hfai.client.go_suspend()
        first_step = 0
    if hfai.distributed.get_rank() == 0 and gpu_id == 0:
        torch.save(model.state_dict(), folder / "final")
    hfai.distributed.barrier()
    hfai.distributed.destroy_process_group()


def train(model, optimizer, number):
    chance = torch.Generator().manual_seed(1000 * hfai.distributed.get_rank(hfai.distributed.group.WORLD) + number)
    inputs = torch.randn(16, 32, generator=chance)
    optimizer.zero_grad()
    (model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean().backward()
    for parameter in model.parameters():
        hfai.distributed.all_reduce(parameter.grad)
    optimizer.step()


def save(model, optimizer, epoch, step):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "step": step}
    torch.save(state, folder / "checkpoint.new")
    os.rename(folder / "checkpoint.new", folder / "checkpoint")
    say(f"saved epoch {epoch} step {step}")


def say(text):
    """In one piece: the processes of a node share the stream."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    hfai.multiprocessing.spawn(main, args=(), nprocs=NGPUS, bind_numa=True)
