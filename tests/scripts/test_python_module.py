"""The Python module, hfai and the C header against their contract with the launcher, which a test plays here."""

import ast
import contextlib
import json
import mmap
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python"
HANG = 120
NAMES = ("MUSTER_SUSPEND_FILE", "MUSTER_HEARTBEAT_FILE", "MUSTER_CONTROL_SOCKET", "RANK", "WORLD_SIZE", "PYTHONPATH")


class Job:
    """The run folder, with what the launcher would write, and programs that run in it."""

    def __init__(self, folder):
        self.folder = folder
        self.notice = folder / "suspend.json"
        self.flag = folder / "suspend.flag"
        self.heartbeats = folder / "heartbeat.0"
        self.socket = folder / "control"
        self.variables = {"MUSTER_SUSPEND_FILE": self.notice, "MUSTER_HEARTBEAT_FILE": self.heartbeats}

    def environment(self, **more):
        inherited = {name: value for name, value in os.environ.items() if name not in NAMES}
        values = {"PYTHONPATH": PYTHON, "PYTHONDONTWRITEBYTECODE": "1", **self.variables, **more}
        return {**inherited, **{name: str(value) for name, value in values.items()}}

    def popen(self, *command, **more):
        return subprocess.Popen(
            [str(part) for part in command], env=self.environment(**more), cwd=self.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *command, **more):
        with self.popen(*command, **more) as process:
            try:
                output, errors = process.communicate(timeout=HANG)
            finally:
                process.kill()
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def python(self, code, **more):
        """Runs the code as a file, since processes that are spawned import it again. Returns what it printed."""
        done = self.script(code, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def script(self, code, **more):
        program = self.folder / "program.py"
        program.write_text(code)
        return self.run(sys.executable, program, **more)

    def give_notice(self, deadline=1795670000.25):
        """As the launcher does: the file first, then the flag."""
        document = {"version": 1, "attempt": 0, "deadline": deadline, "within": 26.0, "reason": "deadline"}
        new = self.folder / "suspend.json.new"
        new.write_text(json.dumps(document))
        new.rename(self.notice)
        self.set_flag(1)

    def withdraw(self):
        self.set_flag(0)
        self.notice.unlink()

    def set_flag(self, value):
        file = os.open(self.flag, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(file, bytes([value]), 0)
        os.close(file)

    def record(self):
        return Record(self.heartbeats.read_bytes())


class Record:
    """A file of heartbeats, as the launcher reads it."""

    def __init__(self, content):
        assert len(content) == 4096
        fields = struct.unpack_from("=8sddqII", content)
        self.magic, self.heartbeat, self.progress, self.step, self.sequence, length = fields
        self.text = content[40 : 40 + length].decode()


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


@pytest.fixture
def module(monkeypatch):
    """The module in this process, as if it were imported for the first time."""
    monkeypatch.syspath_prepend(str(PYTHON))
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "muster", raising=False)
    import muster

    yield muster
    del sys.modules["muster"]


@pytest.fixture
def inside(module, job, monkeypatch):
    for name, value in job.variables.items():
        monkeypatch.setenv(name, str(value))
    return module


@contextlib.contextmanager
def control(path, answer):
    """A launcher that answers one request with `answer`, closes without one (None), or never answers (...)."""
    requests = []

    def serve():
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                requests.append(lines.readline())
                if answer is None:
                    return
                if answer is not ...:
                    connection.sendall(answer)
                lines.readline()  # until the program closes the connection

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(HANG)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Control(requests, thread)
    thread.join(HANG)


class Control:
    def __init__(self, requests, thread):
        self.requests = requests
        self._thread = thread

    def wait_for_sleep(self, process):
        """Waits until the program has its answer and sleeps; older versions of Python make a sleep of select()."""
        self._thread.join(HANG)
        deadline = time.monotonic() + HANG
        while not re.search("nanosleep|poll_schedule|select", pathlib.Path(f"/proc/{process.pid}/wchan").read_text()):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline, "it does not sleep"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.005)
        assert process.poll() is None


