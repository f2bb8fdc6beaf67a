"""A rank that needs longer to end than mpirun gives it. It says that it is there by a file in the folder FOLDER."""

import os
import signal
import sys
import time
from pathlib import Path

rank = os.environ["OMPI_COMM_WORLD_RANK"]


def save(*_):
    time.sleep(4)
    print(f"rank {rank} has saved", flush=True)
    sys.exit(143)


signal.signal(signal.SIGTERM, save)
(Path(sys.argv[1]) / f"rank-{rank}").touch()
while True:
    signal.pause()
