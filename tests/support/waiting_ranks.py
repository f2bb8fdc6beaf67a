"""Programs whose ranks wait in a collective, as muster sees it, for any Python and without PyTorch."""

import sys

COLLECTIVE = """import signal

def all_reduce():
    signal.pause()
"""

# Prints the answer of the real one about such a rank; muster itself reads a Python from 3.13 on.
PY_SPY = """#!/bin/sh
cat <<END
[{{"os_thread_id": $5, "thread_name": "MainThread", "frames": [
    {{"name": "all_reduce", "filename": "{folder}/torch/distributed/distributed_c10d.py", "line": 4}},
    {{"name": "<module>", "filename": "{folder}/train.py", "line": {line}}}]}}]
END
"""


def program(folder, code):
    """The command of a program with this code, in which `all_reduce()` waits for ever."""
    module = folder / "torch" / "distributed" / "distributed_c10d.py"
    module.parent.mkdir(parents=True, exist_ok=True)
    for package in (folder / "torch", module.parent):
        (package / "__init__.py").touch()  # else a torch that is installed is found before it
    module.write_text(COLLECTIVE)
    lines = ["from torch.distributed.distributed_c10d import all_reduce", *code.strip().splitlines()]
    (folder / "train.py").write_text("\n".join(lines) + "\n")
    (folder / "python3").symlink_to(sys.executable)
    (folder / "py-spy").write_text(PY_SPY.format(folder=folder, line=len(lines)))
    (folder / "py-spy").chmod(0o755)
    return [folder / "python3", folder / "train.py"]
