"""Rank 2 never comes to init_process_group."""

import os
import time

import torch.distributed as dist


def load_shard():
    """Stands for a file system that does not answer."""
    time.sleep(600)


if os.environ["RANK"] == "2":
    load_shard()
dist.init_process_group("gloo")
