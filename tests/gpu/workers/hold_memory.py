"""Holds a gibibyte of its GPU until a signal ends it.

usage: hold_memory.py [ignore]   ignore: TERM does nothing
       hold_memory.py fail FILE  rank 0 writes beyond its memory as soon as FILE is there
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch

how = sys.argv[1] if len(sys.argv) > 1 else ""
if how == "ignore":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = torch.ones(1 << 30, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("holding", os.getpid(), flush=True)
while how != "fail" or os.environ["RANK"] != "0" or not Path(sys.argv[2]).exists():
    time.sleep(0.02)
held[torch.tensor([1 << 40], device="cuda")] = 0
torch.cuda.synchronize()