@pytest.mark.parametrize("path", sorted(PYTHON.rglob("*.py")), ids=lambda path: str(path.relative_to(PYTHON)))
def test_the_module_compiles_for_python_3_7(path):
    ast.parse(path.read_text(), feature_version=(3, 7))


# -- outside of muster


def test_the_module_does_nothing_outside_of_muster(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert module.receive_suspend_command() is False
    assert module.suspend_deadline() is None
    assert module.go_suspend() is None
    assert module.heartbeat() is None
    assert module.progress(3, loss=0.5) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["missing", "a-file/in-it", "no\0name"])
def test_the_module_does_nothing_without_its_files(module, tmp_path, monkeypatch, folder):
    (tmp_path / "a-file").touch()
    if "\0" in folder:
        monkeypatch.setattr(os, "environ", {**os.environ})  # which lets such a value in
    for name, file in (("MUSTER_SUSPEND_FILE", "suspend.json"), ("MUSTER_HEARTBEAT_FILE", "heartbeat.0")):
        os.environ[name] = str(tmp_path / folder / file)

    assert module.receive_suspend_command() is False
    assert module.suspend_deadline() is None
    module.heartbeat()
    module.progress(3, loss=0.5)
    for name in ("MUSTER_SUSPEND_FILE", "MUSTER_HEARTBEAT_FILE"):
        del os.environ[name]


def test_a_full_disk_ends_nothing(job):
    """The limit of a file's size stands for the end of the disk: nothing can be written either."""
    printed = job.python(
        "import muster, resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "muster.progress(3)\n"
        "print(muster.receive_suspend_command())"
    )

    assert printed == "False\n"


def test_a_file_of_another_form_is_left_alone(inside, job):
    job.heartbeats.write_bytes(b"x" * 4096)

    inside.progress(3)

    assert job.heartbeats.read_bytes() == b"x" * 4096


# -- the notice


def test_a_notice_comes_and_is_withdrawn(inside, job):
    assert inside.receive_suspend_command() is False
    assert (job.flag.read_bytes(), job.flag.stat().st_mode & 0o777) == (b"\0", 0o600)

    job.give_notice()
    assert inside.receive_suspend_command() is True
    assert inside.suspend_deadline() == 1795670000.25

    job.withdraw()
    assert inside.receive_suspend_command() is False
    assert inside.suspend_deadline() is None

    job.give_notice(1795670001)
    assert inside.suspend_deadline() == 1795670001.0


def test_a_notice_may_be_there_before_the_program(inside, job):
    job.give_notice()

    assert inside.receive_suspend_command() is True


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"deadline":"soon"}', '{"deadline":NaN}', '{"deadline":1e999}', "[" * 99999])
def test_a_notice_that_cannot_be_read_has_no_deadline(inside, job, text):
    job.give_notice()
    job.notice.write_text(text)

    assert inside.receive_suspend_command() is True
    assert inside.suspend_deadline() is None


# -- heartbeats


def test_nothing_is_made_before_the_first_heartbeat(inside, job):
    inside.receive_suspend_command()

    assert not job.heartbeats.exists()


def test_a_heartbeat_is_a_time_and_nothing_else(inside, job):
    before = time.time()
    inside.heartbeat()
    after = time.time()

    record = job.record()
    assert (record.magic, record.progress, record.step, record.sequence, record.text) == (b"MUSTERH1", 0, -1, 0, "")
    assert before <= record.heartbeat <= after
    assert job.heartbeats.stat().st_mode & 0o777 == 0o600


def test_progress_is_a_heartbeat_with_a_step_and_numbers(inside, job):
    before = time.time()
    inside.progress(7, loss=0.25, tokens=4096)

    record = job.record()
    assert (record.step, record.text, record.sequence) == (7, '{"loss":0.25,"tokens":4096}', 2)
    assert before <= record.progress <= record.heartbeat <= time.time()

    inside.progress(8)
    assert (job.record().step, job.record().text, job.record().sequence) == (8, "{}", 4)


