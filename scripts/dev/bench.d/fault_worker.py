"""A worker that says when it starts, waits, and ends as soon as it is asked to.

usage: fault_worker.py FILE

It imports nothing but what Python has loaded anyway: its own start and end must cost nothing.
"""

import os
import signal
import sys
import time


def end(_number, _frame):
    os._exit(0)


for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, end)
words = (f"{time.monotonic():.6f}", os.uname().nodename, os.environ["RANK"], str(os.getpid()))
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
os.write(file, (" ".join(words) + "\n").encode())
while True:
    signal.pause()
