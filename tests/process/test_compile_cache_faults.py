"""Random faults of packs and of the folder that has them: no wrong entry reaches a worker, no job fails or hangs, and the folder is readable
after each.

$SEED, such as SEED=7, draws the same faults again.
"""

import contextlib
import itertools
import os
import random

import pytest
from support.compiler_caches import Nodes, kill_writer, make_pack, unfinished_pack
from support.frozen import unanswered
from support.repetitions import default_or_soak, soaking

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it mounts disks")

_GOOD = [f"{number}.py" for number in range(5)]
_BAD_PATHS = ["/tmp/muster-was-here", "../x", "inductor/../../x", "inductor/" + "n" * 4096, "inductor//x", "x" * 4096]
_SOME_USER = 12345


class Faults:
    """The faults. Each one leaves the store without what it has added, and a job has run beside it."""

    def __init__(self, nodes, disk, machine, chance):
        self.nodes, self.disk, self.machine, self.chance = nodes, disk, machine, chance
        self._names = (f"new{number}.py" for number in itertools.count())

    def job(self, **more):
        """A job on an empty node: whatever it finds is what was compiled under that name."""
        return self.judge(self.nodes.start(f"job{next(self._names)}", *_GOOD, next(self._names), **more))

    def judge(self, job):
        assert job.end() == 0, job.words()
        for line in job.out.text.splitlines():
            word, name, *content = line.split()
            assert content == (["compiled", name] if word == "found" else []), line

    @contextlib.contextmanager
    def another_pack(self, name="zzz.pack"):
        """A place for a pack that is read first."""
        path = self.nodes.store / name
        yield path
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)

    def killed_writer(self):
        job = self.nodes.start("writer", *(next(self._names) for _ in range(200)))
        if pack := unfinished_pack(self.nodes, job):
            kill_writer(pack)
        self.judge(job)

    def full_disk(self):
        self.disk.fill()
        self.job()
        self.disk.empty()

    def read_only(self):
        store = self.nodes.store
        self.job(through=["unshare", "--mount", "sh", "-c", f'mount --bind "{store}" "{store}" && mount -o remount,ro,bind "{store}" && exec "$@"', "sh"])

    def hung(self):
        with unanswered(self.nodes.store):
            self.job()

    def two_jobs(self):
        for job in [self.nodes.start(f"twin{number}", *_GOOD, next(self._names)) for number in range(2)]:
            self.judge(job)

    def changed(self):
        """A bit is flipped, or the end or the front is gone, or there is more."""
        pack = bytearray(self.chance.choice(self.nodes.packs()).read_bytes())
        at = self.chance.randrange(len(pack))
        change = self.chance.randrange(4)
        if change == 0:
            pack[at] ^= 1 << self.chance.randrange(8)
        elif change == 1:
            del pack[at:]
        elif change == 2:
            del pack[:at + 1]
        else:
            pack[at:at] = self.chance.randbytes(self.chance.randrange(1, 100))
        with self.another_pack() as path:
            path.write_bytes(pack)
            path.chmod(0o600)
            self.job()

    def foreign(self):
        with self.another_pack() as path:
            make_pack(path, [(f"inductor/{name}", b"evil", 0o644) for name in _GOOD], self.machine, self.chance.choice([0, _SOME_USER]))
            if self.chance.randrange(2):
                os.chown(path, _SOME_USER, _SOME_USER)
            else:
                path.chmod(self.chance.choice([0o666, 0o660, 0o602]))
            self.job()

    def foreign_store(self):
        os.chown(self.nodes.store, _SOME_USER, _SOME_USER)
        self.job()
        os.chown(self.nodes.store, 0, 0)

    def link_out(self):
        outside = self.nodes.folder / "outside"
        outside.mkdir(exist_ok=True)
        name = f"linked{next(self._names)}"
        cache = self.nodes.local(name)
        cache.mkdir(parents=True, mode=0o700)
        if self.chance.randrange(2):
            (cache / "inductor").symlink_to(outside)
        else:
            (cache / "inductor").mkdir()
            (cache / "inductor" / _GOOD[0]).symlink_to("/etc/passwd")
        job = self.nodes.start(name, _GOOD[1])
        self.judge(job)
        assert all(b"root:" not in pack.read_bytes() for pack in self.nodes.packs())

    def bad_path(self):
        with self.another_pack() as path:
            entries = [(f"inductor/{_GOOD[0]}", b"evil", 0o644), (self.chance.choice(_BAD_PATHS), b"evil", 0o644)]
            self.chance.shuffle(entries)
            make_pack(path, entries, self.machine)
            self.job()
        assert not os.path.exists("/tmp/muster-was-here")

    def no_file(self):
        """A pipe, a link or a folder with the name of a pack."""
        with self.another_pack() as path:
            kind = self.chance.randrange(3)
            if kind == 0:
                os.mkfifo(path)
            elif kind == 1:
                path.symlink_to(self.nodes.packs()[0])
            else:
                path.mkdir()
            self.job()

    def no_pack(self):
        with self.another_pack() as path:
            path.write_bytes(self.chance.randbytes(self.chance.randrange(2_000)))
            self.job()


_QUICK = ["killed_writer", "full_disk", "read_only", "two_jobs", "changed", "foreign", "foreign_store", "link_out", "bad_path", "no_file", "no_pack"]


def drawn(chance):
    """Each fault once, then random ones; one in fifty is a store that hangs for half a minute."""
    count = default_or_soak(len(_QUICK), 200)
    more = [chance.choice(_QUICK) if number % 50 else "hung" for number in range(count - len(_QUICK))]
    return chance.sample(_QUICK, len(_QUICK)) + more


@pytest.mark.soak
def test_no_fault_gives_a_wrong_entry_or_holds_up_a_job(muster, tmp_path, disk):
    seed = int(os.environ.get("SEED", random.randrange(1 << 32) if soaking() else 1))
    chance = random.Random(seed)
    nodes = Nodes(muster, tmp_path)
    nodes.store = disk.folder / "store"
    nodes.run("first", *_GOOD)
    machine = nodes.packs()[0].read_bytes().split(b"machine ")[1].split(b"\n")[0].decode()
    faults = Faults(nodes, disk, machine, chance)
    for number, fault in enumerate(drawn(chance)):
        print(f"seed {seed}, fault {number}: {fault}", flush=True)
        getattr(faults, fault)()
        out, _ = nodes.run(f"after{number}", *_GOOD)
        assert out == "".join(f"found {name} compiled {name}\n" for name in _GOOD), "what was kept before is found"