def test_a_later_process_continues_in_the_same_file(inside, job):
    inside.progress(7, loss=0.25)

    job.python("import muster; muster.heartbeat()")

    assert (job.record().step, job.record().text) == (7, '{"loss":0.25}')
    job.python("import muster; muster.progress(8)")
    assert (job.record().step, job.record().sequence) == (8, 4)


def test_a_writer_that_died_while_writing_does_not_disturb_the_next(inside, job):
    inside.progress(7)
    content = bytearray(job.heartbeats.read_bytes())
    struct.pack_into("=I", content, 32, 0xFFFFFFFF)
    job.heartbeats.write_bytes(content)

    job.python("import muster; muster.progress(8)")

    assert job.record().sequence % 2 == 0
    assert job.record().step == 8


def test_values_that_are_not_finite_numbers_are_omitted(inside, job):
    class Scalar:
        def __float__(self):
            return 0.5

    class Array:
        def __float__(self):
            raise RuntimeError("a tensor of two elements")

    inside.progress(
        1, a=float("nan"), b=float("inf"), c="1", d=None, e=Array(), f=10**400, g=Scalar(), h=True, i=2**70, **{"new\nline": 1, 'a"b': 2}
    )

    assert json.loads(job.record().text) == {"g": 0.5, "h": 1, "i": 2.0**70, 'a"b': 2}


def test_numbers_beyond_the_capacity_are_omitted(inside, job):
    inside.progress(1, **{f"number{index:03}": index for index in range(100, 200)})

    kept = json.loads(job.record().text)
    assert len(job.record().text) <= 1024
    assert list(kept.values()) == list(range(100, 100 + len(kept)))
    assert len(kept) == 1022 // len(',"number100":100')


def test_exactly_as_much_as_fits_is_kept(inside, job):
    inside.progress(1, **{"x" * 1018: 1})
    assert len(job.record().text) == 1024

    inside.progress(1, **{"x" * 1019: 1})
    assert job.record().text == "{}"


@pytest.mark.parametrize(("step", "error"), [(1.5, TypeError), ("1", TypeError), (-1, ValueError), (2**63, ValueError)])
def test_a_step_is_a_number_of_63_bits(module, step, error):
    with pytest.raises(error):
        module.progress(step)


def test_progress_in_a_signal_handler_does_not_wait_for_itself(job):
    job.python(
        "import muster, signal, os\n"
        "signal.signal(signal.SIGUSR1, lambda *_: muster.progress(9))\n"
        "class Number:\n"
        "    def __float__(self): return 1.0\n"
        "order = muster._order_writes\n"
        "def disturbed():\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    order()\n"
        "muster._order_writes = disturbed\n"
        "muster.progress(7)"
    )

    assert (job.record().step, job.record().sequence) == (7, 2)


WRITER = {
    "python": [sys.executable, "-c", "import itertools, muster\nfor n in itertools.count(): muster.progress(n, **({'a': n, 'b': n} if n % 2 else {'a': n}))"],
    "c": ["./writer"],
}
C_WRITER = r"""
#include <stdio.h>
#include <muster.h>
int main(void) {
  char text[64];
  int n;
  for (n = 0;; ++n) {
    sprintf(text, n % 2 ? "{\"a\":%d,\"b\":%d}" : "{\"a\":%d}", n, n);
    muster_progress(n, text);
  }
}
"""


@pytest.mark.parametrize("language", WRITER)
def test_a_reader_never_sees_torn_numbers(job, language):
    if language == "c":
        compile_c(job, C_WRITER, "writer", "-std=c99")
    job.python("import muster; muster.progress(0, a=0)")
    seen = set()
    deadline = time.monotonic() + HANG
    with job.popen(*WRITER[language]) as process, mapped(job.heartbeats) as page:
        try:
            while len(seen) < 100:
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline, f"{len(seen)} of its records were seen"
                seen.update(read_whole(page))
        finally:
            process.kill()


@contextlib.contextmanager
def mapped(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ) as page:
        yield page


