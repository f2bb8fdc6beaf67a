"""Fixtures of the tests with a real NVIDIA GPU: the driver's description of it, and programs that use it."""

import subprocess
import sys
from pathlib import Path

import pytest

_WORKERS = Path(__file__).parent / "workers"


class Gpus:
    """The GPUs of this machine as nvidia-smi shows them."""

    def uuids(self):
        return self._ask("uuid")

    def used(self):
        """Memory in use, MiB, of each."""
        return [int(text) for text in self._ask("memory.used")]

    def _ask(self, field):
        command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return answer.stdout.split()


@pytest.fixture(scope="session")
def gpus():
    return Gpus()


@pytest.fixture
def script():
    """The command line of a program of tests/gpu/workers, in the Python that runs the tests."""
    return lambda name, *arguments: [sys.executable, _WORKERS / f"{name}.py", *arguments]
