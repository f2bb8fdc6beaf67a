"""Healthy jobs that say nothing: none is accused of a hang, and none is ended (docs/hangs.md).

With SOAK=1 all kinds of workers/healthy, on each Python that is there: that of $TORCH_VENV, with py-spy and without, and that of
$TORCH_313_VENV, an environment with a Python that describes itself. Some kinds need packages that requirements/torch.txt does not have
(uvloop, trio, pyzmq, grpcio), and are skipped without them.

  HEALTHY_LIMIT  the limit in seconds (10); a job is silent for four times as long
  HEALTHY_LOAD   so many processes compute beside the job (0)
  HEALTHY_TABLE  a file to which each run adds a line: kind, Python, limit, load, exit codes, and what was said of ranks

One kind: SOAK=1 ... pytest tests/frameworks/test_healthy_jobs.py -k "3.13-sqlite_query"
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

import jobs
import pytest

from support import processes
from support.gang import free_port
from support.repetitions import default_or_soak

FOLDER = pathlib.Path(jobs.script("healthy"))
LIMIT = float(os.environ.get("HEALTHY_LIMIT", 10))
LOAD = int(os.environ.get("HEALTHY_LOAD", 0))
SECONDS = 4 * LIMIT
START = 200  # seconds until all ranks have imported torch on two busy cores
NODES = {"prints_on_the_first_rank": 2, "prints_on_the_last_rank": 2}
WORKERS = 3  # of each node
FEW = ["step_a_second", "evaluate_in_one_function", "sqlite_query", "asyncio_server", "late_first_rank"]
ALL = [name for file in sorted(FOLDER.glob("*.py")) for name in re.findall(r"^def ([a-z]\w*)\(job\)", file.read_text(), re.MULTILINE)]
PACKAGES = {name: name.split("_")[0] for name in ALL if name.startswith(("uvloop", "trio", "zmq", "grpc"))}
PYTHONS = ["3.11", *default_or_soak([], ["3.11-without-py-spy"]), *(["3.13"] if "TORCH_313_VENV" in os.environ else [])]
VERDICT = re.compile(r"has not moved|\branks? \d")
FACT = re.compile(r"the job waits for ranks? [\d, -]+, which (works?|polls? or reads?): |.*whether the job hangs cannot be seen: ")  # accuses nobody
OTHER = re.compile(r"attempt \d+: node |.*most memory of a worker ")  # lines of any job

pytestmark = pytest.mark.framework


class SlowPeer:
    """What is outside the job: a server that takes and gives half a megabyte a second, and the end of a pipe that takes as much."""

    def __init__(self, folder):
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        (folder / "port").write_text(str(self._server.getsockname()[1]))
        os.mkfifo(folder / "slow")
        self._pipe = os.open(folder / "slow", os.O_RDONLY | os.O_NONBLOCK)
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=target) for target in (self._serve, self._drain)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._server.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._server.close()
        os.close(self._pipe)

    def _serve(self):
        try:
            client = self._server.accept()[0]
            with client:
                kind = client.recv(2, socket.MSG_WAITALL)
                while not self._is_over.wait(0.5):
                    self._serve_once(client, kind)
        except OSError:
            pass  # one of them is gone

    @staticmethod
    def _serve_once(client, kind):
        if kind == b"dn":
            client.sendall(bytes(1 << 19))
        else:
            size = 1 << 20 if kind == b"ck" else 1 << 19
            if len(client.recv(size, socket.MSG_WAITALL)) == size and kind == b"ck":
                client.sendall(b"k")

    def _drain(self):
        while not self._is_over.wait(0.1):
            try:
                os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                continue


@pytest.fixture
def slow_peer(tmp_path):
    with SlowPeer(tmp_path) as peer:
        yield peer


@pytest.fixture
def load():
    busy = [processes.start([sys.executable, "-c", "while True: pass"]) for _ in range(LOAD)]
    yield
    for process in busy:
        process.kill()
        processes.wait_for_end(process, 10, "a busy process")


def without_py_spy(python, folder):
    """A virtual environment with the packages of another one, but not its programs."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages, own = (subprocess.check_output([one, "-c", ask], text=True).strip() for one in (python, folder / "bin" / "python3"))
    (pathlib.Path(own) / "others.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
    return folder / "bin" / "python3"


@pytest.fixture(scope="session", params=PYTHONS)
def silent_python(request, tmp_path_factory):
    """The name of a Python, and its path."""
    if request.param == "3.13":
        return request.param, pathlib.Path(os.environ["TORCH_313_VENV"]) / "bin" / "python3"
    python = request.getfixturevalue("torch_venv") / "python3"
    if request.param == "3.11-without-py-spy":
        python = without_py_spy(python, tmp_path_factory.mktemp("python") / "venv")
    return request.param, python


def has_package(python, kind):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({PACKAGES.get(kind, 'os')!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def note(kind, python, codes, verdicts):
    if "HEALTHY_TABLE" in os.environ:
        with open(os.environ["HEALTHY_TABLE"], "a", encoding="utf-8") as table:
            codes = ",".join(map(str, codes))
            table.write(f"{kind}\t{python}\t{LIMIT:g}\t{LOAD}\t{codes}\t{' | '.join(verdicts)}\n")


def start(launcher, python, folder, kind, seconds, *options):
    """Starts a job of that kind, and returns its agents."""
    nodes, port = NODES.get(kind, 1), free_port()
    return [
        launcher.start(
            *([f"--nnodes={nodes}", f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}"] if nodes > 1 else []),
            *[f"--nproc-per-node={WORKERS}", f"--hang-report={LIMIT:g}", "--grace=5", *options],
            *[FOLDER / "job.py", kind, seconds, LIMIT, folder],
            env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": 1, "CUDA_VISIBLE_DEVICES": ""},
        )
        for node in range(nodes)
    ]


@pytest.mark.parametrize("kind", default_or_soak(FEW, ALL))
@pytest.mark.usefixtures("slow_peer", "load")
def test_a_healthy_job_is_left_alone(launcher, silent_python, tmp_path, kind):
    name, python = silent_python
    if not has_package(python, kind):
        pytest.skip(f"needs {PACKAGES[kind]}")
    nodes = NODES.get(kind, 1)
    agents = start(launcher, python, tmp_path, kind, SECONDS, f"--hang-timeout={1.5 * LIMIT:g}")
    for agent in agents:
        agent.end(START + 2 * SECONDS)
    codes = [agent.code for agent in agents]
    verdicts = [line for agent in agents for line in agent.said if VERDICT.search(line) and not OTHER.match(line)]
    ready = sum(agent.out.text.count("ready") for agent in agents)
    note(kind, name, codes, verdicts)

    assert [line for line in verdicts if not FACT.match(line)] == []
    assert codes == [0] * nodes, agents[0].words()
    assert ready == nodes * WORKERS


ASKS_EVERYTHING = "--hang-ask=stacks,py-spy,recorder,nccl"
LEAVES_RECORDERS_ALONE = ["prints_on_the_first_rank", "prints_on_the_last_rank", "slow_imports", "late_first_rank", "compile_models"]


@pytest.fixture
def questions(tmp_path):
    """The questions to the recorder and to NCCL's RAS, as the stand-ins of a job note them (workers/healthy/stand_ins.py)."""
    folder = tmp_path / "questions"
    folder.mkdir()
    return lambda: sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("kind", LEAVES_RECORDERS_ALONE)
def test_a_job_that_prints_imports_initialises_or_compiles_is_asked_nothing(launcher, silent_python, tmp_path, questions, kind):
    """With SOAK=1 for 300 s; other jobs that are busy are not asked either."""
    agents = start(launcher, silent_python[1], tmp_path, kind, default_or_soak(SECONDS, 300), ASKS_EVERYTHING)
    for agent in agents:
        assert agent.end(START + 600) == 0, agent.words()

    assert questions() == []


def test_questions_of_a_person_are_noted(launcher, silent_python, tmp_path, questions):
    """So that the test above can fail."""
    (agent,) = start(launcher, silent_python[1], tmp_path, "idle", 600, ASKS_EVERYTHING)
    agent.out.wait_for("ready", times=WORKERS, seconds=START)
    assert launcher.run("stacks", f"--job={agent.guard()}", "--ask-nccl=yes").code == 0
    agent.signal(signal.SIGTERM)
    agent.end(START)

    assert questions() == ["ras-0", *[f"recorder-{rank}" for rank in range(WORKERS)]]