def read_whole(page):
    """The step, if nothing was written meanwhile; its numbers then belong to it."""
    (before,) = struct.unpack_from("=I", page, 32)
    content = page[:4096]
    (after,) = struct.unpack_from("=I", page, 32)
    if before % 2 == 1 or before != after:
        return []
    record = Record(content)
    assert json.loads(record.text) == ({"a": record.step, "b": record.step} if record.step % 2 else {"a": record.step})
    return [record.step]


# -- other processes


def test_a_forked_child_continues_the_heartbeat(inside, job):
    inside.receive_suspend_command()
    inside.heartbeat()
    inside._writing.acquire()  # as if another thread were in the middle of progress()
    child = os.fork()
    if child == 0:
        job.give_notice()
        inside.progress(5)
        os._exit(0 if inside.receive_suspend_command() else 1)
    inside._writing.release()

    assert os.waitpid(child, 0)[1] == 0
    assert inside.receive_suspend_command() is True
    assert job.record().step == 5


def test_a_spawned_child_sees_the_same_notice(job):
    job.give_notice()

    printed = job.python(
        "import multiprocessing, muster\n"
        "def child():\n"
        "    muster.progress(6)\n"
        "    print(muster.receive_suspend_command(), muster.suspend_deadline(), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=child)\n"
        "    process.start()\n"
        "    process.join()\n"
    )

    assert printed == "True 1795670000.25\n"
    assert job.record().step == 6


# -- saved, go


def go_suspend(job, *command, **more):
    """Starts the program, and returns it once it has spoken to the launcher or ended."""
    return job.popen(*(command or (sys.executable, "-c", "import muster; muster.go_suspend()")), MUSTER_CONTROL_SOCKET=job.socket, **more)


@pytest.mark.parametrize(("rank", "expected"), [("3", {"rank": 3}), ("", {}), ("three", {}), ("-1", {}), ("9" * 99, {})])
def test_after_reporting_saved_the_program_waits_for_its_end(job, rank, expected):
    with control(job.socket, b'{"control":1,"ok":true}\n') as launcher, go_suspend(job, RANK=rank) as process:
        launcher.wait_for_sleep(process)
        process.kill()

    assert [json.loads(one) for one in launcher.requests] == [{"control": 1, "request": "saved", **expected}]
    assert launcher.requests[0].endswith(b"\n")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b'{"control":1,"ok":false,"error":"the job is ending"}\n', "did not accept that the job is saved: the job is ending"),
        (b"{}\n", "did not accept that the job is saved: no reason"),
        (b"[1]\n", "no object came back"),
        (b"rubbish\n", "muster cannot be told that the job is saved, at '"),
        (b"\xff\n", "muster cannot be told"),
        (b"x" * 100000, "its answer has no end"),
        (None, "it closed the connection without an answer"),
    ],
)
def test_a_negative_or_invalid_answer_raises_an_error(module, job, monkeypatch, answer, words):
    monkeypatch.setenv("MUSTER_CONTROL_SOCKET", str(job.socket))

    with control(job.socket, answer), pytest.raises(RuntimeError, match="muster") as raised:
        module.go_suspend()

    assert words in str(raised.value)


def test_a_launcher_that_is_not_there_is_an_error(module, job, monkeypatch):
    monkeypatch.setenv("MUSTER_CONTROL_SOCKET", str(job.socket))

    with pytest.raises(RuntimeError, match="No such file"):
        module.go_suspend()


def test_the_reason_of_a_refusal_is_shown_as_text(module, job, monkeypatch):
    monkeypatch.setenv("MUSTER_CONTROL_SOCKET", str(job.socket))
    answer = b'{"control":1,"ok":false,"error":"no \\u001b[2J\\n\\u009b1m rank \\u202e\xc3\xa9"}\n'

    with control(job.socket, answer), pytest.raises(RuntimeError) as refused:
        module.go_suspend()

    assert str(refused.value).endswith("is saved: no \\x1b[2J\\n\\x9b1m rank \\u202e\u00e9")


def test_a_launcher_that_never_answers_is_an_error(module, job, monkeypatch):
    monkeypatch.setenv("MUSTER_CONTROL_SOCKET", str(job.socket))
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.1)

    with control(job.socket, ...), pytest.raises(RuntimeError, match="timed out|no answer within"):
        module.go_suspend()


