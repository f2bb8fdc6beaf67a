"""A standby becomes its worker at a restart, and nobody can tell it from one that was started (docs/standby.md)."""

import json
import os
import re
import shutil
import signal
import time
import zipfile
from pathlib import Path

import pytest
from support import processes
from support.deadlines import wait_until
from support.repetitions import default_or_soak

pytestmark = [pytest.mark.needs("pidfds"), pytest.mark.plain_build]

PYTHON = "/usr/bin/python3"
# Where muster cannot lower the standbys' priority, they sleep between imports instead. A test must not wait until both cores are idle.
PACED = ("chrt", "--batch", "0")
READY = "can restart without importing again"

# Fails on rank 0 as soon as its file "go" is there, in each attempt but the last.
CRASHES = """
import os, pathlib, sys, time
import decimal, json
attempt = int(os.environ["MUSTER_RESTART_COUNT"])
print("attempt", attempt, "runs", flush=True)
while not pathlib.Path(sys.argv[1], "go%d" % attempt).exists():
    time.sleep(0.01)
sys.exit(3 if attempt < int(sys.argv[2]) and os.environ["RANK"] == "0" else 0)
"""


@pytest.fixture
def program(tmp_path):
    """Writes a program of Python."""

    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def libraries(tmp_path):
    """Writes modules where installed packages are."""
    folder = tmp_path / "site-packages"
    folder.mkdir()

    def write(**modules):
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        return {"PYTHONPATH": folder}

    return write


@pytest.fixture
def start(muster, tmp_path):
    """Starts a job of that program with standbys."""

    def start_job(program, *arguments, ranks=2, restarts=1, modules="auto", through=PACED, python=(PYTHON,), env=None, after=1, **options):
        return muster.start(
            *(f"--nproc-per-node={ranks}", f"--max-restarts={restarts}", "--grace=5"),
            *(f"--standby={modules}", f"--standby-after={after}", "--", *python, program, *arguments),
            through=through,
            env={"XDG_CACHE_HOME": tmp_path / "cache", **(env or {})},
            **options,
        )

    return start_job


def standbys_of(job, name="_MUSTER_STANDBY="):
    """The pids of the agent's children that are standbys."""
    found = []
    for child in processes.children_of(job.agent()):
        try:
            environment = Path(f"/proc/{child.pid}/environ").read_text()
        except OSError:
            continue
        if name + "stand_by" in environment:
            found.append(child.pid)
    return found


def crash_and_restart(job, folder, attempts=1):
    for attempt in range(attempts):
        job.err.wait_for(READY, times=attempt + 1)
        (folder / f"go{attempt}").touch()
        job.out.wait_for(f"attempt {attempt + 1} runs")
    (folder / f"go{attempts}").touch()
    return job.end()


def test_a_restart_begins_from_standbys(start, program, tmp_path):
    job = start(program(CRASHES), tmp_path, 2, restarts=2)

    assert crash_and_restart(job, tmp_path, attempts=2) == 0
    gains = [line for line in job.said if "from standby" in line]
    assert [re.sub(r"[0-9.]+ s", "T", line) for line in gains] == [
        "attempt 1: 2 of 2 ranks from standby, first line after T (attempt 0: T)",
        "attempt 2: 2 of 2 ranks from standby, first line after T (attempt 0: T)",
    ]


