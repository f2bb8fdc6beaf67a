"""The report as JSON (--report) and as text, and the error files of workers."""

import json
import os
import signal
import socket

import pytest

from support.deadlines import promise

TORCH_ERROR = {
    "message": {
        "message": "RuntimeError: x",
        "extraInfo": {
            "py_callstack": "Traceback (most recent call last):\n  ...",
            "timestamp": "123",
        },
    }
}
KEYS = {"verdict", "exit_code", "attempt", "reason", "first_failure", "workers"}
FAILURE_KEYS = {
    "node",
    "host",
    "role",
    "global_rank",
    "local_rank",
    "pid",
    "exit_code",
    "signal",
    "run_time_s",
    "stderr_tail",
    "hints",
}


def test_a_failure_by_a_signal(muster, worker):
    script = f"""if [ $RANK = 2 ]; then echo last words >&2; exec {worker("raise_signal")} 6; fi
                 exec sleep 100"""

    job = muster.run("--nproc-per-node=4", "--", "sh", "-c", script, report=True)

    report = job.report
    first = report["first_failure"]
    assert KEYS <= set(report)
    assert (report["verdict"], report["exit_code"], report["attempt"]) == ("failed", 134, 0)
    assert report["reason"] == "worker failed"
    assert FAILURE_KEYS <= set(first)
    assert (first["node"], first["host"], first["role"]) == (0, socket.gethostname(), "worker")
    assert (first["global_rank"], first["local_rank"]) == (2, 2)
    assert (first["exit_code"], first["signal"]) == (None, "SIGABRT")
    assert first["pid"] > 0
    assert first["run_time_s"] >= 0
    assert first["stderr_tail"] == ["last words"]
    assert isinstance(first["hints"], list)
    outcomes = {one["global_rank"]: (one["outcome"], one["signal"]) for one in report["workers"]}
    assert outcomes == {
        0: ("stopped", "SIGTERM"),
        1: ("stopped", "SIGTERM"),
        2: ("failed", "SIGABRT"),
        3: ("stopped", "SIGTERM"),
    }


def test_a_failure_by_an_exit_code(muster, worker):
    job = muster.run("--nproc-per-node=2", "--", worker("fail_on_rank"), 1, 3, report=True)

    first = job.report["first_failure"]
    assert (first["global_rank"], first["exit_code"], first["signal"]) == (1, 3, None)
    assert job.report["exit_code"] == 3


def test_a_success(muster):
    job = muster.run("--nproc-per-node=3", "--", "true", report=True)

    report = job.report
    assert KEYS <= set(report)
    assert (report["verdict"], report["exit_code"], report["first_failure"]) == (
        "succeeded",
        0,
        None,
    )
    assert [(one["global_rank"], one["outcome"]) for one in report["workers"]] == [
        (rank, "succeeded") for rank in range(3)
    ]


def test_a_stop_from_outside(muster, worker):
    job = muster.start("--nproc-per-node=2", "--", worker("echo_signals"), 5, report=True)
    job.out.wait_for("ready", times=2)

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143
    report = job.report
    assert (report["verdict"], report["exit_code"], report["first_failure"]) == (
        "stopped",
        143,
        None,
    )
    assert {one["outcome"] for one in report["workers"]} == {"stopped"}


@pytest.mark.parametrize("code", [3, 65, 71, 78, 93, 127])
def test_the_report_leaves_a_workers_exit_code_to_the_schedulers_policy(muster, code):
    job = muster.run("--", "sh", "-c", f"exit {code}", report=True)

    assert (job.code, job.report["reason"]) == (code, "worker failed")
    assert job.report["advice"] == "apply its policy"
    assert "failed first" in job.err.text


def test_a_program_that_does_not_exist(muster):
    job = muster.run("--nproc-per-node=2", "--", "no-such-program", report=True)

    assert job.code == 127
    assert (job.report["exit_code"], job.report["advice"]) == (127, "not retry")
    assert job.report["verdict"] == "failed"
    assert "never started" in {one["outcome"] for one in job.report["workers"]}


def test_a_report_is_valid_json_whatever_the_worker_wrote(muster, tmp_path):
    (tmp_path / "odd").write_bytes(bytes(range(256)) + '"\\\x1b[31m ☃ '.encode() + b"\xff\xfe\n")

    job = muster.run("--", "sh", "-c", "cat odd >&2; exit 3", report=True)

    assert job.code == 3
    assert any("☃" in line for line in job.report["first_failure"]["stderr_tail"])


