"""Trains with gloo without a line of output, and spends so many seconds in each phase in which a single rank works: SECONDS FOLDER."""

import os
import pathlib
import sys
import time

import torch
import torch.distributed as distributed

SECONDS, FOLDER = float(sys.argv[1]), pathlib.Path(sys.argv[2])
SLOW_STEP = SECONDS / 15
LAYERS = [
    lambda size: torch.nn.Linear(size, size),
    torch.nn.LayerNorm,
    lambda _size: torch.nn.GELU(),
    lambda _size: torch.nn.Softmax(dim=-1),
    torch.nn.RMSNorm,
    lambda _size: torch.nn.Dropout(),
] * 2


def until(end):
    """Numbers, until that many seconds have passed."""
    began, number = time.monotonic(), 0
    while time.monotonic() - began < end:
        yield number
        number += 1


def compile_models():
    for number in until(SECONDS):
        torch._dynamo.reset()
        function = torch.compile(lambda x, number=number: (x.sin() * number + x.cos() ** 2).sum())
        function(torch.ones(32 + number))


def evaluate(model):
    with torch.no_grad():
        for _ in until(SECONDS):
            model(torch.randn(64, 512)).mean().item()


def save(model):
    for number in until(SECONDS):
        torch.save(model.state_dict(), FOLDER / f"checkpoint-{number % 2}.{os.environ['RANK']}")
        time.sleep(SECONDS / 100)


def train_slowly(tensor, is_slow):
    for _ in range(15):
        time.sleep(SLOW_STEP if is_slow else 0)
        distributed.all_reduce(tensor)


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    model = torch.nn.Sequential(*[make(512) for make in LAYERS])
    tensor = torch.ones(8)
    phases = [compile_models, lambda: evaluate(model), lambda: save(model)]
    for phase in phases:
        if rank == 0:
            phase()
        distributed.barrier()
    train_slowly(tensor, is_slow=rank == 1)
    distributed.destroy_process_group()
    print("trained", flush=True)


main()