DESCRIBES_ITSELF = """
import decimal, json, os, pathlib, random, resource, signal, sys, threading, time, uuid
import faulthandler, locale
attempt = int(os.environ["MUSTER_RESTART_COUNT"])
print("attempt", attempt, "runs", flush=True)
here = {
    "arguments": sys.argv, "file": __file__, "name": __name__, "path": sys.path, "flags": str(sys.flags),
    "all arguments": getattr(sys, "orig_argv", None), "options": sys._xoptions,
    "main": sorted(vars(sys.modules["__main__"])), "modules": sorted(sys.modules), 
    "finders": [getattr(one, "__name__", type(one).__name__) for one in sys.meta_path if type(one).__name__ != "Notes"],
    "variables": {name: value for name, value in os.environ.items() if name == "_MUSTER_STANDBY" or not name.startswith("MUSTER_")},
    "handlers": {int(one): str(signal.getsignal(one)) for one in signal.Signals},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "streams": [(str(type(one)), one.name, one.mode, one.encoding, one.errors, one.line_buffering, one.isatty())
                for one in (sys.stdin, sys.stdout, sys.stderr)],
    "descriptors": sorted(os.listdir("/proc/self/fd")), "folder": os.getcwd(), "umask": os.umask(0o022),
    "limits": [resource.getrlimit(one) for one in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_STACK)],
    "priority": [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)], "cpus": sorted(os.sched_getaffinity(0)),
    "out of memory": pathlib.Path("/proc/self/oom_score_adj").read_text(),
    "leads": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()], "parent": os.getppid() > 0,
    "threads": threading.active_count(), "fault handler": faulthandler.is_enabled(), "locale": locale.setlocale(locale.LC_ALL),
    "command": pathlib.Path("/proc/self/cmdline").read_bytes().decode(), "hash": sys.flags.hash_randomization,
    "trace": [str(sys.gettrace()), str(sys.getprofile()), str(sys.excepthook), str(sys.displayhook)],
}
drawn = [random.random(), hash("muster"), str(uuid.uuid4()), os.getpid()]
out = pathlib.Path(sys.argv[1])
out.joinpath("described-%d-%s" % (attempt, os.environ["RANK"])).write_text(json.dumps([here, drawn]))
while not out.joinpath("go%d" % attempt).exists():
    time.sleep(0.01)
sys.exit(3 if attempt == 0 and os.environ["RANK"] == "0" else 0)
"""
# Each is another in each attempt, or for each process.
DIFFERS = ("MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "TORCH_FR_", "TORCH_NCCL_", "TORCH_HCCL_")


def described(folder, attempt, rank):
    here, drawn = json.loads((folder / f"described-{attempt}-{rank}").read_text())
    del here["arguments"], here["command"], here["all arguments"]  # they name a folder of the job
    here["variables"] = {
        name: value
        for name, value in here["variables"].items()
        if not name.startswith(DIFFERS)
    }
    return here, drawn


@pytest.mark.parametrize("python_path", [None, "", "/nowhere:/there"])
def test_a_standby_finds_what_a_started_worker_finds(start, program, tmp_path, python_path):
    cold = tmp_path / "cold"
    warm = tmp_path / "warm"
    environment = {} if python_path is None else {"PYTHONPATH": python_path}
    for folder, modules in ((cold, "off"), (warm, "auto")):
        folder.mkdir()
        job = start(program(DESCRIBES_ITSELF), folder, modules=modules, env=environment)
        if modules == "auto":
            job.err.wait_for(READY)
        job.out.wait_for("attempt 0 runs", times=2)
        wait_until(lambda: len(list(folder.glob("described-0-*"))) == 2, "the ranks to be described")
        (folder / "go0").touch()
        (folder / "go1").touch()
        assert job.end() == 0
    assert "2 of 2 ranks from standby" in job.err.text

    for rank in (0, 1):
        started, _ = described(cold, 1, rank)
        became, _ = described(warm, 1, rank)
        assert became == started
        noted, _ = described(warm, 0, rank)  # a worker whose imports are noted
        first, _ = described(cold, 0, rank)
        for of in (noted, first):
            del of["descriptors"]  # the first rank has its notes
        assert noted == first
    drawn = [described(warm, 1, rank)[1] for rank in (0, 1)]
    assert all(one != other for one, other in zip(*drawn))


def test_many_restarts_leave_nothing_behind(start, program, tmp_path):
    restarts = default_or_soak(4, 100)
    job = start(program(CRASHES), tmp_path, restarts, restarts=restarts, after=0, env={"MUSTER_RESTART_BACKOFF": 0, "MUSTER_NO_PROGRESS_LIMIT": 0})

    def used():
        status = Path(f"/proc/{job.agent()}/status").read_text()
        return len(os.listdir(f"/proc/{job.agent()}/fd")), int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    uses = []
    for attempt in range(restarts):
        job.err.wait_for(READY, times=attempt + 1)
        uses.append(used())
        (tmp_path / f"go{attempt}").touch()
        job.out.wait_for(f"attempt {attempt + 1} runs", times=2)
    (tmp_path / f"go{restarts}").touch()
    assert job.end() == 0
    assert job.err.text.count("2 of 2 ranks from standby") == restarts
    descriptors, memory = zip(*uses[1:])
    assert max(descriptors) - min(descriptors) <= 1  # a file that is being read
    print("KiB:", memory)
    assert memory[-1] - memory[0] < 512 + 8 * restarts  # the report remembers each attempt


def test_a_traceback_has_no_frame_of_muster(start, program, tmp_path):
    text = CRASHES.replace("sys.exit(3 if", "sys.exit(0 if").replace("sys.exit", "if attempt < 2: raise ValueError('x')\nsys.exit")
    job = start(program(text), tmp_path, 2, restarts=2)

    assert crash_and_restart(job, tmp_path, attempts=2) == 0
    frames = [line for line in job.err.lines if "]   File " in line]
    assert len(frames) >= 2 and all("program.py" in line for line in frames), job.err.text


@pytest.mark.parametrize(
    "name, text, why",
    [
        ("exits", "import sys\nif 'stand_by' in open('/proc/self/environ').read(): sys.exit(4)", "the standby ended during its imports"),
        ("leaves", "import os\nif 'stand_by' in open('/proc/self/environ').read(): os._exit(4)", "the standby ended during its imports"),
        ("threads", "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()", "starts a thread"),
        ("forks", "import os, time\nos.fork() or (time.sleep(9), os._exit(0))", "an import starts a process"),
        ("moves", "import os\nos.chdir('/')", "an import changes the working directory"),
        ("searches", "import sys\nsys.path.append('/x')", "an import changes sys.path"),
        ("renames", "import sys\nsys.argv.append('x')", "an import changes the arguments"),
        ("masks", "import os\nos.umask(0o77)", "an import changes the umask, a limit, the priority or a stream"),
    ],
)
def test_imports_that_do_more_than_import(start, program, libraries, tmp_path, name, text, why):
    environment = libraries(**{name: text})
    job = start(program(f"import {name}\n" + CRASHES), tmp_path.absolute(), 1, env=environment)

    job.err.wait_for(why)
    (tmp_path / "go0").touch()
    job.out.wait_for("attempt 1 runs", times=2)
    (tmp_path / "go1").touch()
    assert job.end() == 0
    assert "from standby" not in job.err.text.replace("0 of 2 ranks from standby", "")


MAKES_A_MODULE = """
import importlib.abc, importlib.util, sys
class OfAString(importlib.abc.SourceLoader):
    def get_data(self, path):
        return b"VALUE = 1"
    def get_filename(self, name):
        return "made_by_hand"
spec = importlib.util.spec_from_loader("made", OfAString(), origin="by hand")
sys.modules["made"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["made"])
"""


def test_a_module_that_a_library_makes_of_a_string_is_not_the_programs(start, program, libraries, tmp_path):
    """As torch.distributed.fsdp does."""
    job = start(program("import makes_a_module\n" + CRASHES), tmp_path, 1, env=libraries(makes_a_module=MAKES_A_MODULE))

    assert crash_and_restart(job, tmp_path) == 0
    assert "attempt 1: 2 of 2 ranks from standby" in job.err.text


def test_a_module_that_a_library_takes_from_elsewhere_is_the_programs(start, program, libraries, tmp_path):
    (tmp_path / "elsewhere.py").write_text("")
    (tmp_path / "programs").mkdir()
    takes = f"import sys\nsys.path.append({str(tmp_path)!r})\nimport elsewhere\nsys.path.pop()"
    job = start(program("import takes_one\n" + CRASHES, "programs/program.py"), tmp_path, 1, env=libraries(takes_one=takes))

    job.err.wait_for("the program has a module elsewhere of its own")
    for name in ("go0", "go1"):
        (tmp_path / name).touch()
    assert job.end() == 0
    assert "from standby" not in job.err.text


def test_what_an_import_prints_is_shown_once_for_each_worker(start, program, libraries, tmp_path):
    environment = libraries(talks="print('hello from an import', flush=True)")
    job = start(program(CRASHES.replace("import decimal", "import talks, decimal")), tmp_path, 1, env=environment)

    assert crash_and_restart(job, tmp_path) == 0
    assert job.out.text.count("hello from an import") == 4
    assert "2 of 2 ranks from standby" in job.err.text


def test_modules_that_are_gone_are_no_failure(start, program, libraries, tmp_path):
    environment = libraries(here="x = 1", away="y = 1")
    job = start(program(CRASHES.replace("import decimal", "import here\ntry:\n  import away\nexcept ImportError: pass\nimport decimal")), tmp_path, 1, env=environment, restarts=1)

    job.out.wait_for("attempt 0 runs", times=2)
    job.err.wait_for(READY)
    (tmp_path / "go0").touch()
    job.out.wait_for("attempt 1 runs", times=2)
    (tmp_path / "go1").touch()
    assert job.end() == 0


def test_the_programs_own_modules_are_not_imported(start, program, libraries, tmp_path):
    """One beside the program is found before an installed one of that name."""
    environment = libraries(shadow="where = 'installed'", deep="import shadow")
    program("where = 'own'", "shadow.py")
    job = start(program(CRASHES.replace("import decimal", "import deep, shadow\nprint('it is', shadow.where, flush=True)\nimport decimal")), tmp_path, 1, env=environment)

    job.err.wait_for("the program has a module shadow of its own")
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()
    assert job.end() == 0
    assert job.out.text.count("it is own") == 4 and "it is installed" not in job.out.text


TRIES = "found = True\ntry:\n  import plugin\nexcept {}:\n  found = False"
LOOKS = "import importlib.util\nfound = importlib.util.find_spec('plugin') is not None"


@pytest.mark.parametrize(
    "beside, text, program_is",
    [
        ("plugin.py", TRIES.format("ImportError"), "script"),
        ("plugin.py", TRIES.format("ImportError"), "module"),
        ("plugin/part", LOOKS, "script"),
        ("plugin.pyc", TRIES.format("(ImportError, EOFError)"), "script"),
        ("plugin.abi3.so", TRIES.format("ImportError"), "script"),
        ("plugin/__init__.pyc", TRIES.format("(ImportError, EOFError)"), "script"),
    ],
)
def test_a_library_finds_what_stands_beside_the_program(start, program, libraries, tmp_path, beside, text, program_is):
    environment = libraries(looks=text, **({"plugin": ""} if beside.startswith("plugin.pyc") else {}))
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).write_text("")
    path = program("import looks\n" + CRASHES.replace('"runs"', '"runs", looks.found'))
    words = ("-m", "program") if program_is == "module" else (path,)
    job = start(*words, tmp_path, 1, env=environment, cwd=tmp_path)

    wait_until(lambda: READY in job.err.text or "no standbys" in job.err.text, "muster to say whether there are standbys")
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()
    assert job.end() == 0
    found = re.findall("runs (True|False)", job.out.text)
    assert len(found) == 4 and len(set(found)) == 1
    assert "the program has a module plugin of its own" in job.err.text


