"""A separate disk that can hang: a file system in a file, frozen as a snapshot freezes one. Needs root.

Who writes to it while it is frozen waits in state D, where nothing ends a process: as with a file server
that is gone. Reading what is in memory, and opening a file that is there to read it, still work.
"""

import contextlib
import ctypes
import os
import subprocess
import tempfile

from .deadlines import HANG

_SIZE = 16 << 20
# From linux/fanotify.h and linux/fcntl.h.
_FAN_CLASS_CONTENT, _FAN_MARK_ADD, _AT_FDCWD = 4, 1, -100
_FAN_OPEN_PERM, _FAN_EVENT_ON_CHILD = 0x10000, 0x8000000


class Disk:
    """Mounted at `folder`, which it makes. Use it with `with`: afterwards it answers again, and is gone.

    It lies in memory: the machine's own disk, which builds and other tests write to, may stand still for a second.
    """

    def __init__(self, folder):
        self.folder = folder
        self.is_frozen = False

    def __enter__(self):
        self.folder.mkdir()
        # The loop device keeps the file when its name is gone.
        with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="muster-test-disk-") as image:
            image.truncate(_SIZE)
            _run("mkfs.ext4", "-q", "-m", "0", image.name)
            _run("mount", "-o", "loop", image.name, self.folder)
        return self

    def __exit__(self, *_):
        self.thaw()
        _run(
            "umount", "--lazy", self.folder
        )  # also where a test left somebody who holds a file open

    def freeze(self):
        _run("fsfreeze", "--freeze", self.folder)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            _run("fsfreeze", "--unfreeze", self.folder)
            self.is_frozen = False

    def fill(self):
        """No byte more goes on it, and no new file that has any."""
        with open(self.folder / "filling", "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 10, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def empty(self):
        """Takes away what `fill` has written."""
        (self.folder / "filling").unlink(missing_ok=True)


@contextlib.contextmanager
def unanswered(path):
    """A process that opens the file, or one in the folder, waits until the end or until it is killed, since no server answers."""
    libc = ctypes.CDLL(None, use_errno=True)
    listener = libc.fanotify_init(_FAN_CLASS_CONTENT, os.O_RDONLY)
    assert listener >= 0, os.strerror(ctypes.get_errno())
    with os.fdopen(listener):
        events = ctypes.c_uint64(_FAN_OPEN_PERM | _FAN_EVENT_ON_CHILD)
        marked = libc.fanotify_mark(listener, _FAN_MARK_ADD, events, _AT_FDCWD, os.fsencode(path))
        assert marked == 0, os.strerror(ctypes.get_errno())
        yield


def _run(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"


@contextlib.contextmanager
def unserved(folder, kind):
    """A network file system of this kind at the folder, as the kernel's list of mounts has it, whose server never answers."""
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    mounted = libc.mount(b"server:/", os.fsencode(folder), f"fuse.{kind}".encode(), 0, options)
    assert mounted == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        os.close(device)
        _run("umount", "--lazy", folder)
