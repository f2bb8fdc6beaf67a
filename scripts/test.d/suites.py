"""The kinds of suites, how one is run, and what is read from its end: which tests there were and which of them failed."""

import contextlib
import os
import pathlib
import signal
import subprocess
import threading
import time
import xml.etree.ElementTree
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
HANG = 2400  # seconds; a suite of thousands of tests that each have a deadline of their own
_groups = set()  # process groups that are to end with this program
_is_ending = threading.Event()


@dataclass
class Outcome:
    """The end of a suite. `failed` names its failed tests; `broken` says why it ended although it named none."""

    suite: object
    passed: int = 0
    left_out: int = 0  # tests that another tier runs
    needs_root: int = 0  # tests that were skipped, since only root can run them
    failed: list = field(default_factory=list)
    broken: str = ""
    seconds: float = 0.0
    log: pathlib.Path = None


class Pytest:
    """Test files under pytest. `workers` of them run side by side, a file at a time."""

    limit = HANG

    def __init__(self, name, paths, select="", workers=1, env=None, root=ROOT):
        self.name = name
        self._paths = [str(path) for path in paths]
        self._select = select
        self._workers = workers
        self._env = env or {}
        self._root = root

    def command(self, folder):
        selection = ["-m", self._select] if self._select else []
        lanes = ["-n", str(self._workers), "--dist", "loadfile"] if self._workers > 1 else []
        noted = [f"--junit-xml={folder / self.name}.xml", "-o", "junit_family=xunit2"]
        return [*_PYTEST, f"--rootdir={self._root}", *selection, *lanes, *noted, "--durations=10", "--durations-min=1", *self._paths]

    def environment(self, folder):
        return {**self._env, "TEST_IDS": str(folder / f"{self.name}.ids"), "COLUMNS": "200"}  # so that reasons are not cut off

    def again(self, test, folder):
        return [*_PYTEST, f"--rootdir={self._root}", f"{self._root}/{test}"]  # ids are paths from the root

    def outcome(self, status, folder):
        """Ids are noted by scripts/dev/pytest_no_skip.py, since a report in XML does not have them."""
        outcome = Outcome(self)
        lines = _lines_of(folder / f"{self.name}.ids")
        outcome.failed = sorted({line[7:] for line in lines if line.startswith("failed ")})
        passed = {line[7:] for line in lines if line.startswith("passed ")}
        outcome.passed = len(passed - set(outcome.failed))
        outcome.needs_root = len({line for line in lines if line.startswith("skipped ")})
        outcome.left_out = max((int(line[11:]) for line in lines if line.startswith("deselected ")), default=0)
        if status not in (0, 1) or (status == 1 and not outcome.failed):
            outcome.broken = f"pytest ended with {status}"
        elif not lines:
            outcome.broken = "no test was run"
        return outcome


class GoogleTest:
    """One executable of GoogleTest's. A test that hangs is the last one that its log begins."""

    limit = 300

    def __init__(self, executable):
        self._executable = str(executable)
        self.name = pathlib.Path(executable).name

    def command(self, folder):
        return [self._executable, f"--gtest_output=xml:{folder / self.name}.xml"]

    def environment(self, _folder):
        return {}

    def again(self, test, folder):
        # With a report, since a test that is skipped again ends with 0 as well.
        return [self._executable, f"--gtest_filter={test}", f"--gtest_output=xml:{folder / self.name}.xml"]

    def outcome(self, status, folder):
        outcome = Outcome(self)
        try:
            report = xml.etree.ElementTree.parse(folder / f"{self.name}.xml")
        except (OSError, xml.etree.ElementTree.ParseError):
            outcome.broken = f"it ended with {status} and left no report"
            return outcome
        for case in report.iter("testcase"):
            was_run = case.get("status") == "run" and case.get("result") == "completed"
            if case.find("failure") is not None or not was_run:  # a skipped test is a failed one
                outcome.failed.append(f"{case.get('classname')}.{case.get('name')}")
            else:
                outcome.passed += 1
        if status != 0 and not outcome.failed:
            outcome.broken = f"it ended with {status}"
        elif outcome.passed + len(outcome.failed) == 0:
            outcome.broken = "no test was run"
        return outcome


class Check:
    """A command that has no tests, such as a linter. It computes all the time, so it takes only what the suites beside it leave."""

    limit = HANG

    def __init__(self, name, command):
        self.name = name
        self._command = command

    def command(self, _folder):
        # The scheduler may treat each session as a group: then the group's priority counts first, and the process's only within.
        return ["sh", "-c", 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 "$@"', "sh", *self._command]

    def environment(self, _folder):
        return {}

    def outcome(self, status, _folder):
        return Outcome(self, broken="" if status == 0 else f"it ended with {status}")


# Debian's Python, for which the packages of the tests are.
_PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "pytest_no_skip", "-p", "no:cacheprovider", "-q", "-ra"]


def _lines_of(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def run_command(command, log, env, limit=HANG):
    """The exit status of a command whose output goes to a file, or to ours where that is None. It leads a process group, which ends
    with it and with us."""
    with open(log, "wb") if log else contextlib.nullcontext() as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file and subprocess.STDOUT,
            env={**os.environ, **env}, start_new_session=True,
        )  # fmt: skip
        _groups.add(process.pid)
        if _is_ending.is_set():
            end_group(process.pid)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"a hang: it did not end within {limit} s"
        finally:
            end_group(process.pid)
            _groups.discard(process.pid)


def end_group(group, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def end_all_groups():
    """Ends what still runs when this program is interrupted: by TERM first, at which pytest ends what its tests have started."""
    _is_ending.set()
    for number, pause in ((signal.SIGTERM, 3), (signal.SIGKILL, 0)):
        for group in list(_groups):
            end_group(group, number)
        if _groups:
            time.sleep(pause)


def run_suite(suite, folder, env):
    log = folder / f"{suite.name}.log"
    for old in (folder / f"{suite.name}.xml", folder / f"{suite.name}.ids"):
        old.unlink(missing_ok=True)
    began = time.monotonic()
    status = run_command(suite.command(folder), log, {**env, **suite.environment(folder)}, suite.limit)
    outcome = suite.outcome(status, folder)
    outcome.seconds, outcome.log = time.monotonic() - began, log
    return outcome


def run_lanes(lanes, folder, env, tell):
    """Runs the suites of each lane one after the other, the lanes side by side. Calls `tell` with each outcome."""
    outcomes, turn = [], threading.Lock()

    def drive(suites):
        for suite in suites:
            try:
                outcome = run_suite(suite, folder, env)
            except Exception as error:  # a lane that ended by it would be a green one
                outcome = Outcome(suite, broken=f"it could not be run: {error!r}", log=folder / f"{suite.name}.log")
                outcome.log.touch()
            with turn:
                outcomes.append(outcome)
                with contextlib.suppress(OSError, ValueError):  # such as a terminal that is gone: the verdict counts
                    tell(outcome)

    threads = [threading.Thread(target=drive, args=(lane,), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