def test_folders_beside_the_program_are_no_modules_where_nobody_looks_for_them(start, program, libraries, tmp_path):
    """And an installed package hides a folder of its name without an __init__ file."""
    for folder in ("logs", "wandb", "plugin"):
        (tmp_path / folder).mkdir()
    environment = libraries(looks=LOOKS, plugin="")
    job = start(program("import looks\n" + CRASHES), tmp_path, 1, env=environment)

    assert crash_and_restart(job, tmp_path) == 0
    assert "2 of 2 ranks from standby" in job.err.text


@pytest.mark.parametrize("text, appears", [("", "looks.py"), (LOOKS, "plugin/part"), (LOOKS, "plugin.py")])
@pytest.mark.parametrize("modules", ["auto", "looks"])
def test_a_module_that_appears_in_pythonpath_is_a_cold_start(start, program, libraries, tmp_path, text, appears, modules):
    shared = tmp_path / "shared"
    shared.mkdir()
    environment = {"PYTHONPATH": f"{shared}:{libraries(looks=text)['PYTHONPATH']}"}
    job = start(program("import looks\n" + CRASHES), tmp_path, 1, env=environment, modules=modules)
    job.err.wait_for(READY)
    (shared / appears).parent.mkdir(exist_ok=True)
    (shared / appears).write_text("")
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()

    assert job.end() == 0
    name = re.split("[./]", appears)[0]
    assert f"ranks 0-1 started cold: {shared} has got or lost a module {name}" in job.err.text


