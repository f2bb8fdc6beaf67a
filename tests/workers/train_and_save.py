"""A training loop that knows muster: it resumes from its checkpoint, saves at a notice, and reports that.

train_and_save.py CHECKPOINT STEPS [PAUSE]: at step PAUSE it waits for a notice, and obeys none before. What it has learned after STEPS steps depends on every
one of them.
"""

import json
import os
import sys
import time

import muster

checkpoint, steps = sys.argv[1], int(sys.argv[2])
pause = int(sys.argv[3]) if len(sys.argv) > 3 else None
is_first = os.environ["RANK"] == "0"

state = {"step": 0, "weight": 0.5}
if os.path.exists(checkpoint):
    with open(checkpoint) as file:
        state = json.load(file)
print("going on from step", state["step"], flush=True)

while state["step"] < steps:
    state["weight"] = state["weight"] * 1.0000001 + 1.0 / (state["step"] + 3)
    state["step"] += 1
    muster.progress(state["step"], weight=state["weight"])
    while state["step"] == pause and not muster.receive_suspend_command():
        time.sleep(0.01)
    if state["step"] >= (pause or 0) and muster.receive_suspend_command():
        if is_first:
            with open(checkpoint + ".new", "w") as file:
                json.dump(state, file)
            os.rename(checkpoint + ".new", checkpoint)
            print("saved step", state["step"], flush=True)
            muster.go_suspend()
        time.sleep(600)
print("learned", state["weight"].hex(), flush=True)
