"""A node that waits for others reads its program's libraries ahead from a network file system (docs/first-step.md)."""

import compileall
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from support import processes
from support.deadlines import wait_until

pytestmark = [pytest.mark.plain_build, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

PYTHON = "/usr/bin/python3"
SERVER = Path(__file__).parents[1] / "support/network_files.py"
PACED = ("chrt", "--batch", "0")  # muster does not lower the priority of these: a test must not wait until both cores are idle
MEBIBYTE = 1 << 20
# Maps a library of its package, imports a module, and ends when the file "go" is there.
PROGRAM = """
import mmap, os, sys, time
sys.path.insert(0, {packages!r})
import package.module
library = open({packages!r} + "/package/library.so", "rb")
view = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
data = open({packages!r} + "/package/data.bin", "rb")
sum(view[::4096] + data.read()[::4096])
print("first line", flush=True)
while not os.path.exists({go!r}):
    time.sleep(0.01)
"""


class Node:
    """A node that sees the folder of packages on a network file system, and a job that has kept what it uses."""

    def __init__(self, muster, gang, folder):
        self.muster = muster
        self.gang = gang
        self.folder = folder
        self.log = folder / "reads"
        self.mount = folder / "mount"
        self.mount.mkdir()
        self.environment = {"XDG_CACHE_HOME": folder / "cache"}
        self.package = folder / "disk/site-packages/package"
        self.package.mkdir(parents=True)
        for name in ("library.so", "data.bin"):
            (self.package / name).write_bytes(os.urandom(3 * MEBIBYTE))
        for name in ("module", "unused"):
            (self.package / f"{name}.py").write_text("import decimal\n")
        compileall.compile_dir(self.package, quiet=2)
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM.format(packages=str(self.mount / "site-packages"), go=str(folder / "go")))

    def through(self, milliseconds=0):
        return (sys.executable, SERVER, self.folder / "disk", self.mount, milliseconds, self.log, *PACED)

    def kept(self):
        return [one for one in (self.folder / "cache").glob("muster/files/*") if one.suffix != ".new"]

    def keep(self, through=None):
        """Runs a job that keeps its list, and returns the file."""
        (self.folder / "go").unlink(missing_ok=True)
        through = self.through() if through is None else through
        options = ("--read-ahead=auto", "--read-ahead-after=0", "--verbose")
        job = self.muster.start(*options, "--", PYTHON, self.program, env=self.environment, through=through)
        job.err.wait_for("the next start can read")
        (self.folder / "go").touch()
        assert job.end() == 0
        self.said = job.said
        self.log.write_text("")
        return next(iter(self.kept()), None)

    def wait(self, *options, milliseconds=0, through=None):
        """Starts the first of two nodes."""
        job = self.gang(2, "--read-ahead=auto", "--verbose", *options, workers=1, command=[PYTHON, self.program])
        through = self.through(milliseconds) if through is None else through
        return job, job.start(0, env=self.environment, through=through)

    def read_ahead(self):
        """The files that a process of muster has read."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return {line.rpartition("/")[2] for line in lines if line.startswith("muster-files ")}


@pytest.fixture
def node(muster, gang, tmp_path):
    return Node(muster, gang, tmp_path)


def finish(node, job):
    """The second node comes; it sees the packages on a local disk."""
    shutil.copytree(node.folder / "disk", node.mount, dirs_exist_ok=True)
    job.start(1, env=node.environment)
    assert [one.end() for one in job.jobs.values()] == [0, 0], job.words()


def test_a_list_of_what_a_program_uses_is_kept(node):
    file = node.keep()

    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o077) == (0o600, 0)
    names = [line.rpartition("/")[2] for line in file.read_bytes().decode().splitlines() if line.startswith("=")]
    assert sorted(name.partition(".cpython")[0] for name in names) == ["data.bin", "library.so", "module"]
    assert "read ahead: the next start can read 3 files ahead" in node.said


def test_a_node_that_waits_reads_what_an_earlier_job_has_used(node):
    node.keep()
    job, first = node.wait()

    first.err.wait_for("read ahead 3 files (6 MiB) in")
    first.said_about("read ahead", "while waiting")
    read = {name.partition(".cpython")[0] for name in node.read_ahead()}
    assert read == {"data.bin", "library.so", "module"}
    finish(node, job)


def test_a_job_that_does_not_wait_reads_nothing_ahead(node):
    node.keep()
    job = node.muster.run("--read-ahead=auto", "--", PYTHON, node.program, env=node.environment, through=node.through())
    assert job.code == 0 and not [line for line in job.said if "read ahead" in line]
    assert node.read_ahead() == set()


def test_without_the_option_nothing_is_kept_or_read(node):
    (node.folder / "go").touch()
    job = node.muster.run("--read-ahead-after=0", "--", PYTHON, node.program, env=node.environment, through=node.through())
    assert (job.code, node.kept(), node.read_ahead()) == (0, [], set())


def test_on_a_local_disk_nothing_is_kept_or_read(node):
    file = node.keep()
    shutil.copytree(node.folder / "disk", node.mount, dirs_exist_ok=True)

    job, first = node.wait(through=PACED)
    first.err.wait_for("read ahead: nothing")
    finish(node, job)

    file.unlink()
    assert node.keep(through=PACED) is None


def test_what_the_page_cache_has_is_not_read_again(node):
    node.keep()
    reads = [f"cat {one}" for one in (node.mount / "site-packages/package/library.so", node.mount / "site-packages/package/data.bin")]
    warms = ("sh", "-c", f"({'; '.join(reads)}; cat {node.mount}/site-packages/package/__pycache__/*) > /dev/null; exec \"$@\"", "sh")
    job, first = node.wait(through=(*node.through(), *warms))

    first.err.wait_for("read ahead: nothing")
    assert node.read_ahead() == set()
    finish(node, job)


def test_a_large_file_of_which_the_page_cache_has_the_beginning_is_read(node):
    data = node.package / "data.bin"
    data.write_bytes(os.urandom(12 * MEBIBYTE))  # two parts: an eighth of a part is enough
    node.keep()
    seen = node.mount / "site-packages/package"
    warms = ("sh", "-c", f'(cat {seen}/library.so {seen}/__pycache__/*; head -c {2 * MEBIBYTE} {seen}/data.bin) > /dev/null; exec "$@"', "sh")
    job, first = node.wait(through=(*node.through(), *warms))

    first.err.wait_for("read ahead 1 file (4 MiB) in")
    finish(node, job)


def a_link(file):
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda file: os.chown(file, 12345, -1), id="of another user"),
        pytest.param(lambda file: file.chmod(0o622), id="writable for others"),
        pytest.param(a_link, id="a link"),
        pytest.param(lambda file: (file.unlink(), os.mkfifo(file)), id="a FIFO"),
        pytest.param(lambda file: file.write_bytes(file.read_bytes().replace(b"muster files 1", b"muster files 2")), id="of another version"),
        pytest.param(lambda file: file.write_bytes(os.urandom(1 << 20)), id="garbage"),
    ],
)
def test_a_list_that_may_be_somebody_elses_is_left_alone(node, change):
    change(node.keep())
    job, first = node.wait()

    first.err.wait_for("read ahead: nothing")
    assert node.read_ahead() == set()
    finish(node, job)


def changed(file):
    file.write_bytes(file.read_bytes())


def of_a_stranger(file):
    os.chown(file, 12345, -1)


def a_fifo(file):
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("change", [changed, of_a_stranger, a_link, a_fifo])
def test_a_file_that_has_changed_is_left_out(node, change):
    node.keep()
    change(node.package / "data.bin")
    job, first = node.wait()

    first.err.wait_for("read ahead 2 files")
    assert not {"data.bin", "data.moved"} & node.read_ahead()
    os.kill(first.guard(), signal.SIGTERM)
    first.end()


SLOW = 300  # milliseconds for a request: all of it takes ten seconds and more


@pytest.mark.parametrize("end", ["TERM", "KILL of the agent", "KILL of the guard"])
def test_a_job_that_ends_while_it_reads_leaves_no_process(node, end):
    node.keep()
    _, first = node.wait(milliseconds=SLOW)
    wait_until(node.read_ahead, "a file that is read ahead")
    readers = [one.pid for one in processes.belonging_to(node.muster.tag) if one.name == "muster-files"]
    assert readers

    if end == "TERM":
        os.kill(first.guard(), signal.SIGTERM)
    else:
        os.kill(first.agent() if end == "KILL of the agent" else first.guard(), signal.SIGKILL)
    first.end()
    wait_until(lambda: not any(processes.is_alive(pid) for pid in readers), "the readers to end")


def waits_for_the_server(pid):
    try:
        return any(task.joinpath("wchan").read_text() == "request_wait_answer" for task in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False


def test_a_reader_that_hangs_does_not_hold_up_the_job(node):
    """SIGKILL does not end it: the server has its request, and does not answer."""
    node.keep()
    node.program.write_text("print('first line', flush=True)\n")
    job, first = node.wait(milliseconds=3_600_000)
    readers = lambda: [one.pid for one in processes.belonging_to(node.muster.tag) if one.name == "muster-files"]
    wait_until(lambda: any(waits_for_the_server(pid) for pid in readers()), "a reader that hangs")

    finish(node, job)

    assert not [line for line in first.said if "left behind" in line or "leaving" in line]


def test_the_first_line_ends_the_reading(node):
    """The last node comes while this one reads; the program here needs nothing that is slow."""
    node.keep()
    node.program.write_text("print('first line', flush=True)\nimport time\ntime.sleep(1000)\n")
    job, first = node.wait(milliseconds=SLOW)
    wait_until(node.read_ahead, "a file that is read ahead")

    second = job.start(1, env=node.environment)
    first.out.wait_for("first line")
    wait_until(lambda: not [one for one in processes.belonging_to(node.muster.tag) if one.name == "muster-files"], "the readers to end")
    os.kill(second.guard(), signal.SIGTERM)
    for one in job.jobs.values():
        one.end()
