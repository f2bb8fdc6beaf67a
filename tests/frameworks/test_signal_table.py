"""Rows of the table in docs/processes.md: runners from PyPI, and programs with the helpers of PyTorch."""

import jobs
import pytest

from support.signal_table import Table


@pytest.mark.framework
def test_the_page_says_whom_uv_passes_which_signal(launcher, uv_venv, tmp_path):
    table = Table(launcher, tmp_path, {"`uv run train`": f"{uv_venv}/uv run --no-project train"})
    table.look_at_all(table.kinds, [])
    table.compare()


@pytest.mark.framework
def test_the_page_says_who_of_pytorchs_processes_gets_which_signal(launcher, torch_venv, tmp_path):
    program = f"{torch_venv}/python3 {jobs.script('note_signals.py')} FOLDER"
    kinds = {"a program with a `DataLoader` of PyTorch": f"{program} loader", "a program with `mp.spawn`": f"{program} spawn"}
    table = Table(launcher, tmp_path, kinds, noting=2)
    table.look_at_all(kinds, [])
    table.compare()