def test_an_unreachable_launcher_raises_an_error(module, job, monkeypatch):
    monkeypatch.setenv("MUSTER_CONTROL_SOCKET", str(job.socket))
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as others:
        listener.bind(str(job.socket))
        listener.listen(0)
        for _ in range(2):
            other = others.enter_context(socket.socket(socket.AF_UNIX))
            other.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                other.connect(str(job.socket))

        with pytest.raises(RuntimeError, match="no answer within 0.1 s"):
            module.go_suspend()


# -- hfai


def test_hfai_has_what_a_training_loop_uses(job):
    job.give_notice()

    printed = job.python(
        "import hfai\n"
        "def main(gpu, word):\n"
        "    if hfai.distributed.get_rank() == 0 and gpu == 0:\n"
        "        print(word, gpu, hfai.distributed.get_world_size(), hfai.client.receive_suspend_command(), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    hfai.multiprocessing.spawn(main, args=('told',), nprocs=2, bind_numa=True)\n",
        RANK=0,
        WORLD_SIZE=2,
    )

    assert printed == "told 0 2 True\n"


def test_hfai_sees_a_notice_only_on_the_first_node(job):
    job.give_notice()

    assert job.python("import hfai; print(hfai.client.receive_suspend_command())", RANK=1) == "False\n"


def test_hfai_reports_saved(job):
    command = (sys.executable, "-c", "import hfai; hfai.client.go_suspend()")
    with control(job.socket, b'{"control":1,"ok":true}\n') as launcher, go_suspend(job, *command) as process:
        launcher.wait_for_sleep(process)
        process.kill()

    assert json.loads(launcher.requests[0]) == {"control": 1, "request": "saved"}


def test_the_rest_of_hfais_distributed_is_that_of_torch(job):
    torch = job.folder / "torch"
    torch.mkdir()
    (torch / "__init__.py").touch()
    (torch / "distributed.py").write_text("def barrier(): return 'waited'\ndef get_rank(group): return group * 2\n")

    printed = job.python(
        "import hfai, sys\n"
        "print('torch' in sys.modules, hfai.distributed.barrier(), hfai.distributed.get_rank(), hfai.distributed.get_rank(21))",
        RANK=1,
    )

    assert printed == "False waited 1 42\n"


def test_without_torch_hfai_raises_a_clear_error(job):
    (job.folder / "torch.py").write_text("raise ImportError('no torch here')")

    assert "ImportError: no torch here" in job.script("import hfai; hfai.distributed.init_process_group()").stderr


@pytest.mark.parametrize("statement", ["import hfai, hfai.client", "import hfai.client", "from hfai import client"])
@pytest.mark.parametrize("copies", [1, 2])
def test_another_installed_hfai_takes_precedence(job, statement, copies):
    other = job.folder / "site" / "hfai"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("from . import client\nwhose = 'the user'")
    (other / "client.py").write_text("whose = 'the user'")
    second = shutil.copytree(PYTHON, job.folder / "second")
    path = [PYTHON, second][:copies] + [job.folder / "site"]

    printed = job.python(
        f"{statement}\nimport sys\nprint(sys.modules['hfai'].whose, sys.modules['hfai.client'].whose, vars(sys.modules['hfai']).get('_hfai_path'))",
        PYTHONPATH=os.pathsep.join(map(str, path)),
    )

    assert printed == "the user the user None\n"


def test_an_hfai_of_a_meta_path_finder_takes_precedence(job):
    (job.folder / "elsewhere.py").write_text("whose = 'the user'")

    printed = job.python(
        "import importlib.util, sys\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        return importlib.util.spec_from_file_location(name, 'elsewhere.py') if name == 'hfai' else None\n"
        "sys.meta_path.append(Finder)\n"
        "import hfai\n"
        "print(hfai.whose)"
    )

    assert printed == "the user\n"


