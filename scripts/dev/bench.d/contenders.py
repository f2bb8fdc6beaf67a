"""Contenders that are measured: each is a command line for a number of copies of a program."""

import dataclasses
import os
import shutil
import subprocess


@dataclasses.dataclass(frozen=True)
class Contender:
    """`arguments` stand before the program, with {n} for the number of copies."""

    name: str
    arguments: tuple
    is_loop: bool = False  # starts the copies itself, being the ruler
    is_slow: bool = False  # takes seconds: a few rounds tell enough
    is_muster: bool = False
    most: int = 1000  # copies that it is asked for at most

    def command(self, copies, *program):
        return [argument.format(n=copies) for argument in self.arguments] + list(program)


def all_of(options):
    """The contenders that are here, the bare loop first: the others are compared with it."""
    found = [
        Contender("bare posix_spawn loop", (str(options.spawn_loop), "{n}"), is_loop=True),
        *musters(options),
    ]
    mpirun = shutil.which("mpirun")
    if mpirun:
        found.append(
            Contender("mpirun", (mpirun, "--oversubscribe", "--allow-run-as-root", "-n", "{n}"))
        )
    if options.torchrun:
        torchrun = (str(options.torchrun), "--no-python", "--nproc-per-node", "{n}")
        found.append(Contender("torchrun", torchrun, is_slow=True))
    return found


def musters(options):
    """The program, and perhaps other builds of it."""
    builds = {"muster": options.muster}
    for program in options.beside:
        builds[f"muster of {'/'.join(program.parts[-3:-1])}"] = program
    return [
        Contender(name, (str(program), "--nproc-per-node", "{n}", "--"), is_muster=True)
        for name, program in builds.items()
    ]


def environment():
    """This environment without what would configure a contender."""
    foreign = ("MUSTER_", "OMPI_", "TORCHELASTIC_", "PET_")
    clean = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    return {**clean, "OMP_NUM_THREADS": "1", "MUSTER_CONSOLE_TIME": "off"}


def compile_spawn_loop(root, folder):
    program = folder / "spawn_loop"
    source = root / "scripts" / "dev" / "bench.d" / "spawn_loop.c"
    subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
    return program
