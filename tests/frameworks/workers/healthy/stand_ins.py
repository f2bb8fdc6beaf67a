"""Stand-ins for the pipe of PyTorch's flight recorder and for NCCL's RAS threads, which note each question in a file of FOLDER."""

import mmap
import os
import socket
import threading
import time

mapped = []


def start(folder):
    """Before PyTorch is imported; the rank goes on meanwhile."""
    questions = folder / "questions"
    rank = os.environ["RANK"]
    name = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + f"{rank}.pipe"
    os.mkfifo(name)
    pipe = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    threading.Thread(target=_watch_pipe, args=[pipe, questions / f"recorder-{rank}"], daemon=True).start()
    if os.environ["LOCAL_RANK"] == "0":
        host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind((host, int(port)))
        server.listen()
        library = folder / f"nccl-{rank}" / "libnccl.so.2.29.3"  # only who has mapped it is asked
        library.parent.mkdir()
        library.write_bytes(bytes(4096))
        with open(library, "rb") as file:
            mapped.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        threading.Thread(target=_serve_ras, args=[server, questions / f"ras-{rank}"], daemon=True).start()


def _watch_pipe(pipe, note):
    while True:
        if os.read(pipe, 128):
            note.touch()
        time.sleep(0.1)


def _serve_ras(server, note):
    while True:
        client, _ = server.accept()
        note.touch()
        client.close()