def test_a_folder_named_hfai_does_not_take_precedence(job):
    (job.folder / "hfai").mkdir()

    assert job.python("import hfai; print(hfai.client.receive_suspend_command())") == "False\n"


def test_two_copies_of_hfai_on_the_path_work(job):
    second = shutil.copytree(PYTHON, job.folder / "second")

    printed = job.python("import hfai; print(hfai.client.go_suspend())", PYTHONPATH=f"{PYTHON}{os.pathsep}{second}")

    assert printed == "None\n"


def test_hfai_imports_the_muster_module_beside_it(job):
    (job.folder / "muster.py").write_text("whose = 'the user'")
    job.give_notice()

    assert job.python("import hfai, muster; print(hfai.client.receive_suspend_command(), muster.whose)") == "True the user\n"


SPAWN = """
import os, signal, sys, hfai
def main(index, how):
    if index == 1:
        exec(how)
    signal.pause()
if __name__ == '__main__':
    hfai.multiprocessing.spawn(main, args=({how!r},), nprocs=3)
"""


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("raise ValueError('bad batch')", 1, ["process 1 raised an exception", "ValueError: bad batch", "in main"]),
        ("raise ValueError('x' * 200000)", 1, ["process 1 raised an exception", "xxx"]),
        ("sys.exit(85)", 85, ["hfai: process 1 ended with exit code 85"]),
        ("os.kill(os.getpid(), 9)", 137, ["hfai: process 1 ended with signal 9"]),
    ],
)
def test_a_spawned_process_that_fails_ends_the_others(job, how, code, words):
    done = job.script(SPAWN.format(how=how))

    assert done.returncode == code, done.stderr
    assert [word for word in words if word not in done.stderr] == []


def test_spawn_without_join_returns_the_processes(job):
    printed = job.python(
        "import hfai\n"
        "def main(index): pass\n"
        "if __name__ == '__main__':\n"
        "    children = hfai.multiprocessing.spawn(main, nprocs=2, join=False)\n"
        "    print(len(children.processes), children.pids() == [one.pid for one in children.processes])\n"
        "    while not children.join(1): pass\n"
    )

    assert printed == "2 True\n"


class TestShareOfNumaNodes:
    NODES = ({0, 1, 2, 3}, {4, 5, 6, 7})

    @pytest.fixture
    def numa(self, job, monkeypatch):
        monkeypatch.syspath_prepend(str(PYTHON))
        import hfai.multiprocessing

        yield hfai.multiprocessing
        for name in [name for name in sys.modules if name.split(".")[0] in ("hfai", "muster")]:
            del sys.modules[name]

    def shares(self, numa, count, allowed=frozenset(range(8)), nodes=NODES):
        return [numa.cpus_of_share(index, count, nodes, allowed) for index in range(count)]

    def test_processes_are_spread_over_the_nodes(self, numa):
        first, second = self.NODES
        assert self.shares(numa, 4) == [first, first, second, second]
        assert self.shares(numa, 3) == [first, first, second]
        assert self.shares(numa, 2) == [first, second]

    def test_a_single_process_gets_all_numa_nodes(self, numa):
        assert self.shares(numa, 1) == [set(range(8))]

    def test_only_allowed_cpus_count(self, numa):
        assert self.shares(numa, 2, {5, 6}) == [{5, 6}, {5, 6}]
        assert self.shares(numa, 2, {1, 5}) == [{1}, {5}]

    def test_without_numa_nodes_processes_get_no_share(self, numa):
        assert self.shares(numa, 2, nodes=()) == [set(), set()]

    def test_the_nodes_are_those_of_the_system(self, numa, tmp_path):
        for name, cpus in (("node0", "0-2,8\n"), ("node10", "\n"), ("node2", "3\n")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "cpulist").write_text(cpus)
        (tmp_path / "online").touch()

        assert numa.numa_nodes(str(tmp_path)) == [{0, 1, 2, 8}, {3}, set()]


# -- C


