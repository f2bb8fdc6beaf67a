#!/usr/bin/env python3
"""Writes the data of examples/train.py: files of samples, as a real training would find them.

    examples/make_data.py data
"""

import argparse
import pathlib

import torch

FEATURES = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--samples", type=int, default=128, help="in each file")
    arguments = parser.parse_args()

    arguments.folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(20)
    weights = torch.randn(FEATURES, 1, generator=generator)
    for number in range(arguments.files):
        inputs = torch.randn(arguments.samples, FEATURES, generator=generator)
        targets = torch.sin(inputs @ weights / FEATURES**0.5)
        torch.save((inputs, targets), arguments.folder / f"samples-{number:03}.pt")


if __name__ == "__main__":
    main()
