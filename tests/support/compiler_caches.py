"""Jobs with caches of compilers (--compile-cache): nodes with a disk each, a program that compiles, and packs as anybody could write them."""

import hashlib
import os
import signal

from .deadlines import HANG, wait_until

PYTHON = "/usr/bin/python3"
MARK = b"muster pack 1\n"

# Compiles: an entry that is there is used, else it is made, with the time of a minute ago.
COMPILES = """
import os, pathlib, sys, time
folder = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
for name in sys.argv[1:] or ["ab/cab.py"]:
    entry = folder / name
    print("found" if entry.exists() else "made", name, entry.read_text() if entry.exists() else "", flush=True)
    if not entry.exists():
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text("compiled " + name)
        minute_ago = time.time() - 60
        os.utime(entry, (minute_ago, minute_ago))
"""


class Nodes:
    """Jobs of one program, each on a node with a disk of its own for temporary files."""

    def __init__(self, muster, folder):
        self.muster = muster
        self.folder = folder
        self.store = folder / "store"
        self.program = folder / "compiles.py"
        self.program.write_text(COMPILES)

    def start(self, node, *names, options=(), env=None, **more):
        disk = self.folder / f"node-{node}"
        disk.mkdir(exist_ok=True)
        return self.muster.start(
            *options, "--compile-cache", self.store, PYTHON, self.program, *names, env={"TMPDIR": disk, **(env or {})}, **more
        )

    def run(self, node, *names, seconds=HANG, **more):
        """What the program found, and what muster said."""
        job = self.start(node, *names, **more)
        assert job.end(seconds) == 0, job.words()
        return job.out.text, job.err.text

    def local(self, node):
        return self.folder / f"node-{node}" / f"muster-cache-{os.geteuid()}"

    def packs(self):
        return sorted(self.store.glob("*.pack"))


def make_pack(path, entries, machine, user=None):
    """Writes a pack of (path, content, mode), as anybody could."""
    lines = [f"machine {machine}", f"user {os.geteuid() if user is None else user}", f"entries {len(entries)}"]
    for name, content, mode in entries:
        lines.append(f"{len(content)} {mode:03o} 1700000000000000000 {hashlib.sha256(content).hexdigest()} {name}")
    text = ("\n".join(lines) + "\n").encode()
    data = b"".join(content for _, content, _ in entries)
    trailer = f"index {len(text):016x} {hashlib.sha256(text).hexdigest()}\n".encode()
    path.write_bytes(MARK + data + text + trailer)
    path.chmod(0o600)


def unfinished_pack(nodes, job):
    """The pack that the job is writing; empty: the job ended before anybody saw one."""
    found = wait_until(lambda: list(nodes.store.glob(".muster-*.pack.part")) or job.process.poll() is not None, "a pack that is written, or the end")
    return found[0] if isinstance(found, list) else None


def kill_writer(pack):
    """Kills whoever has the file open."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            links = [os.readlink(f"/proc/{process}/fd/{fd}") for fd in os.listdir(f"/proc/{process}/fd")]
            if str(pack) in links:
                os.kill(int(process), signal.SIGKILL)
        except OSError:
            continue  # it has ended