C_PROGRAM = r"""
%s
#include <muster.h>
int main(int argc, char **argv) {
  char line[64];
  int said;
  muster_heartbeat();
  while (fgets(line, sizeof line, stdin)) {
    if (line[0] == 'p') muster_progress(strtol(line + 1, NULL, 10), argc > 1 ? argv[1] : NULL);
    printf("%%d %%.3f\n", muster_receive_suspend_command(), muster_suspend_deadline());
    fflush(stdout);
  }
  errno = 0;
  said = muster_go_suspend();
  printf("%%d %%d\n", said, errno);
  return 0;
}
"""
COMPILERS = {
    "c99": (["gcc", "-std=c99"], "#include <stdio.h>\n#include <string.h>"),
    "gnu17": (["gcc", "-std=gnu17"], "#define _GNU_SOURCE\n#include <stdio.h>"),
    "c++11": (["g++", "-x", "c++", "-std=c++11"], "#include <cstdio>"),
    "c++20": (["g++", "-x", "c++", "-std=c++20"], "#include <cstdio>"),
}


def compile_c(job, text, name, *options, compiler="gcc"):
    source = job.folder / f"{name}.c"
    source.write_text(text)
    warnings = ["-O2", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Werror"]
    done = job.run(compiler, *options, *warnings, "-I", ROOT / "include", source, "-o", job.folder / name)
    assert done.returncode == 0, done.stderr


@pytest.fixture(params=COMPILERS)
def program(job, request):
    (compiler, *options), before = COMPILERS[request.param]
    compile_c(job, C_PROGRAM % before, "program", *options, compiler=compiler)
    return job.folder / "program"


def test_a_c_program_gets_a_notice_and_reports_progress(job, program):
    def say(line):
        process.stdin.write(line)
        process.stdin.flush()
        return process.stdout.readline()

    with job.popen(program, '{"loss":0.25}') as process:
        assert say("s\n") == "0 0.000\n"
        record = job.record()
        assert (record.magic, record.step, record.sequence, record.text) == (b"MUSTERH1", -1, 0, "")
        assert abs(record.heartbeat - time.time()) < HANG
        job.give_notice()
        assert say("p7\n") == "1 1795670000.250\n"
        record = job.record()
        assert (record.step, record.sequence, record.text) == (7, 2, '{"loss":0.25}')
        assert 0 < record.progress <= record.heartbeat
        job.notice.write_text('{"reason" : "deadline", "deadline" : 1.79567000025E9}')
        assert say("s\n") == "1 1795670000.250\n"
        job.withdraw()
        assert say("s\n") == "0 0.000\n"
        process.stdin.close()
        assert process.stdout.readline() == "0 0\n"


def test_a_c_program_continues_the_heartbeat_file_of_a_python_program(job, program, inside):
    inside.progress(7, loss=0.25)

    with job.popen(program) as process:
        process.communicate("s\n", timeout=HANG)
    assert (job.record().step, job.record().sequence) == (7, 2)


def test_a_c_program_does_nothing_outside_of_muster(job, program):
    job.variables = {}
    with job.popen(program) as process:
        output, _ = process.communicate("p7\n", timeout=HANG)

    assert output == "0 0.000\n0 0\n"
    assert not job.heartbeats.exists()


def test_a_c_program_reports_saved(job, program):
    with control(job.socket, b'{"control":1,"ok":true}\n') as launcher, go_suspend(job, program, RANK=3) as process:
        process.stdin.close()
        launcher.wait_for_sleep(process)
        process.kill()

    assert json.loads(launcher.requests[0]) == {"control": 1, "request": "saved", "rank": 3}


@pytest.mark.parametrize("answer", [b'{"control":1,"ok":false,"error":"no"}\n', b"rubbish\n", None])
def test_a_c_program_gets_a_refusal(job, program, answer):
    with control(job.socket, answer), go_suspend(job, program) as process:
        output, _ = process.communicate("", timeout=HANG)

    assert output == "-1 71\n", "EPROTO"


def test_a_c_program_gets_an_error_without_a_launcher(job, program):
    with go_suspend(job, program) as process:
        output, _ = process.communicate("", timeout=HANG)

    assert output == "-1 2\n", "ENOENT"