def in_a_package(folder):
    (folder / "own").mkdir()
    return folder / "own/__init__.py"


def in_a_zip(folder):
    return folder / "own.zip"


def write_own(path, version):
    text = f"version = {version}\n"
    if path.suffix != ".zip":
        path.write_text(text)
        return
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("own.py", text)


# How an installed package gets a module that the user changes.
OWN = "import own\nversion = own.version"
IN_A_ZIP = "import os, sys\nsys.path.insert(0, os.path.relpath(os.environ['SOURCES'] + '/own.zip'))\nimport own\ndel sys.path[0]\nversion = own.version"
WITHOUT_A_SPEC = """
import os, sys, types
own = sys.modules['own'] = types.ModuleType('own')
own.__file__ = os.environ['SOURCES'] + '/own/__init__.py'
exec(open(own.__file__).read(), vars(own))
version = own.version
"""


@pytest.mark.parametrize("make, text, is_linked", [(in_a_package, OWN, True), (in_a_zip, IN_A_ZIP, False), (in_a_package, WITHOUT_A_SPEC, False)])
@pytest.mark.parametrize("modules", ["auto", "uses"])
def test_no_module_of_the_user_is_older_than_its_file(start, program, libraries, tmp_path, make, text, is_linked, modules):
    sources = tmp_path / "sources"
    sources.mkdir()
    own = make(sources)
    write_own(own, 1)
    (tmp_path / "programs").mkdir()
    environment = {**libraries(uses=text), "SOURCES": sources, "PYTHONDONTWRITEBYTECODE": "1"}
    if is_linked:
        (tmp_path / "site-packages/own").symlink_to(sources / "own")
    path = program("import uses\n" + CRASHES.replace('"runs"', '"runs", uses.version'), "programs/program.py")
    job = start(path, tmp_path, 1, env=environment, modules=modules)

    wait_until(lambda: READY in job.err.text or "no standbys" in job.err.text, "muster to say whether there are standbys")
    write_own(own, 22)
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()
    assert job.end() == 0
    assert re.findall(r"attempt 1 runs (\d+)", job.out.text) == ["22", "22"]
    why = "the program has a module own of its own" if modules == "auto" else f"started cold: {tmp_path}"
    assert why in job.err.text


