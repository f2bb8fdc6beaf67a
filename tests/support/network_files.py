#!/usr/bin/python3
"""Runs a command that sees a folder by way of a network file system, whose server answers each request late.

usage: network_files.py SOURCE MOUNT MILLISECONDS LOG COMMAND...

The mount is FUSE of a kind that only reads; it is in a mount namespace of its own, and goes with the command. LOG gets a line for each
read: the name of the process, and the path. The kernel keeps names, attributes and folders for a minute, as NFS clients do, and pages for good.
"""

import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import threading
import time

LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 5, 14, 15, 17, 18
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, IOCTL, BATCH_FORGET = 26, 27, 28, 29, 36, 39, 42
AT_ONCE = (RELEASE, RELEASEDIR, OPENDIR, IOCTL)  # an NFS client does these without its server
IN_HEADER, OUT_HEADER = struct.Struct("<IIQQIIIi"), struct.Struct("<IiQ")
ATTRIBUTES, READ_IN = struct.Struct("<6Q10I"), struct.Struct("<QQI")
ASYNC_READ, PARALLEL_DIROPS, MAX_PAGES = 1 << 0, 1 << 18, 1 << 22
KEEP_CACHE, CACHE_FOLDER = 2, 8
VALID_SECONDS = 60
THREADS = 48
CLONE_NEWNS, MS_RDONLY, MS_REC, MS_PRIVATE = 0x20000, 1, 0x4000, 1 << 18

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Server:
    def __init__(self, source, seconds, log):
        self.seconds = seconds
        self.log = open(log, "a", buffering=1)
        self.paths = {1: os.path.realpath(source)}
        self.nodes = {self.paths[1]: 1}
        self.turn = threading.Lock()
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)

    def mount(self, place):
        checked(libc.unshare(CLONE_NEWNS))
        checked(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        checked(libc.mount(b"server:/", os.fsencode(place), b"fuse.sshfs", MS_RDONLY, options.encode()))
        for _ in range(THREADS):
            threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, code, unique, node, _, _, pid, _ = IN_HEADER.unpack_from(request)
            if code in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            try:
                error, answer = 0, self.answer(code, node, pid, request[IN_HEADER.size :])
            except OSError as failed:
                error, answer = -failed.errno, b""
            try:
                os.write(self.device, OUT_HEADER.pack(OUT_HEADER.size + len(answer), error, unique) + answer)
            except OSError:
                pass  # whoever has asked was killed

    def answer(self, code, node, pid, body):
        if code == INIT:
            flags = ASYNC_READ | PARALLEL_DIROPS | MAX_PAGES
            return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 20, flags, 64, 48, 1 << 17, 1, 256, 0, *[0] * 8)
        if code not in AT_ONCE:
            time.sleep(self.seconds)
        path = self.paths[node]
        if code == LOOKUP:
            return self.entry(path + "/" + os.fsdecode(body.rstrip(b"\0")))
        if code == GETATTR:
            return struct.pack("<QII", VALID_SECONDS, 0, 0) + attributes(path)
        if code == READLINK:
            return os.fsencode(os.readlink(path))
        if code == OPEN:
            return struct.pack("<QII", os.open(path, os.O_RDONLY), KEEP_CACHE, 0)
        if code == READ:
            handle, offset, size = READ_IN.unpack_from(body)
            self.log.write(f"{name_of(pid)} {path}\n")
            return os.pread(handle, size, offset)
        if code == RELEASE:
            os.close(struct.unpack_from("<Q", body)[0])
            return b""
        if code in (OPENDIR, RELEASEDIR):
            return struct.pack("<QII", 0, KEEP_CACHE | CACHE_FOLDER, 0) if code == OPENDIR else b""
        if code == READDIR:
            return entries(path, *READ_IN.unpack_from(body)[1:])
        raise OSError(errno.ENOTTY if code == IOCTL else errno.ENOSYS, "not served")

    def entry(self, path):
        try:
            shown = attributes(path)
        except FileNotFoundError:
            return struct.pack("<4QII", 0, 0, VALID_SECONDS, 0, 0, 0) + bytes(ATTRIBUTES.size)
        with self.turn:
            node = self.nodes.setdefault(path, len(self.nodes) + 1)
            self.paths[node] = path
        return struct.pack("<4QII", node, 0, VALID_SECONDS, VALID_SECONDS, 0, 0) + shown


def attributes(path):
    found = os.lstat(path)
    times = [found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns]
    seconds, rest = [one // 10**9 for one in times], [one % 10**9 for one in times]
    return ATTRIBUTES.pack(
        found.st_ino, found.st_size, found.st_blocks, *seconds, *rest, found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4096, 0
    )


def entries(path, offset, size):
    answer = b""
    for number, entry in enumerate(sorted(os.scandir(path), key=lambda one: one.name)):
        name = os.fsencode(entry.name)
        kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode) >> 12
        packed = struct.pack("<QQII", entry.inode(), number + 1, len(name), kind) + name
        packed += bytes(-len(packed) % 8)
        if number >= offset:
            if len(answer) + len(packed) > size:
                break
            answer += packed
    return answer


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return "kernel"  # which reads ahead


if __name__ == "__main__":
    source, place, milliseconds, log, *command = sys.argv[1:]
    Server(source, float(milliseconds) / 1000, log).mount(place)
    sys.exit(subprocess.call(command))
