"""Training that says nothing."""

import asyncio
import importlib.util
import threading
import time

from job import compute


def _model():
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64))


def _step(model, pause=1):
    import torch

    model(torch.randn(8, 64)).sum().backward()
    model.zero_grad()
    time.sleep(pause)


def _train(job, after_step=lambda: None):
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(_model())
    while job.all_go_on():
        _step(model)
        after_step()


def step_a_second(job):
    job.meet()
    _train(job)


def prints_on_the_last_rank(job):
    """The test starts two nodes, and the last rank is not on the first."""
    job.meet()
    _train(job, lambda: print("a step", flush=True) if job.rank == job.world - 1 else None)


def prints_on_the_first_rank(job):
    """The others wait for rank 0 until it has evaluated."""
    job.meet()
    if job.rank == 0:
        while job.goes_on():
            compute(2)
            print("evaluates", flush=True)
    job.distributed.barrier()


def train_in_a_thread(job):
    job.meet()
    thread = threading.Thread(target=_train, args=[job])
    thread.start()
    thread.join()


def train_below_asyncio(job):
    async def run():
        await asyncio.get_running_loop().run_in_executor(None, _train, job)

    job.meet()
    asyncio.run(run())


def train_in_a_coroutine(job):
    async def run():
        _train(job)

    job.meet()
    asyncio.run(run())


def accumulate_gradients(job):
    """Each rank computes for longer than the limit before the next collective."""
    import torch

    job.meet()
    model = _model()
    while job.all_go_on():
        end = time.monotonic() + job.long
        while time.monotonic() < end:
            _step(model, pause=0)
        job.distributed.all_reduce(torch.ones(8))


def long_backward(job):
    """All ranks compute one backward pass for longer than the limit."""
    import torch

    job.meet()
    weight = torch.ones(256, 256, requires_grad=True)
    (weight @ weight).sum().backward()
    began = time.monotonic()
    (weight @ weight).sum().backward()
    once = time.monotonic() - began
    value = weight
    for _ in range(min(20_000, int(job.left() / once))):
        value = (value @ weight) / 256
    value.sum().backward()


def own_backward(job):
    """The backward pass calls a function of the program, which computes."""
    import torch

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_context, value):
            return value

        @staticmethod
        def backward(_context, gradient):
            compute(job.left())
            return gradient

    job.meet()
    Slow.apply(torch.ones(3, requires_grad=True)).sum().backward()


def _train_on_batches(job, load, **options):
    """A loader calls `load()` for each of its samples."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Slow(Dataset):
        def __len__(self):
            return 1000

        def __getitem__(self, index):
            load()
            return torch.ones(8)

    job.meet()
    batches = iter(DataLoader(Slow(), num_workers=1, **options))
    while job.all_go_on():
        job.distributed.all_reduce(next(batches))
    batches._shutdown_workers()


def slow_loaders(job):
    """Each batch takes a loader of rank 0 longer than the limit."""
    _train_on_batches(job, lambda: compute(job.long if job.rank == 0 else 0), prefetch_factor=1)


def loaders_that_wait(job):
    """The loaders wait for a server that answers each two seconds."""
    _train_on_batches(job, lambda: time.sleep(2), batch_size=4)


def reinforcement_learning(job):
    """The actors generate for longer than the limit, and the learner waits for them, and the other way round."""
    import torch

    job.meet()
    seconds = [job.long * (1 + rank / job.world) for rank in range(job.world)]
    while job.all_go_on():
        if job.rank > 0:
            compute(seconds[job.rank])
        job.distributed.all_reduce(torch.ones(8))
        if job.rank == 0:
            compute(job.long)
        job.distributed.barrier()


def pipeline_by_send(job):
    """The first stage computes for longer than the limit."""
    import torch

    job.meet()
    batch = torch.ones(8)
    while job.all_go_on():
        if job.rank > 0:
            job.distributed.recv(batch, job.rank - 1)
        compute(job.long if job.rank == 0 else 0.1)
        if job.rank + 1 < job.world:
            job.distributed.send(batch, job.rank + 1)


def wait_at_the_store(job):
    """Rank 0 works, and the others wait for its key."""
    job.meet()
    store = job.distributed.distributed_c10d._get_default_store()
    if job.rank == 0:
        compute(job.left())
        store.set("done", "1")
    store.wait(["done"])


def late_first_rank(job):
    """Rank 0 reads its data before it comes to init_process_group."""
    job.begin()
    importlib.util.find_spec("torch")
    if job.rank == 0:
        compute(job.left())
    job.join()
    job.distributed.barrier()