@pytest.mark.parametrize(
    "before, why",
    [
        ("import os; os.environ['X_SET'] = '1'", "program.py runs other code in line 1"),
        ("import os; os.chdir('/')", "program.py runs other code in line 1"),
        ("import sys; sys.path.insert(0, '/x')", "it changes sys.path"),
        ("import _thread, time; _thread.start_new_thread(time.sleep, (99,))\nwhile not _thread._count(): time.sleep(0.01)", "it starts a thread"),
        ("import sys; sys.modules['tomllib'] = None", "program.py runs other code in line 1"),
        ("import warnings; warnings.simplefilter('ignore')", "program.py runs other code in line 1"),
    ],
)
def test_imports_after_a_change_are_left_to_the_program(start, program, tmp_path, before, why):
    job = start(program(before + CRASHES), tmp_path, 1)

    job.err.wait_for(f"it imports nothing that can be imported ahead: before its first import {why}")
    wait_until(lambda: not standbys_of(job), "the standbys to be gone")  # they say it before they end
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()
    assert job.end() == 0


@pytest.mark.parametrize("option", ["-E", "-I", "-S", "-uE"])
def test_no_second_copy_runs_where_python_ignores_the_file(start, program, tmp_path, option):
    """Such an interpreter would run the program itself."""
    text = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n" + CRASHES
    job = start(program(text), tmp_path, 1, python=(PYTHON, option))

    job.out.wait_for("attempt 0 runs", times=2)
    (tmp_path / "go0").touch()
    job.out.wait_for("attempt 1 runs", times=2)
    (tmp_path / "go1").touch()
    assert job.end() == 0
    assert (tmp_path / "runs").read_text() == "xxxx"


RUNS = "import os; open({!r}, 'a').write(os.environ['MUSTER_RESTART_COUNT'] + ('s' if 'stand_by' in open('/proc/self/environ').read() else 'w') + ' ')\n"


