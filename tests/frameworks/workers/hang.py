"""Trains with gloo until one rank hangs in the way that its arguments say: KIND RANK FOLDER."""

import asyncio
import atexit
import ctypes
import importlib
import os
import signal
import sys
import threading
import time

KIND, RANK, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
FOREVER = 100_000


def load_shard():
    time.sleep(FOREVER)


def spin():
    while True:
        pass


def save():
    """Saves until the disk is frozen."""
    while True:
        with open(os.path.join(FOLDER, "checkpoint"), "wb", buffering=0) as file:
            file.write(bytes(1 << 20))


def read_batches():
    from torch.utils.data import DataLoader, Dataset

    class Stuck(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            time.sleep(FOREVER)

    return list(DataLoader(Stuck(), num_workers=1))


def load_extension():
    """Waits for a lock that another process has left behind."""
    import torch.utils.cpp_extension

    with open(os.path.join(FOLDER, "lock"), "wb"):
        pass
    torch.utils.cpp_extension.load("extension", [__file__], build_directory=FOLDER)


def stand_still():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def import_module():
    with open(os.path.join(FOLDER, "stuck.py"), "w") as file:
        file.write("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n")
    sys.path.insert(0, FOLDER)
    importlib.import_module("stuck")


def run_compiled():
    import torch

    @torch.compile(backend="eager")
    def step(value):
        value = value + 1
        torch._dynamo.graph_break()
        stand_still()
        return value

    step(torch.ones(3))


def print_on():
    while True:
        time.sleep(3)
        print("heartbeat", flush=True)


def hang(distributed, tensor):
    print("hangs now", flush=True)
    if KIND == "prints":
        threading.Thread(target=print_on, daemon=True).start()
    if KIND in ("asleep", "prints", "thread", "coroutine", "executor"):
        load_shard()
    elif KIND == "stale lock":
        load_extension()
    elif KIND == "loop":
        spin()
    elif KIND == "interpreter lock":
        ctypes.PyDLL(None).sleep(FOREVER)
    elif KIND == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif KIND == "frozen disk":
        save()
    elif KIND == "mismatch":
        distributed.broadcast(tensor, 0)
    elif KIND == "loader":
        read_batches()
    elif KIND == "module":
        import_module()
    elif KIND == "compiled":
        run_compiled()
    elif KIND in OPERATIONS:
        stand_still()


def all_reduce(tensor):
    import torch

    torch.distributed.all_reduce(tensor)


def reduce_async(tensor):
    import torch

    work = torch.distributed.all_reduce(tensor, async_op=True)
    work.wait()


def set_up_ddp(_tensor):
    import torch

    torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 3))


def broadcast_buffers(_tensor):
    import torch

    MODELS[0](torch.ones(4, 3))


def wait_at_store(_tensor):
    """Each rank waits until all have come."""
    import torch

    store = torch.distributed.distributed_c10d._get_default_store()
    VISITS.append(store.add(f"visits {len(VISITS)}", 1))
    if VISITS[-1] == torch.distributed.get_world_size():
        store.set(f"all {len(VISITS)}", "")
    store.wait([f"all {len(VISITS)}"])


VISITS = []
MODELS = []
# In these the others wait for the rank that stands still.
OPERATIONS = {"async wait": reduce_async, "setup": set_up_ddp, "buffers": broadcast_buffers, "store": wait_at_store}


def train(is_other):
    if is_other and KIND == "never came":
        print("hangs now", flush=True)
        load_shard()
    if is_other and KIND == "ended":
        print("hangs now", flush=True)
        sys.exit(0)
    import torch
    import torch.distributed as distributed

    distributed.init_process_group("gloo")
    if KIND == "buffers":
        MODELS.append(torch.nn.parallel.DistributedDataParallel(torch.nn.BatchNorm1d(3)))
    tensor = torch.ones(8)
    for step in range(5):
        if step == 3 and is_other:
            hang(distributed, tensor)
        OPERATIONS.get(KIND, all_reduce)(tensor)
    distributed.destroy_process_group()
    print("hangs now", flush=True)
    if is_other and KIND == "teardown":
        atexit.register(load_shard)


async def train_below_asyncio(is_other):
    if KIND == "coroutine":
        train(is_other)
    else:
        await asyncio.get_running_loop().run_in_executor(None, train, is_other)


def main(is_other):
    if KIND == "thread":
        thread = threading.Thread(target=train, args=[is_other])
        thread.start()
        thread.join()
    elif KIND in ("coroutine", "executor"):
        asyncio.run(train_below_asyncio(is_other))
    else:
        train(is_other)


main(int(os.environ["RANK"]) == RANK)
