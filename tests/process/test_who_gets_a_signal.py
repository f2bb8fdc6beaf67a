"""Which processes of a worker get a signal: its programs once, and their helpers only when they have ended."""

import os
import signal

import pytest

from support.deadlines import wait_until

# Notes each signal under its name. Asked to end, it saves, which takes until a file is there. With "helps" it has a helper, and fails, as
# a trainer with data loaders does, if that ends first.
NOTE = r"""
import os, signal, subprocess, sys, time
name, folder, *more = sys.argv[1:]
file = os.open(folder + "/notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
asked = []
def note(text):
    os.write(file, f"{name} {text}\n".encode())
def on_signal(number, frame):
    note("got " + signal.Signals(number).name[3:])
    asked.extend([number] if number in (signal.SIGTERM, signal.SIGHUP) else [])
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, on_signal)
helper = subprocess.Popen([sys.executable, __file__, "helper", folder]) if more else None
note("ready")
while not asked or not os.path.exists(folder + "/go"):
    time.sleep(0.005)
    if helper and helper.poll() is not None:
        sys.exit("a helper ended before its program")
if helper:
    helper.kill()
os.write(1, b"what it has saved\n")
note("saved")
"""


class Notes:
    """What the programs of one test have noted."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "note.py").write_text(NOTE)

    def command(self, name, *more):
        return " ".join(map(str, ("python3", self.folder / "note.py", name, self.folder, *more)))

    def lines(self):
        file = self.folder / "notes"
        return file.read_text().splitlines() if file.exists() else []

    def wait_for(self, *lines):
        wait_until(lambda: set(lines) <= set(self.lines()), lambda: f"{lines}; noted is {self.lines()}")

    def let_them_save(self):
        (self.folder / "go").touch()

    def signals_of(self, name):
        return [line.split()[-1] for line in self.lines() if line.startswith(f"{name} got ")]


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


PROGRAMS = {
    "program": "{a}",
    "program with a helper": "{helps}",
    "sh": "sh -c '{a}; true'",
    "sh with a helper below": "sh -c '{helps}; true'",
    "sh that executes it": "sh -c 'exec {a}'",
    "bash in sh": 'sh -c "bash -c \\"{a}; true\\"; true"',
    "sh with two": "sh -c '{a} & {b} & wait'",
    "sh with a pipe": "sh -c '{a} >log | {b}; true'",  # b may save first, and a writes then
    "sh with tee": "sh -c '{a} | tee log; true'",
    "sh in sh with tee": 'sh -c "sh -c \\"{a} | tee log\\"; true"',
    "bash that handles it": "bash -c 'trap : TERM HUP USR1; {a}; true'",
    "bash that passes it on": "bash -c 'for one in TERM HUP USR1 USR2; do trap \"kill -$one \\$!\" $one; done; "
    "{a} & while kill -0 $!; do wait; done'",
    "bash that passes it on and ends": "bash -c 'for one in TERM HUP; do trap \"kill -$one \\$!; exit 1\" $one; done; {a} & wait'",
    "bash with jobs that passes it on": "bash -c 'set -m; trap \"kill \\$!; wait\" TERM; {a} & wait'",
    "bash that ignores it": "bash -c 'trap \"\" USR2; {a}; true'",
    "runner that waits": "env timeout --foreground 1000 {a}",
    "runner that ends": "python3 -c 'import subprocess, sys; subprocess.run(sys.argv[1].split())' '{a}'",
}


def start(muster, notes, kind, *options):
    line = PROGRAMS[kind].format(a=notes.command("a"), b=notes.command("b"), helps=notes.command("a", "helps"))
    job = muster.start(*options, "--", "sh", "-c", f"exec {line}")
    names = ["a", "b"] if "two" in kind or "a pipe" in kind else ["a"]
    notes.wait_for(*(f"{name} ready" for name in names), *(["helper ready"] if "helper" in kind else []))
    return job, names


@pytest.mark.kernel
@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_request_to_end_reaches_each_program_once(muster, notes, kind, number):
    job, names = start(muster, notes, kind)
    name_of_signal = number.name.removeprefix("SIG")

    job.signal(number)
    notes.wait_for(*(f"{name} got {name_of_signal}" for name in names))
    job.err.wait_for("to end (")
    notes.let_them_save()

    assert job.end() == 128 + number
    assert {name: notes.signals_of(name) for name in names} == {name: [name_of_signal] for name in names}
    assert {f"{name} saved" for name in names} <= set(notes.lines())
    assert notes.signals_of("helper") == []


@pytest.mark.parametrize("kind", [kind for kind in PROGRAMS if "runner" not in kind])
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2], ids=lambda one: one.name)
def test_a_signal_that_informs_reaches_each_program_once_and_the_job_goes_on(muster, notes, kind, number):
    job, names = start(muster, notes, kind)

    job.signal(number)
    notes.wait_for(*(f"{name} got {number.name.removeprefix('SIG')}" for name in names))
    job.signal(signal.SIGTERM)
    notes.wait_for(*(f"{name} got TERM" for name in names))
    notes.let_them_save()

    assert job.end() == 143
    both = [number.name.removeprefix("SIG"), "TERM"]
    assert {name: notes.signals_of(name) for name in names} == {name: both for name in names}
    assert notes.signals_of("helper") == []


@pytest.mark.parametrize(
    "script",
    [
        "trap 'kill $!' EXIT; {a} & wait",
        "trap 'trap - TERM; kill -TERM 0' TERM EXIT; {a} & wait",
        'bash -c "trap \'trap - TERM; kill \\$!; wait\' TERM; {a} & wait"; true',
    ],
)
def test_what_a_shell_has_told_as_it_ended_is_not_told_again(muster, notes, script):
    job = muster.start("--", "bash", "-c", script.format(a=notes.command("a")))
    notes.wait_for("a ready")

    job.signal(signal.SIGTERM)
    notes.wait_for("a got TERM")
    job.err.wait_for("to end (")
    notes.let_them_save()

    assert job.end() == 143
    assert (notes.signals_of("a"), "a saved" in notes.lines()) == (["TERM"], True)


@pytest.mark.parametrize("handler", ["exit 0", ":"])
def test_what_a_shells_handler_has_not_told_is_asked_within_the_grace(muster, notes, handler):
    job = muster.start("--grace=12", "--", "bash", "-c", f"trap '{handler}' TERM; {notes.command('a')} & wait; wait")
    notes.wait_for("a ready")

    job.signal(signal.SIGTERM)
    notes.wait_for("a got TERM")
    notes.let_them_save()

    assert job.end() == 143
    assert (notes.signals_of("a"), "a saved" in notes.lines()) == (["TERM"], True)


def test_a_notice_is_told_once_by_a_handler_that_is_taken_back(muster, notes):
    script = f"trap 'trap - TERM; kill $!; wait' TERM; {notes.command('a')} & wait"
    job = muster.start("--tell-workers-by=TERM", "--", "bash", "-c", script)
    notes.wait_for("a ready")

    muster.run("suspend", "--job", job.guard(), "--within", 4)
    notes.wait_for("a got TERM")
    job.err.wait_for("to end (")  # more than a second later
    notes.let_them_save()

    assert job.end() == 85
    assert (notes.signals_of("a"), "a saved" in notes.lines()) == (["TERM"], True)


def test_helpers_of_a_program_that_does_not_end_are_asked_before_they_are_killed(muster, notes):
    job, _ = start(muster, notes, "program with a helper", "--grace=0.2")

    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert notes.signals_of("a") == ["TERM"]
    assert notes.signals_of("helper") == ["TERM"]


def test_after_a_failure_the_others_are_asked_as_by_a_signal(muster, notes, tmp_path):
    fails = f"if [ $RANK = 1 ]; then until [ -e {tmp_path}/fail ]; do sleep 0.01; done; exit 7; fi"
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", f"{fails}; {notes.command('a', 'helps')}; true")
    notes.wait_for("helper ready", "a ready")

    (tmp_path / "fail").touch()
    notes.wait_for("a got TERM")
    notes.let_them_save()

    assert job.end() == 7
    assert "a saved" in notes.lines()
    assert (notes.signals_of("a"), notes.signals_of("helper")) == (["TERM"], [])


@pytest.mark.parametrize("line", ["{a} | tee log", "{a} | grep --line-buffered . | tee log", "exec > >(tee log); {a}; true"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1], ids=lambda one: one.name)
def test_who_reads_what_a_program_writes_while_it_saves_gets_no_signal(muster, notes, line, number, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text(line.format(a=notes.command("a").replace("note.py", "talk.py")))
    (tmp_path / "talk.py").write_text(NOTE.replace('    note("got', '    print("asked", flush=True)\n    note("got'))
    job = muster.start("--", "bash", script)
    notes.wait_for("a ready")

    job.signal(number)
    notes.wait_for(f"a got {number.name.removeprefix('SIG')}")
    job.out.wait_for("asked")
    if number != signal.SIGTERM:
        job.signal(signal.SIGTERM)
        job.out.wait_for("asked", times=2)
    notes.let_them_save()

    assert job.end() == 143
    assert "a saved" in notes.lines()
    assert (tmp_path / "log").read_text() == job.out.text


def test_the_guard_of_a_stopped_agent_asks_the_program_alone(muster, notes):
    job, _ = start(muster, notes, "sh with a helper below")
    agent = job.agent()
    os.kill(agent, signal.SIGSTOP)

    job.signal(signal.SIGTERM)
    notes.wait_for("a got TERM")
    os.kill(agent, signal.SIGCONT)
    notes.let_them_save()

    assert job.end() == 143
    assert (notes.signals_of("a"), notes.signals_of("helper")) == (["TERM"], [])
    assert "a saved" in notes.lines()
