"""Runs a case under torchrun and under muster: in a folder of its own, in sessions of its own."""

import itertools
import json
import os
import pathlib
import random
import shlex
import signal
import socket
import subprocess
import threading
import time

from launcher_cases.case import Run

# Below those that the kernel gives away by itself.
PORTS = itertools.count(random.randrange(12000, 28000, 2), 2)
HERE = pathlib.Path(__file__).parent


class Torchrun:
    """Starts torchrun by torchrun_server.py."""

    def __init__(self, python):
        self.process = subprocess.Popen(
            [python, HERE / "torchrun_server.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.changed = threading.Condition()
        self.starting = threading.Lock()
        self.started = []
        self.codes = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            what = json.loads(line)
            with self.changed:
                if "started" in what:
                    self.started.append(what["started"])
                else:
                    self.codes[what["ended"]] = what["code"]
                self.changed.notify_all()

    def start(self, launcher, argv, **place):
        """The pid; `place` is environment, cwd, out and err."""
        with self.starting, self.changed:
            count = len(self.started)
            self.process.stdin.write(json.dumps({"module": launcher, "argv": argv, **place}) + "\n")
            self.process.stdin.flush()
            assert self.changed.wait_for(lambda: len(self.started) > count, 60), "no start in 60 s"
            return self.started[count]

    def code(self, pid, seconds):
        """Its exit code, or None if it did not end in so many seconds."""
        with self.changed:
            self.changed.wait_for(lambda: pid in self.codes, max(0.0, seconds))
            return self.codes.get(pid)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Muster:
    """The same of muster."""

    def __init__(self, program):
        self.program = program
        self.processes = {}

    def start(self, launcher, argv, environment, cwd, out, err):
        with open(out, "ab") as output, open(err, "ab") as error:
            process = subprocess.Popen(
                [self.program, launcher, *argv],
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=error,
                start_new_session=True,
            )
        self.processes[process.pid] = process
        return process.pid

    def code(self, pid, seconds):
        try:
            return self.processes[pid].wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None

    def close(self):
        pass


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def free_port():
    """One that is free with the one above it, where muster's agents meet; no other case of this run gets it."""
    return next(port for port in PORTS if is_free(port) and is_free(port + 1))


def processes_of(mark):
    """{pid: command line} of living processes whose environment has the mark."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or mark not in (entry / "environ").read_bytes():
                continue
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                continue
            found[int(entry.name)] = (
                (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            )
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


class Play:
    """One case under one launcher."""

    def __init__(self, case, launcher, path, folder):
        self.case = case
        self.launcher = launcher
        self.folder = folder
        (folder / "out").mkdir(parents=True)
        (folder / "tmp").mkdir()
        (folder / "w.py").write_text(case.script)
        self.mark = f"CASE={folder}\0".encode()
        port = str(free_port())
        own = {
            "PATH": f"{path}:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(folder / "tmp"),
            "OUT": str(folder / "out"),
            "CASE": str(folder),
        }
        own.update(case.environment)
        self.environment = {k: self._filled(v, port) for k, v in own.items()}
        self.port = port
        self.pids = []

    def _filled(self, text, port):
        return text.replace("{port}", port).replace("{folder}", str(self.folder))

    def run(self):
        self.begin = time.monotonic()
        for line in self.case.lines():
            self._start(line)
        for step in self.case.steps:
            self._step(step)
        codes = [self._code(pid) for pid in self.pids]
        seconds = time.monotonic() - self.begin
        survivors = self._end_survivors()
        agents = range(len(self.pids))
        outs, errs = ([self._text(i, kind) for i in agents] for kind in ("out", "err"))
        return Run(codes, outs, errs, self.folder, seconds, survivors)

    def _start(self, line):
        place = self.folder / f"agent{len(self.pids)}"
        pid = self.launcher.start(
            self.case.launcher,
            shlex.split(self._filled(line, self.port)),
            environment=self.environment,
            cwd=str(self.folder),
            out=f"{place}.out",
            err=f"{place}.err",
        )
        self.pids.append(pid)

    def _code(self, pid):
        code = self.launcher.code(pid, self._left())
        if code is None:
            os.kill(pid, signal.SIGKILL)
        return code

    def _left(self):
        return self.begin + self.case.deadline - time.monotonic()

    def _text(self, agent, kind):
        return (self.folder / f"agent{agent}.{kind}").read_text(errors="replace")

    def _step(self, step):
        if step[0] == "wait":
            while not (self.folder / "out" / step[1]).exists() and self._left() > 0:
                time.sleep(0.02)
        elif step[0] == "start":
            self._start(step[1])
        else:
            os.kill(self.pids[step[2]], getattr(signal, step[1]))

    def _end_survivors(self):
        """The processes that still exist two seconds after the end; they need a moment to be gone."""
        until = time.monotonic() + 2
        while (found := processes_of(self.mark)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return list(found.values())
