"""Trains data-parallel with MindSpore on CPUs, in a dynamic cluster that its environment describes.

usage: mindspore_dp.py FOLDER [exit:RANK | kill:RANK | wait]

It is written for no launcher: what `mindspore.communication.init` finds in the environment is all.
Every process writes the environment it saw into FOLDER, the scheduler too; rank 0 prints the loss.
With `exit` that rank ends with code 7 after a few steps, with `kill` it gets a KILL, and with
`wait` all of them train without an end and say in FOLDER that they do.
"""

import json
import os
import pathlib
import signal
import sys

STEPS = 20
FAILS_AT = 3


def main(folder, fault=""):
    seen = dict(os.environ)  # before the import: MindSpore adds to it
    name = "scheduler" if seen.get("MS_ROLE") == "MS_SCHED" else f"pid-{os.getpid()}"
    (pathlib.Path(folder) / f"{name}.pid").write_text(str(os.getpid()))
    if name == "scheduler":
        write(folder, name, seen)  # now: `init` does not return there

    import mindspore
    from mindspore import communication

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    communication.init("mccl")
    rank, world_size = communication.get_rank(), communication.get_group_size()
    write(folder, f"worker-{rank}", seen)
    loss = train(rank, world_size, pathlib.Path(folder), fault)
    if rank == 0:
        print(f"{world_size} workers: loss {loss:.6f}", flush=True)


def write(folder, name, environment):
    (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps({**environment, "": os.getpid()}))


def train(rank, world_size, folder, fault):
    """The mean of the workers' losses after the last step."""
    import mindspore
    from mindspore import Tensor, nn, ops

    mindspore.set_seed(1)
    net = nn.Dense(4, 1, weight_init="ones", bias_init="zeros")
    optimizer = nn.SGD(net.trainable_params(), learning_rate=0.05)
    all_reduce = ops.AllReduce()

    def loss_of(inputs, targets):
        return ((net(inputs) - targets) ** 2).mean()

    step_of = mindspore.value_and_grad(loss_of, None, optimizer.parameters)
    ramp = [[(8 * rank + row + column) % 7 / 7 for column in range(4)] for row in range(8)]
    inputs = Tensor(ramp, mindspore.float32)
    targets = inputs.sum(axis=1, keepdims=True) * 0.5 + 0.25

    step = 0
    while step < STEPS or fault == "wait":
        loss, gradients = step_of(inputs, targets)
        optimizer(tuple(all_reduce(gradient) / world_size for gradient in gradients))
        mean = float(all_reduce(loss).asnumpy()) / world_size
        step += 1
        if step == FAILS_AT:
            be_faulty(rank, folder, fault)
    return mean


def be_faulty(rank, folder, fault):
    if fault == f"exit:{rank}":
        print(f"rank {rank} ends with code 7", flush=True)
        os._exit(7)
    if fault == f"kill:{rank}":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "wait":
        (folder / f"trains-{rank}").touch()


main(*sys.argv[1:])
