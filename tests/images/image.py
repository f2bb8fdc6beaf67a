"""Root folders as images have them, for jobs that are started in them.

Each agent has an image of its own: an overlay over a root that scripts/dev/root made, mounted in a mount namespace
of its own, so nothing is left of it when its last process ends. What a test writes into it beforehand, and what
the job writes, is in the folder `changes`.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

from support.muster import ROOT, binary

# The program's path outside is what Muster.start puts behind this; inside it is /muster.
_ENTER = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/changes,workdir=$2/work" "$2/root"
[ ! -d "$2/root/proc" ] || mount -t proc proc "$2/root/proc"
[ ! -d "$2/run" ] || mount --bind "$2/run" "$2/root/run"
root=$2/root
shift 3
exec chroot "$root" /muster "$@"
"""


@functools.cache
def path_of_root(name):
    """The folder of scripts/dev/root, which is never written to."""
    script = ROOT / "scripts" / "dev" / "root"
    made = subprocess.run([script, name], stdout=subprocess.PIPE, text=True, timeout=600, check=True)
    return made.stdout.strip()


class Programs:
    """The folder with muster and the workers, a layer of every image."""

    def __init__(self, folder, worker):
        self.folder = folder
        self._worker = worker
        self._copy(binary(), "muster")

    def worker(self, name):
        """The path of a program of tests/workers inside an image."""
        self._copy(self._worker(name), name)
        return f"/{name}"

    def _copy(self, source, name):
        if not (self.folder / name).exists():
            shutil.copy(source, self.folder / name)


class Image:
    def __init__(self, folder, name, layers):
        self.name = name
        self._folder = folder
        self._layers = layers
        self.changes = folder / "changes"
        for part in ("changes", "work", "root"):
            (folder / part).mkdir(parents=True)

    def write(self, path, text):
        file = self.changes / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def remove(self, path):
        """The path is no longer there: overlays show a device 0/0 as nothing."""
        file = self.changes / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(file, 0o600 | 0o020000, 0)

    def read(self, path):
        return (self.changes / path.lstrip("/")).read_text()

    def run_folder(self):
        """The folder mounted as /run: sockets of processes outside, which an overlay would not pass on."""
        folder = self._folder / "run"
        folder.mkdir()
        return folder

    def through(self, *around):
        """The command that runs muster in this image; `around` is what runs that command."""
        layers = ":".join(map(str, self._layers))
        return [*around, "unshare", "--mount", "sh", "-euc", _ENTER, "sh", layers, self._folder]


class InImages:
    """Starts muster in images, with what images have in common left as they have it."""

    def __init__(self, muster):
        self._muster = muster

    def start(self, image, *arguments, env=None, around=(), **options):
        env = {"TMPDIR": "", **(env or {})}
        return self._muster.start(*arguments, env=env, through=image.through(*around), **options)

    def run(self, *arguments, **options):
        job = self.start(*arguments, **options)
        job.end()
        return job

    def start_gang(self, images, master, port, *command, arounds=((), ()), env=None):
        """An agent in each image; returns the jobs, the leader first."""
        return [
            self.start(
                image,
                f"--nnodes={len(images)}",
                f"--node-rank={node}",
                f"--master-addr={master}",
                f"--master-port={port}",
                "--gang-timeout=30",
                "--nproc-per-node=1",
                "--",
                *command,
                env={"MUSTER_TOKEN": "0123456789abcdef" * 4, **(env or {})},
                around=arounds[node],
            )
            for node, image in enumerate(images)
        ]
