"""Each rank draws a bar, and rank 0 says something above it."""

import time

from moment import RANK, wait_until_taken
from tqdm import tqdm

FORM = "{l_bar}{bar}| {n_fmt}/{total_fmt}"
steps = tqdm(range(100), desc="training", bar_format=FORM, mininterval=0)
for step in steps:
    time.sleep(0.005)
    if RANK == 0 and step in (10, 30):
        steps.write(f"step {step}: loss {4 / step:.2f}")
    if step == 50:
        wait_until_taken()
