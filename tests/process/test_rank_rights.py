"""What a rank has named is run and opened with no more rights than the rank has (docs/hangs.md, SECURITY.md)."""

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from support.deadlines import wait_until
from support.muster import binary
from support.processes import is_alive

RECORDED = Path(__file__).parents[1] / "unit/hang/data/py-spy-0.4.3.json"
OLDER_PYTHON = "/usr/bin/python3"

# Notes its rights, and answers as the real one has answered.
PY_SPY = """#!/bin/sh
(: </dev/tty) 2>/dev/null && touch '{folder}/'has-terminal
grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapBnd|NoNewPrivs):' /proc/self/status > '{folder}/'ran.$$
echo "secret ${{SECRET-none}} in $PWD" >> '{folder}/'ran.$$
mv '{folder}/'ran.$$ '{folder}/'rights.$$
sed "s/7535/$5/" '{folder}/recorded.json'
"""

WAITS = "import signal; print('ready', flush=True); signal.pause()"
DROPS = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534); " + WAITS
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def folder():
    """A folder of everybody with an older Python, as in a virtual environment, and a py-spy beside it."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o777)
        (made / "python3").symlink_to(OLDER_PYTHON)
        shutil.copy(RECORDED, made / "recorded.json")
        py_spy = made / "py-spy"
        py_spy.write_text(PY_SPY.format(folder=made))
        py_spy.chmod(0o755)
        yield made


@pytest.fixture
def document_of(muster):
    def ask(job):
        answer = muster.run("stacks", f"--job={job.guard()}", "--json")
        assert answer.code == 0, answer.words()
        return json.loads(answer.out.text)

    return ask


@pytest.fixture
def ask_until_read(document_of):
    """Asks until each rank has a stack: on a busy machine py-spy may be late."""

    def ask(job):
        def groups():
            found = document_of(job)["stacks"]
            return found if all(group.get("stack") for group in found) else None

        return wait_until(groups, "the stacks of all ranks")

    return ask


def rights_in(folder):
    """The fields of /proc/PID/status of each py-spy that has run, each different one once."""
    found = [path.read_text().splitlines() for path in sorted(folder.glob("rights.*"))]
    fields = [dict(line.split(":", 1) if ":" in line else ("secret", line) for line in lines) for lines in found]
    return [one for i, one in enumerate(fields) if one not in fields[:i]]


def end(job):
    job.signal(signal.SIGTERM)
    assert job.end() == 143


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("by_path", [False, True], ids=["beside its Python", "in its PATH"])
def test_a_worker_of_another_user_names_a_program_that_runs_as_that_user(muster, ask_until_read, folder, by_path):
    python = OLDER_PYTHON if by_path else folder / "python3"
    path = {"PATH": f"{folder}:{os.environ['PATH']}"} if by_path else {}
    job = muster.start(
        "--nproc-per-node=1", "--hang-report=0", "--no-python", "--", *NOBODY, python, "-c", WAITS,
        env={"SECRET": "of root", **path},
    )
    job.out.wait_for("ready")

    ask_until_read(job)  # it has answered about the user's own process

    (ran,) = rights_in(folder)
    assert ran["Uid"].split() == ran["Gid"].split() == ["65534"] * 4
    assert ran["Groups"].split() == []
    assert {int(ran[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {0}
    assert ran["NoNewPrivs"].split() == ["1"]
    assert ran["secret"] == "secret none in /"
    end(job)


def test_a_program_that_a_rank_names_has_no_terminal(muster, terminal, document_of, folder):
    """Who has one can type into the shell of its owner."""
    options = ["--nproc-per-node=2", "--hang-report=0", "--no-python"]
    one = terminal(binary(), *options, "--", *NOBODY, folder / "python3", "-c", WAITS)
    one.screen.wait_for("ready", times=2)

    wait_until(lambda: rights_in(folder) or muster.run("stacks", f"--job={one.pid}") and None, "py-spy")

    assert not (folder / "has-terminal").exists()
    os.kill(one.pid, signal.SIGTERM)
    assert one.end() == 143


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("dropping", ["from within", "several users", "fewer capabilities"])
def test_whoever_has_fewer_rights_gets_none_of_root(muster, document_of, folder, dropping):
    python = [folder / "python3", "-c", WAITS]
    command = {
        "from within": [folder / "python3", "-c", DROPS],
        "several users": [folder / "python3", "-c", "import os; os.setresuid(65534, 0, 0); " + WAITS],
        "fewer capabilities": ["setpriv", "--bounding-set=-sys_admin", *python],
    }[dropping]
    job = muster.start("--nproc-per-node=1", "--hang-report=0", "--no-python", "--", *command)
    job.out.wait_for("ready")

    (group,) = document_of(job)["stacks"]

    ran = [] if dropping == "several users" else wait_until(lambda: rights_in(folder) or document_of(job) and None, "py-spy")
    if dropping == "several users":
        assert not rights_in(folder)
        assert "py-spy is not asked: it has the rights of several users" in group["no_stack"]
    elif dropping == "from within":
        assert [one["Uid"].split() for one in ran] == [["65534"] * 4]
    else:
        (one,) = ran
        assert one["Uid"].split() == ["0"] * 4
        assert all(int(one[name], 16) & 1 << 21 == 0 for name in ("CapPrm", "CapEff", "CapBnd")), "CAP_SYS_ADMIN"
    end(job)


@pytest.mark.parametrize("within", [[], ["unshare", "--mount"]], ids=["beside muster", "with mounts of its own"])
def test_where_rights_are_equal_the_program_runs_as_it_always_did(muster, ask_until_read, folder, within):
    job = muster.start(
        "--nproc-per-node=1", "--hang-report=0", "--no-python", "--", *within, folder / "python3", "-c", WAITS,
        env={"SECRET": "mine"},
    )
    job.out.wait_for("ready")

    ask_until_read(job)

    (ran,) = rights_in(folder)
    own = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    for name in ("Uid", "Gid", "Groups", "CapPrm", "NoNewPrivs"):
        assert ran[name].split() == own[name].split(), name
    assert ran["secret"].startswith("secret mine in ")
    end(job)


@pytest.mark.parametrize("session", ["", "setsid "], ids=["in its group", "in a session of its own"])
@pytest.mark.parametrize("answers", [True, False], ids=["after its answer", "without an answer"])
def test_what_the_program_leaves_behind_ends_before_the_job(muster, document_of, folder, answers, session):
    left, waiting = folder / "left", "" if answers else "exec sleep 600"
    lines = PY_SPY.format(folder=folder).splitlines()
    lines.insert(1, f"{session}sleep 600 >/dev/null 2>&1 & echo $! > {left}\n{waiting}")
    (folder / "py-spy").write_text("\n".join(lines) + "\n")
    job = muster.start("--nproc-per-node=1", "--hang-report=0", "--no-python", "--", folder / "python3", "-c", WAITS)
    job.out.wait_for("ready")

    wait_until(lambda: document_of(job) and left.exists() and left.read_text(), "py-spy")
    wait_until(lambda: not is_alive(int(left.read_text())), "the end of what py-spy has started")
    end(job)


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize(
    "within",
    [["unshare", "--user", "--map-root-user"], ["unshare", "--mount", *NOBODY], ["unshare", "--net", *NOBODY]],
    ids=["another user namespace", "another user with mounts of its own", "another user without a network"],
)
def test_a_rank_in_a_container_of_its_own_names_no_program(muster, document_of, folder, within):
    job = muster.start(
        "--nproc-per-node=1", "--hang-report=0", "--no-python", "--", *within, folder / "python3", "-c", WAITS
    )
    job.out.wait_for("ready")

    (group,) = document_of(job)["stacks"]

    assert "py-spy is not asked: it is in a container of its own" in group["no_stack"]
    assert not rights_in(folder)
    end(job)


def test_a_pipe_in_place_of_an_interpreter_keeps_nobody_waiting(muster, ask_until_read, folder):
    pretends = folder / "python3x"
    shutil.copy("/bin/sleep", pretends)
    script = f'test "$RANK" = 0 && exec {pretends} 600; exec {folder}/python3 -c "{WAITS}"'
    job = muster.start("--nproc-per-node=2", "--hang-report=0", "--", "sh", "-c", script)
    job.out.wait_for("ready")

    def pretender():
        return [path for path in Path("/proc").glob("[0-9]*/exe") if os.path.realpath(path) == str(pretends)]

    wait_until(pretender, "the program that pretends to be an interpreter")
    pretends.unlink()
    os.mkfifo(f"{pretends} (deleted)")

    groups = ask_until_read(job)

    assert sorted(rank for group in groups for rank in group["ranks"]) == [0, 1]
    end(job)
