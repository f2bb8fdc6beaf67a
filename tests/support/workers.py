"""Compiles the small programs of tests/workers, each when it is first used."""

import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "workers"
_FLAGS = ["-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-static"]


class Workers:
    def __init__(self, folder, compiler="cc"):
        self._folder = folder
        self._compiler = compiler

    def __call__(self, name):
        """The path of the program, which does what its name says."""
        program = self._folder / name
        if not program.exists():
            source = SOURCES / f"{name}.c"
            command = [self._compiler, *_FLAGS, "-o", str(program), str(source)]
            subprocess.run(command, check=True)
        return program
