"""Each rank draws two bars, and rank 0 says something above them."""

import time

from moment import RANK, wait_until_taken
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

COLUMNS = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()]
with Progress(*COLUMNS) as progress:
    epochs = progress.add_task("[red]epochs", total=4)
    steps = progress.add_task("[cyan]steps", total=100)
    progress.update(epochs, advance=1)
    for step in range(100):
        time.sleep(0.005)
        if RANK == 0 and step in (10, 30):
            progress.print(f"step {step}: loss {4 / step:.2f}")
        if step == 50:
            progress.refresh()
            wait_until_taken()
        progress.update(steps, advance=1)
