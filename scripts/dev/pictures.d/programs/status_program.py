import itertools
import os
import time

import muster

for step in itertools.count(84_925):
    muster.progress(step, loss=1 / step)
    if os.environ["RANK"] == "0":
        print(f"step {step}, loss {1 / step:.6f}", flush=True)
    if os.path.exists("taken"):
        break
    time.sleep(0.25)