def test_a_very_long_last_line_does_not_make_a_very_long_report(muster):
    script = "head -c 20000000 /dev/zero | tr '\\0' x >&2; exit 3"

    job = muster.run("--nproc-per-node=2", "--redirects=2", "--", "sh", "-c", script, report=True)

    assert job.code == 3
    assert len(json.dumps(job.report)) < 1_000_000
    assert len(job.err.bytes) < 1_000_000


def test_an_earlier_report_is_replaced(muster, tmp_path):
    (tmp_path / "report.json").write_text("x" * 100_000)

    muster.run("--report=report.json", "--", "true")

    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "succeeded"


def test_a_report_that_cannot_be_written_is_refused_before_anything_starts(muster, tmp_path):
    path = tmp_path / "missing" / "report.json"

    job = muster.run("--report", path, "--", "touch", "started")

    assert job.code == 64
    assert job.said_about(str(path), "No such file or directory")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("path", "why"),
    [("/dev/full", "No space left on device"), ("/proc/x.json", "No such file or directory")],
)
def test_a_report_path_whose_trial_write_fails_is_refused(muster, tmp_path, path, why):
    job = muster.run("--report", path, "--", "touch", "started")

    assert job.code == 64
    assert job.said_about(path, why)
    assert not (tmp_path / "started").exists()


def test_a_removed_report_folder_does_not_change_the_exit_code(muster, tmp_path):
    (tmp_path / "gone").mkdir()
    job = muster.run("--report=gone/report.json", "--", "sh", "-c", "rmdir gone; exit 3")

    assert job.code == 3
    assert job.said_about("cannot write the report", "No such file or directory")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize(
    "shell", ['exec "$@" >out', 'echo first >out; exec "$@" >>out', '"$@" | cat >out']
)
def test_a_report_goes_where_standard_output_goes(muster, tmp_path, name, shell):
    job = muster.run(f"--report={name}", "--", "echo", "hello", through=["sh", "-c", shell, "sh"])

    assert job.code == 0, job.words()
    lines = (tmp_path / "out").read_text()
    assert json.loads(lines[lines.index("{") :])["verdict"] == "succeeded"
    before = lines[: lines.index("{")].splitlines()
    assert before == (["first", "hello"] if "first" in shell else ["hello"])


def test_a_report_on_standard_error_precedes_the_summary(muster):
    job = muster.run("--report=/dev/stderr", "--", "sh", "-c", "exit 3")

    assert job.code == 3
    document = job.err.text[job.err.text.index("{\n") : job.err.text.rindex("}\n") + 2]
    assert json.loads(document)["exit_code"] == 3
    assert job.err.text.index("failed first") > job.err.text.index(document)


def test_a_report_on_a_descriptor_that_is_not_open_is_refused(muster):
    job = muster.run("--report=/dev/fd/77", "--", "true")

    assert job.code == 64
    assert job.said_about("/dev/fd/77", "Bad file descriptor")


