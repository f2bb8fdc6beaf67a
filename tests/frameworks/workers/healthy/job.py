"""A healthy job of the kind that its arguments name, which ends by itself: KIND SECONDS LIMIT FOLDER.

A kind is a function of one of these files that takes a Job. The ranks say "ready", each once, and nothing more for SECONDS.
"""

import os
import pathlib
import sys
import time


class Job:
    """What a rank knows of its job."""

    def __init__(self, seconds, limit, folder):
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.seconds = seconds
        self.limit = limit  # of silence, in seconds
        self.long = 1.5 * limit  # of a phase in which a rank is alone
        self.folder = folder
        self.end = None
        self.distributed = None

    def begin(self):
        """From now on the rank says nothing."""
        print("ready", flush=True)
        self.end = time.monotonic() + self.seconds

    def meet(self):
        """All ranks meet, and begin."""
        self.join()
        self.distributed.barrier()
        self.begin()

    def join(self):
        import torch
        import torch.distributed

        torch.set_num_threads(1)
        self.distributed = torch.distributed
        self.distributed.init_process_group("gloo")

    def goes_on(self):
        return time.monotonic() < self.end

    def left(self):
        return max(0, self.end - time.monotonic())

    def all_go_on(self):
        """A collective: what rank 0 says."""
        import torch

        flag = torch.tensor([self.goes_on()], dtype=torch.int32)
        self.distributed.broadcast(flag, 0)
        return bool(flag.item())


def while_others_wait(work):
    """Rank 0 does this while the others are in a barrier."""

    def kind(job):
        job.meet()
        if job.rank == 0:
            work(job)
        job.distributed.barrier()

    return kind


def while_others_receive(serve):
    """Rank 0 is a server, and the others wait for what it would give them to do."""

    def kind(job):
        job.meet()
        if job.rank == 0:
            serve(job)
        job.all_go_on()

    return kind


def compute(seconds):
    """Keeps a CPU busy by functions of Python."""
    end = time.monotonic() + seconds
    words = {}
    while time.monotonic() < end:
        for number in range(1000):
            count(words, str(number % 97))


def count(words, word):
    words[word] = words.get(word, 0) + 1


def main():
    import calls
    import roles
    import servers
    import stand_ins
    import training

    name, seconds, limit, folder = sys.argv[1:]
    job = Job(float(seconds), float(limit), pathlib.Path(folder))
    if (job.folder / "questions").is_dir():
        stand_ins.start(job.folder)
    next(vars(file)[name] for file in (calls, roles, servers, training) if name in vars(file))(job)
    if job.distributed is not None:
        job.distributed.barrier()  # whoever is in the last collective loses no peer
        job.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.modules["job"] = sys.modules["__main__"]
    main()
