"""Every option of the real torchrun is one of `muster torchrun`."""

import re
import subprocess

import pytest

pytestmark = pytest.mark.framework

LIST_OPTIONS = """
from torch.distributed.run import get_args_parser
for action in get_args_parser()._actions:
    print(" ".join(action.option_strings))
"""

# Newer than the torch that requirements/torch.txt pins: of torch 2.15, and proposed for PyTorch (pull request 195543).
NEWER = {"--log-line-prefix-template", "--exit-barrier-timeout"}


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_no_option_of_torchrun_is_missing(muster, torch_venv):
    spelled = printed(torch_venv / "python3", "-c", LIST_OPTIONS).split()
    real = {name.replace("_", "-") for name in spelled if name.startswith("--")} - {"--help"}
    table = printed(muster, "torchrun", "--print-options")
    ours = set(re.findall(r"^\| `(?:-\w, )?(--[a-z-]+)", table, re.MULTILINE))

    assert len(real) > 20
    assert (real - ours, ours - real) == (set(), NEWER)
