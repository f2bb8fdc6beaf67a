# SPDX-License-Identifier: Apache-2.0
"""hfai.distributed, in HAI's units: ranks and the world's size count nodes.

RANK and WORLD_SIZE are what muster gives a program that it starts once for each node. get_rank() and get_world_size()
stay the node's after init_process_group(), too: scripts ask `get_rank() == 0 and gpu_id == 0` in processes that have called
it with node rank * GPUs + GPU. A process's own rank is torch.distributed.get_rank(), or get_rank(group) here.

Everything else is PyTorch's, which is imported when it is asked for.
"""

import os


def get_rank(group=None):
    """The rank of this node, or of this process in a group of PyTorch."""
    return int(os.environ.get("RANK", "0")) if group is None else _torch().get_rank(group)


def get_world_size(group=None):
    """The number of nodes, or of processes in a group of PyTorch."""
    return int(os.environ.get("WORLD_SIZE", "1")) if group is None else _torch().get_world_size(group)


def _torch():
    import torch.distributed

    return torch.distributed


def __getattr__(name):
    if name.startswith("__"):  # what the import system and inspect try out
        raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name))
    return getattr(_torch(), name)
