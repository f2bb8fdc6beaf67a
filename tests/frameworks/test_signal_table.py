"""Rows of the table in docs/processes.md: runners from PyPI."""

import pytest

from support.signal_table import Table


@pytest.mark.framework
def test_the_page_says_whom_uv_passes_which_signal(launcher, uv_venv, tmp_path):
    table = Table(launcher, tmp_path, {"`uv run train`": f"{uv_venv}/uv run --no-project train"})
    table.look_at_all(table.kinds, [])
    table.compare()
