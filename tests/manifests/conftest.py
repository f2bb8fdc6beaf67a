import os
import subprocess

import pytest
from clusters import without_advice
from support.muster import binary

_SECONDS = 60  # seconds


@pytest.fixture
def muster(tmp_path):
    """Runs the program in an empty environment; arguments may be bytes."""

    def run(*arguments, env=None, stdin=""):
        return subprocess.run(
            [binary(), *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def render(muster):
    """The output of `muster render`."""

    def run(*arguments):
        done = muster("render", *arguments)
        assert (done.returncode, without_advice(done.stderr)) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def refuse(muster):
    """The message of `muster render` when it refuses a command line."""

    def run(*arguments):
        done = muster("render", *arguments)
        assert (done.returncode, done.stdout) == (64, ""), done
        return done.stderr.removeprefix("muster: ").strip()

    return run
