"""What workers have written about their end is there after a job that did not succeed (docs/hangs.md#evidence)."""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from support import waiting_ranks

NOBODY = 65534

# Writes a dump as PyTorch's recorder does, and an error file, then ends as the first argument says.
WRITES = """
import json, os, signal, sys
with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + os.environ["RANK"], "w") as dump:
    dump.write("dump of rank " + os.environ["RANK"])
with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as error:
    json.dump({"message": "error of rank " + os.environ["RANK"]}, error)
print("written", flush=True)
"""
ENDS = {
    "fails": "sys.exit(3)",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "hangs": "signal.pause()",
}


def program(end, before=""):
    return ["--", sys.executable, "-c", WRITES + before + "\n" + end]


@pytest.fixture
def home(tmp_path):
    """A home for the workers, where PyTorch puts its dumps without muster."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def kept_at(job, kind="flight recorder"):
    return [one["path"] for one in job.report["evidence"] if one["kind"] == kind]


@pytest.mark.parametrize("how", ENDS)
def test_dumps_are_kept_where_pytorch_would_have_put_them(muster, home, tmp_path, how):
    ends = ["--hang-timeout=1"] if how == "hangs" else []
    end = "all_reduce()" if how == "hangs" else f'os.environ["RANK"] == "1" and {ENDS[how]}; all_reduce()'
    command = ["--no-python", *waiting_ranks.program(tmp_path / "program", f"{WRITES}\n{end}")]
    job = muster.run("--nproc-per-node=2", *ends, *command, env={"HOME": home}, report=True)

    assert job.code == {"fails": 3, "is killed": 137, "hangs": 86}[how], job.words()
    dump = home / ".cache/torch/comm_lib_trace_rank_1"
    assert dump.read_text() == "dump of rank 1"
    assert str(dump) in kept_at(job)
    assert f"kept of rank 1: {dump} (flight recorder)" in job.err.text
    error = tmp_path / "torchelastic_error_rank_1.json"
    assert json.loads(error.read_text()) == {"message": "error of rank 1"}
    assert str(error) in kept_at(job, "error file")


def test_they_are_kept_in_the_log_folder(muster, home, tmp_path):
    logs = tmp_path / "logs"
    job = muster.run("--nproc-per-node=1", f"--log-dir={logs}", *program(ENDS["fails"]), env={"HOME": home}, report=True)

    assert (logs / "attempt_0/comm_lib_trace_rank_0").read_text() == "dump of rank 0"
    assert kept_at(job) == [str(logs / "attempt_0/comm_lib_trace_rank_0")]
    assert kept_at(job, "error file") == [str(logs / "attempt_0/torchelastic_error_rank_0.json")]
    assert not list(home.iterdir())


@pytest.mark.parametrize("end", ["", 'if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0": sys.exit(3)'])
def test_a_job_that_succeeds_leaves_nothing(muster, home, tmp_path, end):
    job = muster.run("--nproc-per-node=1", "--max-restarts=1", *program(end), env={"HOME": home}, report=True)

    assert job.code == 0, job.words()
    assert job.report["evidence"] == []
    assert not list(home.iterdir())
    assert not list(tmp_path.glob("torchelastic*"))


def test_each_failed_attempt_keeps_its_own(muster, home):
    before = 'print(open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + "0", "a").write(os.environ["TORCHELASTIC_RESTART_COUNT"]))'
    job = muster.run(
        "--nproc-per-node=1", "--max-restarts=1", *program(ENDS["fails"], before), env={"HOME": home}, report=True
    )

    folder = home / ".cache/torch"
    assert (folder / "comm_lib_trace_rank_0").read_text() == "dump of rank 00"
    assert (folder / "comm_lib_trace_2_rank_0").read_text() == "dump of rank 01"
    assert [one["attempt"] for one in job.report["evidence"] if one["kind"] == "flight recorder"] == [0, 1]


def test_what_is_there_is_left_alone(muster, home, tmp_path):
    folder = home / ".cache/torch"
    folder.mkdir(parents=True)
    (folder / "comm_lib_trace_rank_0").write_text("of another job")
    target = tmp_path / "target"
    (folder / "comm_lib_trace_2_rank_0").symlink_to(target)
    job = muster.run("--nproc-per-node=1", *program(ENDS["fails"]), env={"HOME": home}, report=True)

    assert (folder / "comm_lib_trace_rank_0").read_text() == "of another job"
    assert not target.exists()
    assert kept_at(job) == [str(folder / "comm_lib_trace_3_rank_0")]


@pytest.mark.parametrize("kind", ["os.mkfifo(path)", "os.symlink('/etc/passwd', path)", "os.mkdir(path)"])
def test_what_is_no_file_is_not_copied(muster, home, kind):
    before = f'path = os.environ["TORCH_FR_DUMP_TEMP_FILE"] + "0"; os.unlink(path); {kind}'
    job = muster.run("--nproc-per-node=1", *program(ENDS["fails"], before), env={"HOME": home}, report=True)

    assert job.code == 3, job.words()
    assert kept_at(job) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_copy_belongs_to_the_user_of_the_rank(muster, home, tmp_path):
    home.chmod(0o777)
    tmp_path.chmod(0o1777)
    for folder in [*tmp_path.parents][:3]:
        folder.chmod(folder.stat().st_mode | 0o011)
    before = f'os.chown(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + "0", {NOBODY}, {NOBODY})'
    job = muster.run("--nproc-per-node=1", *program(ENDS["fails"], before), env={"HOME": home}, report=True)

    dump = home / ".cache/torch/comm_lib_trace_rank_0"
    assert kept_at(job) == [str(dump)], job.words()
    assert (dump.stat().st_uid, dump.stat().st_gid) == (NOBODY, NOBODY)
    assert dump.parent.stat().st_uid == NOBODY, "made with the same rights"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_rank_of_another_user_does_not_reach_where_it_may_not_write(muster, home, tmp_path):
    tmp_path.chmod(0o700)
    before = f'os.chown(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + "0", {NOBODY}, {NOBODY})'
    job = muster.run("--nproc-per-node=1", *program(ENDS["fails"], before), env={"HOME": home}, report=True)

    assert kept_at(job) == [None]
    assert not list(home.iterdir())
    assert "not kept of rank 0: flight recorder" in job.err.text


def test_a_stopped_job_keeps_them_too(muster, home):
    job = muster.start("--nproc-per-node=1", *program(ENDS["hangs"]), env={"HOME": home}, report=True)
    job.out.wait_for("written")
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert (home / ".cache/torch/comm_lib_trace_rank_0").exists()


OWN_FOLDER = 'folder = os.path.dirname(os.environ["TORCHELASTIC_ERROR_FILE"])\n'
SHOW_FOLDER = OWN_FOLDER + 'print("folder", folder, "here", flush=True)\n'


def own_folder(job):
    """The folder of the rank, which its program has shown."""
    job.out.wait_for(" here\n")
    (line,) = [line for line in job.out.lines if line.endswith(" here")]
    return Path(line.split()[-2])


def test_files_of_other_names_are_kept_too(muster, home, tmp_path):
    before = OWN_FOLDER + 'for name in ["dump_0.json", "nccl_watchdog"]: print(name, file=open(folder + "/" + name, "w"))'
    job = muster.run("--nproc-per-node=1", *program(ENDS["fails"], before), env={"HOME": home}, report=True)

    paths = {str(tmp_path / "rank_0_dump_0.json"), str(tmp_path / "rank_0_nccl_watchdog")}
    assert set(kept_at(job, "other file")) == paths
    assert all(Path(path).read_text() == path.partition("rank_0_")[2] + "\n" for path in paths)


def test_a_core_file_stays_where_it_is(muster, home, tmp_path):
    before = SHOW_FOLDER + 'print("core", file=open(folder + "/core.123", "w"))'
    job = muster.run("--nproc-per-node=1", *program(ENDS["fails"], before), env={"HOME": home}, report=True)

    core = own_folder(job) / "core.123"
    assert kept_at(job, "core file") == [str(core)]
    assert core.read_text() == "core\n"
    shutil.rmtree(core.parent.parent)


def test_a_folder_of_torchruns_takes_dumps_although_no_stream_goes_there(muster, home, tmp_path):
    logs = tmp_path / "logs"
    line = ["torchrun", "--nproc-per-node=1", f"--log-dir={logs}", "--no-python", sys.executable, "-c"]
    job = muster.run(*line, WRITES + ENDS["fails"], env={"HOME": home})

    assert job.code == 3, job.words()
    (dump,) = logs.glob("*/attempt_0/comm_lib_trace_rank_0")
    assert dump.read_text() == "dump of rank 0"
    assert not list(home.iterdir())


def kill_agent(job):
    os.kill(job.agent(), signal.SIGKILL)
    job.end()
    assert job.code == 137, job.words()


def test_the_guard_lets_stay_what_a_rank_has_written(muster, home):
    job = muster.start("--nproc-per-node=1", *program("signal.pause()", SHOW_FOLDER), env={"HOME": home})
    folder = own_folder(job)
    kill_agent(job)

    assert job.said_about("the agent", f"what the ranks wrote about their end is in {folder.parent}")
    assert (folder / "dump_0").read_text() == "dump of rank 0"
    assert [*folder.parent.iterdir()] == [folder]
    shutil.rmtree(folder.parent)


def test_the_guard_removes_a_folder_in_which_nothing_was_written(muster):
    script = "import os, signal\n" + SHOW_FOLDER + "os.mkfifo(folder + '/fr_0.pipe'); print('made', flush=True); signal.pause()"
    job = muster.start("--nproc-per-node=1", "--", sys.executable, "-c", script)
    job.out.wait_for("made")
    folder = own_folder(job)
    kill_agent(job)

    assert "about their end" not in job.err.text
    assert not folder.parent.exists()


# Ranks of root's jobs that drop to another user.

DROPPED = ["--", "setpriv", "--reuid", str(NOBODY), "--clear-groups", sys.executable, "-c"]
STRANGER = NOBODY - 1


def open_to_all(tmp_path):
    tmp_path.chmod(0o1777)
    for folder in [*tmp_path.parents][:3]:
        folder.chmod(folder.stat().st_mode | 0o011)


def as_stranger(work):
    """True if the work of another user went through."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            work()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("has_logs", [False, True])