@pytest.mark.parametrize(
    "name, text",
    [
        ("strange", "class Bad(Exception):\n  def __str__(self): raise ValueError\nif 'stand_by' in open('/proc/self/environ').read(): raise Bad"),
        ("finders", "import sys\nsys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != 'Pace']"),
        ("legacy", "import sys\nclass Old:\n  def find_module(self, *_): return None\nsys.meta_path.insert(0, Old())"),
        ("alarm", "import signal\ndef ring(*_): raise KeyError\nsignal.signal(signal.SIGALRM, ring)\nsignal.alarm(2) if 'stand_by' in open('/proc/self/environ').read() else 0"),
        ("again", "import os, sys\nif 'stand_by' in open('/proc/self/environ').read(): os.execv(sys.executable, sys.orig_argv)"),
        ("trains", "import os, time\nopen(os.environ['TRAINED'], 'a').write('x')\ntime.sleep(4)"),
    ],
)
def test_no_second_copy_runs_whatever_an_import_does(start, program, libraries, tmp_path, name, text):
    environment = {**libraries(**{name: text}), "TRAINED": tmp_path / "trained"}
    imported = f"try:\n  import {name}\nexcept ImportError:\n  pass\nimport decimal, json\n"
    job = start(program(imported + RUNS.format(str(tmp_path / "runs")) + CRASHES), tmp_path, 1, env=environment)

    job.out.wait_for("attempt 0 runs", times=2)
    wait_until(lambda: READY in job.err.text or "no standbys" in job.err.text, "muster to say whether there are standbys")
    if name == "alarm":
        time.sleep(3)  # the alarm rings in a standby that waits, and nothing tells when it has
    (tmp_path / "go0").touch()
    job.out.wait_for("attempt 1 runs", times=2)
    (tmp_path / "go1").touch()
    job.end()
    runs = (tmp_path / "runs").read_text().split()
    assert sorted(run[0] for run in runs) == ["0", "0", "1", "1"] and "0s" not in runs
    if name == "trains":
        assert (tmp_path / "trained").read_text() == "xxxx"