class TestErrorFiles:
    def fail_with(self, muster, tmp_path, content, **options):
        """Runs a worker that leaves these bytes in its error file and fails with 3."""
        (tmp_path / "error").write_bytes(content)
        return muster.run(
            "--",
            "sh",
            "-c",
            'cat error > "$TORCHELASTIC_ERROR_FILE"; exit 3',
            report=True,
            **options,
        )

    def was_read(self, job):
        """Muster waits for half a second, and five more where the machine is busy; what it has not read by then it says."""
        is_late = "the workers' error files are not read" in job.err.text
        promise("an error file that is read", 5.5, 6 if is_late else 0)
        return not is_late

    def test_the_message_of_torch_is_read(self, muster, tmp_path):
        job = self.fail_with(muster, tmp_path, json.dumps(TORCH_ERROR).encode())

        assert job.code == 3
        if self.was_read(job):
            assert "RuntimeError: x" in job.said_about("its error file says")
            assert "RuntimeError: x" in json.dumps(job.report["first_failure"])

    def test_an_error_file_is_read_after_shared_memory_was_cleared(self, muster):
        """As when the user's last login ends, and the job goes on."""
        script = (
            'if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then rm -r "${TORCHELASTIC_ERROR_FILE%/*}";'
            """else echo '{"message": "out of luck"}' > "$TORCHELASTIC_ERROR_FILE"; fi; exit 3"""
        )

        job = muster.run("--max-restarts=1", "--", "sh", "-c", script, report=True)

        assert job.code == 3
        if self.was_read(job):
            assert "out of luck" in job.said_about("its error file says")

    def test_the_short_form_of_an_error_file_is_read(self, muster, tmp_path):
        job = self.fail_with(muster, tmp_path, b'{"message": "out of luck", "timestamp": 123}')

        assert job.code == 3
        if self.was_read(job):
            assert "out of luck" in job.said_about("its error file says")

    def test_another_workers_error_file_is_not_used(self, muster, tmp_path, worker):
        (tmp_path / "error").write_text(json.dumps(TORCH_ERROR))
        script = f"""if [ $RANK = 0 ]; then
                       cat error > "$TORCHELASTIC_ERROR_FILE"; touch go; exec sleep 100
                     fi
                     exec {worker("fail_on_rank")} 1 4 go"""

        job = muster.run("--nproc-per-node=2", "--", "sh", "-c", script, report=True)

        assert job.code == 4
        assert "RuntimeError" not in job.err.text

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"null",
            b"[]",
            b'"text"',
            b'{"message": 5}',
            b'{"message": {"message": ["x"]}}',
            b'{"message": {"extraInfo": {}}}',
            b'{"message": {"message": "half a fi',
            bytes(range(256)),
            b"[" * 200_000,
            b'{"a":' * 200_000,
            b'{"message": "\xff\xfe"}',
            b"\xef\xbb\xbf{}",
            b"1e999999",
            b'{"message": "' + b"x" * 20_000_000 + b'"}',
        ],
        ids=lambda content: f"{len(content)}-{content[:12]!r}",
    )
    def test_an_invalid_error_file_is_ignored(self, muster, tmp_path, content):
        job = self.fail_with(muster, tmp_path, content)

        assert job.code == 3
        assert job.said_about("failed first")
        assert job.said[-1].startswith("exit code 3:")
        assert job.report["exit_code"] == 3
        assert len(job.err.bytes) < 100_000

    @pytest.mark.parametrize(
        "make", ["mkdir", "mkfifo", "ln -s /dev/zero", "ln -s /nowhere", "ln -s /proc/self/mem"]
    )
    def test_an_error_file_path_that_is_no_file_is_ignored(self, muster, make):
        script = f'rm -f "$TORCHELASTIC_ERROR_FILE"; {make} "$TORCHELASTIC_ERROR_FILE"; exit 3'

        job = muster.run("--", "sh", "-c", script, report=True, seconds=3)

        assert job.code == 3
        assert job.report["exit_code"] == 3

    def test_error_files_do_not_pile_up(self, muster, tmp_path):
        """Nothing stays in the temporary directory after a success."""
        muster.run("--nproc-per-node=4", "--", "true")

        assert os.listdir(tmp_path) == []


def test_a_report_is_not_written_through_another_users_link_in_a_folder_of_all(muster, tmp_path):
    everybodys = tmp_path / "everybodys"
    everybodys.mkdir()
    everybodys.chmod(0o1777)
    (tmp_path / "precious").write_text("kept")
    for name, owner in (("planted", 65534), ("own", os.geteuid())):
        (everybodys / name).symlink_to(tmp_path / "precious")
        os.lchown(everybodys / name, owner, owner)

    refused = muster.run("--report", everybodys / "planted", "--", "true")
    assert refused.code == 78 or refused.code == 64, refused.words()
    assert (tmp_path / "precious").read_text() == "kept"

    assert muster.run("--report", everybodys / "own", "--", "true").code == 0
    assert json.loads((tmp_path / "precious").read_text())["verdict"] == "succeeded"


def test_a_planted_symlink_beside_the_report_is_not_followed(muster):
    """A user who may write into the folder could have the report replace a file of its owner."""
    victim = muster.folder / "victim"
    victim.write_text("precious")
    plant = 'for i in 0 1 2 3; do ln -s victim "report.tmp$(($$ + i))"; done; exec "$@"'

    job = muster.run("--report=report", "--", "true", through=["sh", "-c", plant, "sh"])

    assert job.code == 0
    assert victim.read_text() == "precious"
    assert json.loads((muster.folder / "report").read_text())["verdict"] == "succeeded"


def test_the_report_has_the_permissions_that_the_umask_leaves(muster):
    muster.run("--report=report", "--", "true", through=["sh", "-c", 'umask 027; exec "$@"', "sh"])

    assert (muster.folder / "report").stat().st_mode & 0o777 == 0o640
    assert not list(muster.folder.glob("report.*"))