def test_what_a_rank_that_has_dropped_wrote_is_kept(muster, home, tmp_path, has_logs):
    open_to_all(tmp_path)
    logs = tmp_path / "logs"
    options = [f"--log-dir={logs}"] if has_logs else []
    script = WRITES + SHOW_FOLDER + ENDS["fails"]
    job = muster.run("--nproc-per-node=1", *options, *DROPPED, script, env={"HOME": home}, report=True)

    place = logs / "attempt_0" if has_logs else tmp_path
    dump = place / "comm_lib_trace_rank_0"
    error = place / "torchelastic_error_rank_0.json"
    assert (kept_at(job), kept_at(job, "error file")) == ([str(dump)], [str(error)]), job.words()
    assert [dump.stat().st_uid, error.stat().st_uid] == [NOBODY, NOBODY]
    assert "error of rank 0" in job.err.text
    assert not own_folder(job).parent.exists()


def test_nothing_is_left_of_a_rank_that_has_dropped_and_succeeded(muster, home, tmp_path):
    open_to_all(tmp_path)
    job = muster.run("--nproc-per-node=1", *DROPPED, WRITES + SHOW_FOLDER, env={"HOME": home}, report=True)

    assert job.code == 0, job.words()
    assert job.report["evidence"] == []
    assert not own_folder(job).parent.exists()


def test_a_stranger_does_not_find_the_folder_and_puts_no_evidence_there(muster, home, tmp_path):
    open_to_all(tmp_path)
    script = SHOW_FOLDER.join(["import os, signal\n", "signal.pause()"])
    job = muster.start("--nproc-per-node=1", *DROPPED, script, env={"HOME": home}, report=True)
    folder = own_folder(job)

    assert not as_stranger(lambda: os.listdir(folder.parent))
    assert not as_stranger(lambda: os.listdir(folder))
    secret = Path(folder.parent, "secret")  # on the same file system
    secret.write_text("of root")
    assert as_stranger(lambda: (folder / "dump_0").write_text("false")), "one who has seen its name"
    assert as_stranger(lambda: (folder / "link").symlink_to(secret))
    os.link(secret, folder / "error_0.json")  # as where the kernel does not protect from this
    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert kept_at(job) == [None], job.words()
    assert kept_at(job, "error file") == kept_at(job, "other file") == []
    assert f"it belongs to user {STRANGER}, who is not the rank's" in job.err.text