def test_no_second_copy_runs_in_a_folder_that_is_gone(start, program, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    text = RUNS.format(str(tmp_path / "runs")) + CRASHES + "\n"
    job = start(program(text), tmp_path, 0, cwd=folder)
    job.out.wait_for("attempt 0 runs", times=2)
    folder.rmdir()

    wait_until(lambda: READY in job.err.text or "no standbys" in job.err.text, "muster to say whether there are standbys")
    (tmp_path / "go0").touch()
    assert job.end() == 0
    assert (tmp_path / "runs").read_text().split() == ["0w", "0w"]


@pytest.mark.parametrize("modules", ["auto", "lib_cal"])
def test_an_own_module_that_hides_one_of_python_is_a_cold_start(start, program, libraries, tmp_path, modules):
    environment = libraries(lib_cal="import calendar\nhas = hasattr(calendar, 'mine')")
    program("mine = 1", "calendar.py")
    text = CRASHES.replace("import decimal, json", "import lib_cal, decimal, json")
    job = start(program(text + "\nassert lib_cal.has"), tmp_path, 1, env=environment, modules=modules)

    job.err.wait_for("the program has a module calendar of its own")
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()
    assert job.end() == 0


def test_a_wrapper_of_python_has_no_standbys(start, program, tmp_path):
    wrapper = tmp_path / "python3"
    wrapper.write_text(f'#!/bin/sh\n{PYTHON} "$@"\nexit $?\n')
    wrapper.chmod(0o755)
    job = start(program(CRASHES), tmp_path, 0, python=(wrapper,))

    job.out.wait_for("attempt 0 runs", times=2)
    (tmp_path / "go0").touch()
    assert job.end() == 0
    assert "standbys: 2 ranks" not in job.err.text


def test_the_users_sitecustomize_still_runs(start, program, libraries, tmp_path):
    environment = libraries(sitecustomize="print('sitecustomize of the user', flush=True)")
    job = start(program(CRASHES), tmp_path, 1, env=environment)

    assert crash_and_restart(job, tmp_path) == 0
    assert job.out.text.count("sitecustomize of the user") == 4
    assert "2 of 2 ranks from standby" in job.err.text


def test_given_modules_are_imported_without_a_look_at_the_program(start, program, tmp_path):
    job = start(program("import os; os.environ['X_SET'] = '1'" + CRASHES), tmp_path, 1, modules="decimal,json")

    assert crash_and_restart(job, tmp_path) == 0
    assert "2 of 2 ranks from standby" in job.err.text


def test_a_module_that_is_not_there_is_named(start, program, tmp_path):
    job = start(program(CRASHES), tmp_path, 0, modules="no_such_module")

    job.err.wait_for("importing no_such_module failed: ModuleNotFoundError")
    (tmp_path / "go0").touch()
    assert job.end() == 0


@pytest.mark.parametrize("number, why", [(signal.SIGKILL, "it had ended"), (signal.SIGSTOP, "it is in state T")])
def test_a_standby_that_cannot_answer_is_a_cold_start(start, program, tmp_path, number, why):
    job = start(program(CRASHES), tmp_path, 1)
    job.err.wait_for(READY)
    standbys = standbys_of(job)
    assert len(standbys) == 2
    for pid in standbys:
        os.kill(pid, number)
    wanted = "T" if number == signal.SIGSTOP else "Z"
    wait_until(lambda: all(not processes.is_alive(pid) or processes.look_at(pid).state == wanted for pid in standbys), "them to be so")

    (tmp_path / "go0").touch()
    job.out.wait_for("attempt 1 runs", times=2)
    (tmp_path / "go1").touch()
    assert job.end() == 0
    assert f"0 of 2 ranks from standby, first line after" in job.err.text and f"ranks 0-1 started cold: {why}" in job.err.text


@pytest.mark.parametrize("end", ["success", "TERM", "KILL of the agent"])
def test_no_standby_outlives_its_job(start, program, muster, tmp_path, end):
    job = start(program(CRASHES), tmp_path, 0)
    job.err.wait_for(READY)
    standbys = standbys_of(job)
    assert len(standbys) == 2
    if end == "success":
        (tmp_path / "go0").touch()
    elif end == "TERM":
        os.kill(job.guard(), signal.SIGTERM)
    else:
        os.kill(job.agent(), signal.SIGKILL)
    job.end()
    assert not any(processes.is_alive(pid) for pid in standbys)
    muster.assert_no_survivors()


def test_without_a_restart_to_come_there_is_no_standby(start, program, tmp_path):
    job = start(program(CRASHES), tmp_path, 1)

    assert crash_and_restart(job, tmp_path) == 0
    assert job.err.text.count(READY) == 1


def test_a_standby_waits_with_less_priority(start, program, tmp_path):
    job = start(program(CRASHES), tmp_path, 0, ranks=1, through=())
    standby = wait_until(lambda: standbys_of(job), "a standby")[0]

    def has_less():
        score = Path(f"/proc/{standby}/oom_score_adj").read_text().strip()
        return score == "1000" and os.sched_getscheduler(standby) in (os.SCHED_IDLE, os.SCHED_OTHER)

    wait_until(has_less, "the standby to have less priority")
    (tmp_path / "go0").touch()
    assert job.end() == 0


def test_other_programs_are_left_alone(muster, tmp_path):
    job = muster.start("--max-restarts=1", "--standby=auto", "--standby-after=0", "--", "sh", "-c", "env; sleep 0.2", "--api-token=secret")

    assert job.end() == 0
    assert "PYTHONPATH" not in job.out.text and "_MUSTER_STANDBY" not in job.out.text
    assert [line for line in job.said if "standby" in line] == [
        "no standbys for 'sh -c env; sleep 0.2 --api-token=***': it does not begin with Python"
    ]


@pytest.mark.parametrize("value", ["yes,", "on off", "a..b", "../x", "1a"])
def test_what_is_no_module_is_refused(muster, value):
    job = muster.run(f"--standby={value}", "--", "true")

    assert job.code == 64
    assert "expected off, auto, or modules of Python such as torch,numpy.linalg" in job.err.text


def test_status_and_events_tell_of_standbys(start, program, muster, tmp_path):
    job = start(program(CRASHES), tmp_path, 1, env={"MUSTER_EVENTS": tmp_path / "events"})
    job.err.wait_for(READY)
    status = muster.run("status", f"--job={job.guard()}")
    document = json.loads(muster.run("status", "--json", f"--job={job.guard()}").out.text)

    assert "2 standbys ready" in status.out.text
    assert document["nodes"][0]["standbys"] == 2
    assert crash_and_restart(job, tmp_path) == 0
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    started = [(one["attempt"], one.get("text")) for one in events if one["event"] == "worker started"]
    assert sorted(started, key=str) == [(0, None), (0, None), (1, "from standby"), (1, "from standby")]


def test_a_program_that_changes_while_it_runs_is_started_cold(start, program, libraries, tmp_path):
    text = "import os, signal; os.environ['LEAK'] = '1'; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]); signal.signal(signal.SIGUSR1, signal.SIG_IGN)\nkept = os.open('/dev/null', os.O_RDONLY); os.set_inheritable(kept, True); print('imported', flush=True)"
    path = program("import changes\n" + CRASHES)
    job = start(path, tmp_path, 1, env=libraries(changes=text))
    job.err.wait_for(READY)
    state = "import pathlib; print([line for line in pathlib.Path('/proc/self/status').read_text().split('\\n') if line.startswith(('SigBlk', 'SigIgn'))], os.environ.get('LEAK'), sorted(os.listdir('/proc/self/fd')), flush=True)\n"
    path.write_text("import sys\nsys.modules['tomllib'] = None\nimport os\n" + state + CRASHES.replace('"runs"', '"runs anew"'))
    (tmp_path / "go0").touch()
    job.err.wait_for("of 2 ranks from standby")
    (tmp_path / "go1").touch()

    assert job.end() == 0
    assert job.out.text.count("attempt 1 runs anew") == 2
    assert f"0 of 2 ranks from standby, first line after" in job.err.text
    assert f"ranks 0-1 started cold: {path} has changed" in job.err.text
    assert job.out.text.count("['SigBlk:\\t0000000000000000', 'SigIgn:\\t0000000001001000'] None ['0', '1', '2', '3']") == 2, job.out.text


def copy_python(folder):
    """Another file of the same interpreter, which finds its libraries where that one does."""
    folder.mkdir()
    return Path(shutil.copy(os.path.realpath(PYTHON), folder / "python3"))


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("program_changes", [False, True])
def test_a_python_that_was_replaced_is_started_anew(start, program, tmp_path, is_link, program_changes):
    python = copy_python(tmp_path / "bin")
    called = python
    if is_link:
        called = tmp_path / "python3"
        called.symlink_to(python)
    path = program(CRASHES)
    job = start(path, tmp_path, 1, python=(called,))
    job.err.wait_for(READY)
    os.replace(copy_python(tmp_path / "new"), python)
    if program_changes:
        path.write_text(CRASHES + "\n")
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()

    assert job.end() == 0
    assert job.out.text.count("attempt 1 runs") == 2
    assert f"ranks 0-1 started cold: {path if program_changes else called} has changed" in job.err.text


def test_a_python_that_cannot_start_is_named(start, program, tmp_path):
    python = copy_python(tmp_path / "bin")
    job = start(program(CRASHES), tmp_path, 1, python=(python,))
    job.err.wait_for(READY)
    python.unlink()
    python.touch(0o755)
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()

    assert job.end() == 127
    assert f"muster: cannot start {python}: Exec format error" in job.err.text


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_restart_in_a_folder_that_was_replaced(start, program, tmp_path, is_moved):
    path = program(CRASHES.replace('"runs"', '"runs in", os.getcwd()'))
    folder = tmp_path / "work"
    folder.mkdir()
    job = start(path, tmp_path, 1, cwd=folder)
    job.out.wait_for("attempt 0 runs in", 2)
    job.err.wait_for(READY)
    if is_moved:  # a new folder under the old name, which still has a name of its own
        folder.rename(tmp_path / "old")
    else:
        folder.rmdir()
    folder.mkdir()
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()

    assert job.end() == 0, job.err.text
    assert job.out.text.count(f"attempt 1 runs in {folder}") == 2
    assert "ranks 0-1 started cold: its working directory was replaced" in job.err.text


def test_a_search_path_that_cannot_be_read_is_a_cold_start(start, program, libraries, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    environment = {"PYTHONPATH": f"{shared}:{libraries(looks='')['PYTHONPATH']}"}
    job = start(program("import looks\n" + CRASHES), tmp_path, 1, env=environment)
    job.err.wait_for(READY)
    shared.rmdir()
    shared.symlink_to(shared)
    (tmp_path / "go0").touch()
    (tmp_path / "go1").touch()

    assert job.end() == 0
    assert "ranks 0-1 started cold: looking for changes failed: Too many levels of symbolic links" in job.err.text


@pytest.mark.parametrize(
    "before",
    [
        "class Settings:\n    __import__('sys').modules['tomllib'] = None",
        "def set_up(x=__import__('os').environ.setdefault('X_SET', '1')): pass",
        "@print\ndef end(): pass",
        "def set_up(x: print()): pass",
    ],
)
def test_code_in_a_definition_is_other_code(start, program, tmp_path, before):
    job = start(program(before + CRASHES), tmp_path, 0)

    job.err.wait_for("program.py runs other code in line")
    (tmp_path / "go0").touch()
    assert job.end() == 0


def test_a_warning_about_the_program_comes_once(start, program, tmp_path):
    job = start(program(CRASHES + "\nx = '\\d'\n"), tmp_path, 1, env={"PYTHONWARNINGS": "always"})

    assert crash_and_restart(job, tmp_path) == 0
    assert "2 of 2 ranks from standby" in job.err.text
    assert job.err.text.count("invalid escape sequence") == 4
