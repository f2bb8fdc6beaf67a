"""A program of the table in docs/processes.md: notes each signal, as does its helper, a DataLoader's or one of mp.spawn."""

import os
import signal
import sys
import time

import torch
from torch import multiprocessing
from torch.utils.data import DataLoader, IterableDataset

NAMES = ("TERM", "HUP", "INT", "USR1", "USR2", "WINCH", "TSTP", "CONT")
asked = []


def note_as(name, folder):
    """Notes in the form of tests/support/signal_table.py."""
    file = os.open(f"{folder}/notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(*words):
        with open(f"{folder}/../phase") as phase:
            os.write(file, f"{name} {' '.join(words)} {phase.read()}\n".encode())

    def on_signal(number, _frame):
        note("got", signal.Signals(number).name[3:])
        asked.extend([number] if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT) else [])

    for one in NAMES:
        signal.signal(getattr(signal, f"SIG{one}"), on_signal)
    note("is", str(os.getpid()))


def may_end(folder):
    time.sleep(0.005)
    return asked and os.path.exists(f"{folder}/../go")


class Endless(IterableDataset):
    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        note_as("helper", self.folder)
        while True:
            yield torch.zeros(1)


def train_with_loader(folder):
    for _batch in DataLoader(Endless(folder), num_workers=1):
        if may_end(folder):
            break


def spawned(_rank, folder):
    note_as("helper", folder)
    while True:
        time.sleep(1)


def train_with_spawn(folder):
    context = multiprocessing.spawn(spawned, [folder], join=False)
    while not context.join(timeout=0.005):
        if may_end(folder):
            context.processes[0].kill()
            context.processes[0].join()
            break


if __name__ == "__main__":
    _, folder, kind = sys.argv
    note_as("train", folder)
    {"loader": train_with_loader, "spawn": train_with_spawn}[kind](folder)
    os._exit(0)
