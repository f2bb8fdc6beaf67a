"""Sets timers with torch's own client: one in time, and one that ends while it hangs."""

import os
import time

import torch.distributed.elastic.timer as timer

timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
with timer.expires(after=60, scope="in time"):
    print("well", flush=True)
with timer.expires(after=0.5, scope="a step"):
    time.sleep(60)
print("alive", flush=True)
