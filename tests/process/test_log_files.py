"""Files under --log-dir: they have every byte of every worker, and logs of earlier jobs are kept."""

import os
import random
import subprocess

import pytest

from support.muster import binary
from support.lines import assert_all_whole, chatty_text
from support.repetitions import default_or_soak

SECONDS = default_or_soak(0.3, 10)


@pytest.fixture
def logs(tmp_path):
    return tmp_path / "logs"


def names(logs):
    return sorted(file.name for file in (logs / "attempt_0").iterdir())


def text(logs, name):
    return (logs / "attempt_0" / name).read_text()


BOTH = ["sh", "-c", "echo out of $RANK; echo err of $RANK >&2"]


def test_each_worker_has_a_log_file_per_stream(muster, logs):
    job = muster.run("--nproc-per-node=2", "--log-dir", logs, "--", *BOTH)

    assert job.code == 0
    assert names(logs) == ["worker_0.err", "worker_0.out", "worker_1.err", "worker_1.out"]
    for rank in (0, 1):
        assert text(logs, f"worker_{rank}.out") == f"out of {rank}\n"
        assert text(logs, f"worker_{rank}.err") == f"err of {rank}\n"
    assert sorted(job.out.lines) == ["[0] out of 0", "[1] out of 1"]


def test_a_log_directory_with_missing_parents_is_made(muster, tmp_path):
    job = muster.run("--log-dir", tmp_path / "a/b/c", "--", "echo", "hi")

    assert job.code == 0
    assert (tmp_path / "a/b/c/attempt_0/worker_0.out").read_text() == "hi\n"


def test_a_relative_log_directory_starts_at_musters_working_directory(muster, tmp_path):
    job = muster.run("--log-dir=here", "--", "sh", "-c", "cd /; echo hi")

    assert job.code == 0
    assert (tmp_path / "here/attempt_0/worker_0.out").read_text() == "hi\n"


def test_files_hold_the_exact_bytes(muster, logs, tmp_path):
    everything = bytes(range(256)) * 64 + random.Random(1).randbytes(1 << 20) + b"\0\0no newline"
    (tmp_path / "bytes").write_bytes(everything)

    job = muster.run(
        "--nproc-per-node=2", "--log-dir", logs, "--", "cat", "bytes", stdout=subprocess.DEVNULL
    )

    assert job.code == 0
    for rank in (0, 1):
        assert (logs / f"attempt_0/worker_{rank}.out").read_bytes() == everything


def test_files_hold_no_prefix_no_colour_and_no_added_newline(muster, logs, worker):
    job = muster.run(
        "--nproc-per-node=2", "--color=always", "--log-dir", logs, "--", worker("progress_bar")
    )
    bars = (logs / "attempt_0/worker_0.out").read_bytes()
    assert bars == b"\r".join(f"{percent}%".encode() for percent in range(10, 101, 10)) + b"\n"

    job = muster.run("--nproc-per-node=2", "--log-dir", logs, "--", "printf", "no newline")

    assert job.code == 0
    assert text(logs, "worker_1.out") == "no newline"


def test_a_line_of_four_megabytes_is_whole_in_the_file(muster, logs, worker):
    job = muster.run("--nproc-per-node=2", "--log-dir", logs, "--", worker("long_line"), 4 << 20)

    assert job.code == 0
    assert (logs / "attempt_0/worker_1.out").read_bytes() == b"b" * (4 << 20) + b"\n"


def test_the_last_lines_before_an_abort_are_in_the_file(muster, logs, worker):
    job = muster.run("--log-dir", logs, "--", worker("crash_after_ready"), 0, "last words")

    assert job.code == 134
    assert text(logs, "worker_0.err") == "last words"


@pytest.mark.soak
def test_64_workers_with_1000_lines_a_second_lose_nothing(
    muster, worker, logs
):
    count = int(SECONDS * 1000)

    job = muster.run(
        "--nproc-per-node=64",
        "--log-dir",
        logs,
        "--",
        worker("chatty_lines"),
        count,
        1000,
        "out",
        seconds=SECONDS * 4 + 10,
    )

    assert job.code == 0
    wrong = [
        rank
        for rank in range(64)
        if (logs / f"attempt_0/worker_{rank}.out").read_bytes() != chatty_text("O", rank, count)
    ]
    assert wrong == []
    assert_all_whole(job.out.bytes, 64, count, "O")


def test_an_earlier_log_is_renamed_and_never_truncated(muster, logs):
    for run in ("first", "second", "third"):
        assert muster.run("--log-dir", logs, "--", "echo", run).code == 0

    assert text(logs, "worker_0.out") == "third\n"
    assert text(logs, "worker_0.out.1") == "second\n"
    assert text(logs, "worker_0.out.2") == "first\n"


def test_more_than_ten_earlier_logs_are_kept_in_order(muster, logs):
    for run in range(13):
        assert muster.run("--log-dir", logs, "--", "echo", run).code == 0

    assert text(logs, "worker_0.out") == "12\n"
    assert [text(logs, f"worker_0.out.{age}") for age in range(1, 13)] == [
        f"{12 - age}\n" for age in range(1, 13)
    ]


def test_the_filter_does_not_touch_the_files(muster, logs):
    job = muster.run("--nproc-per-node=2", "--log-dir", logs, "--local-ranks-filter=0", "--", *BOTH)

    assert sorted(job.out.lines) == ["[0] out of 0"]
    assert text(logs, "worker_1.out") == "out of 1\n"
    assert text(logs, "worker_1.err") == "err of 1\n"


class TestRedirectsAndTees:
    """torchrun's choices: 1 is standard output, 2 standard error, 3 both; `rank:choice` for one."""

    def run(self, muster, logs, *arguments, count=2):
        job = muster.run(f"--nproc-per-node={count}", "--log-dir", logs, *arguments, "--", *BOTH)
        assert job.code == 0, job.words()
        out = sorted(job.out.lines)
        err = sorted(line for line in job.err.lines if line.startswith("["))
        return out, err

    def test_redirected_streams_are_in_files_and_not_on_the_console(self, muster, logs):
        out, err = self.run(muster, logs, "--redirects=3")

        assert (out, err) == ([], [])
        assert text(logs, "worker_1.out") == "out of 1\n"
        assert text(logs, "worker_1.err") == "err of 1\n"

    def test_standard_output_can_be_redirected(self, muster, logs):
        out, err = self.run(muster, logs, "-r", "1")

        assert (out, err) == ([], ["[0] err of 0", "[1] err of 1"])
        assert text(logs, "worker_0.out") == "out of 0\n"

    def test_standard_error_can_be_redirected(self, muster, logs):
        out, err = self.run(muster, logs, "--redirects", "2")

        assert (out, err) == (["[0] out of 0", "[1] out of 1"], [])
        assert text(logs, "worker_0.err") == "err of 0\n"

    def test_each_worker_can_be_redirected_differently(self, muster, logs):
        out, err = self.run(muster, logs, "-r", "0:1,1:2")

        assert (out, err) == (["[1] out of 1"], ["[0] err of 0"])
        assert text(logs, "worker_0.out") == "out of 0\n"
        assert text(logs, "worker_1.err") == "err of 1\n"

    def test_local_ranks_of_two_digits_can_be_redirected(self, muster, logs):
        out, err = self.run(muster, logs, "-r", "11:3", count=12)

        expected = [f"of {rank}" for rank in range(11)]
        assert sorted(line.split(" ", 2)[2] for line in out) == sorted(expected)
        assert sorted(line.split(" ", 2)[2] for line in err) == sorted(expected)
        assert text(logs, "worker_11.out") == "out of 11\n"
        assert text(logs, "worker_11.err") == "err of 11\n"

    def test_teed_streams_are_in_files_and_on_the_console(self, muster, logs):
        out, err = self.run(muster, logs, "--tee=3")

        assert out == ["[0] out of 0", "[1] out of 1"]
        assert err == ["[0] err of 0", "[1] err of 1"]
        assert text(logs, "worker_1.out") == "out of 1\n"
        assert text(logs, "worker_1.err") == "err of 1\n"

    def test_a_tee_of_one_worker_keeps_the_console_of_all(self, muster, logs):
        out, _ = self.run(muster, logs, "-t", "11:1", count=12)

        assert len(out) == 12
        assert text(logs, "worker_11.out") == "out of 11\n"

    def test_without_a_log_directory_a_temporary_one_is_made_and_named(self, muster):
        job = muster.run("--nproc-per-node=2", "--redirects=1", "--", *BOTH)

        assert job.code == 0
        (folder,) = {
            word.rstrip(",:;.'").lstrip("'")
            for line in job.said
            for word in line.split()
            if str(muster.folder) in word
        }
        with open(f"{folder}/attempt_0/worker_1.out") as file:
            assert file.read() == "out of 1\n"

    @pytest.mark.parametrize("option", ["--redirects", "--tee"])
    @pytest.mark.parametrize(
        "value", ["4", "x", "-1", "0:4", "0:", ":1", "0:1,", "0:1,1", "", "0;1", "x:1"]
    )
    def test_a_choice_that_makes_no_sense_is_refused(self, muster, option, value):
        job = muster.run("--nproc-per-node=2", f"{option}={value}", "--", "true")

        assert job.code == 64
        assert job.said_about(option, f"'{value}'" if value else "value")


ROLES = """mode: with a scheduler
roles:
  - name: scheduler
    count: per job
  - name: worker
    count: per device
    environment: {RANK: "{global_rank}"}
"""


class TestSeveralRoles:
    """Local ranks count all processes of the node: here the scheduler is 0, the workers follow."""

    @pytest.fixture
    def run(self, muster, logs, tmp_path):
        (tmp_path / "roles.yaml").write_text(ROLES)

        def run(*arguments, count=2):
            script = "echo out of ${RANK:-scheduler}; echo err of ${RANK:-scheduler} >&2"
            options = ["--template=roles.yaml", f"--nproc-per-node={count}", "--log-dir", logs]
            job = muster.run(*options, *arguments, "--", "sh", "-c", script)
            assert job.code == 0, job.words()
            return sorted(job.out.lines)

        return run

    def test_the_first_role_can_be_redirected(self, run, logs):
        out = run("--redirects=0:1")

        assert out == ["[1] out of 1", "[2] out of 2"]
        assert names(logs) == ["scheduler_0.out"]
        assert text(logs, "scheduler_0.out") == "out of scheduler\n"

    def test_a_worker_of_the_second_role_can_be_redirected(self, run, logs):
        out = run("-r", "2:3")

        assert out == ["[0] out of scheduler", "[1] out of 1"]
        assert text(logs, "worker_2.out") == "out of 2\n"
        assert text(logs, "worker_2.err") == "err of 2\n"

    def test_two_digit_local_ranks_of_the_second_role_can_be_redirected(self, run, logs):
        out = run("-t", "0:2,11:1", "--local-ranks-filter=0,12", count=12)

        assert out == ["[0] out of scheduler", "[12] out of 12"]
        assert names(logs) == ["scheduler_0.err", "worker_11.out"]
        assert text(logs, "worker_11.out") == "out of 11\n"


class TestChosenLines:
    """torchrun's filters: lines with one of some texts are written a second time."""

    def run(self, muster, *arguments, **options):
        script = "echo loss 1 of $RANK; echo lr,2; echo step; echo loss 3 >&2; echo oh >&2"
        job = muster.run(*arguments, "--", "sh", "-c", script, **options)
        assert job.code == 0, job.words()
        return job

    def test_filtered_lines_are_in_one_file_with_their_prefix(self, muster, logs):
        filters = ["--duplicate-stdout-filters=loss,r,,2", "--duplicate_stderr_filters", "oh"]
        job = self.run(muster, "--nproc-per-node=2", "--log-dir", logs, "--tee=0", *filters)

        assert names(logs) == ["filtered_stderr.log", "filtered_stdout.log"]
        assert sorted(text(logs, "filtered_stdout.log").splitlines()) == [
            "[0] loss 1 of 0",
            "[0] lr,2",
            "[1] loss 1 of 1",
            "[1] lr,2",
        ]
        assert sorted(text(logs, "filtered_stderr.log").splitlines()) == ["[0] oh", "[1] oh"]
        assert len(job.out.lines) == 6

    def test_filtered_lines_are_those_of_all_workers_including_hidden_ones(self, muster, logs):
        hide = ["--redirects=3", "--local-ranks-filter=1"]
        job = self.run(
            muster,
            "--nproc-per-node=2",
            "--log-dir",
            logs,
            *hide,
            env={"MUSTER_DUPLICATE_STDOUT_FILTERS": "loss"},
        )

        assert job.out.text == ""
        assert sorted(text(logs, "filtered_stdout.log").splitlines()) == [
            "[0] loss 1 of 0",
            "[1] loss 1 of 1",
        ]

    def test_filtered_lines_have_no_colour(self, muster, logs):
        filters = "--duplicate-stdout-filters=loss"
        job = self.run(muster, "--prefix=always", "--color=always", "--log-dir", logs, filters)

        assert "\x1b[" in job.out.text
        assert text(logs, "filtered_stdout.log") == "[0] loss 1 of 0\n"

    def test_without_a_log_directory_a_temporary_one_is_made_and_named(self, muster):
        job = self.run(muster, "--duplicate-stdout-filters=loss")

        folder = job.said_about("log files are in").split()[-1]
        with open(f"{folder}/attempt_0/filtered_stdout.log") as file:
            assert file.read() == "loss 1 of 0\n"
        assert os.listdir(f"{folder}/attempt_0") == ["filtered_stdout.log"]

    def test_an_empty_filter_makes_no_file(self, muster):
        job = self.run(muster, "--duplicate-stdout-filters", "", env={"TMPDIR": "/nosuch"})

        assert not any("log files" in line for line in job.said)

    @pytest.mark.parametrize("value", [",", "loss,", ",loss"])
    def test_a_filter_with_an_empty_text_is_refused(self, muster, value):
        job = muster.run(f"--duplicate-stderr-filters={value}", "--", "true")

        assert job.code == 64
        assert job.said_about(f"--duplicate-stderr-filters is '{value}'", "separated by commas")


class TestBrokenLogDirectories:
    def test_a_full_disk_is_reported_once_per_log_file(
        self, muster, worker, small_disk
    ):
        job = muster.run(
            "--nproc-per-node=2", "--log-dir", small_disk, "--", worker("fill_the_pipe"), 640_000
        )

        assert job.code == 0
        assert len([line for line in job.out.lines if line.startswith("[")]) == 2 * 10_000
        written = 0
        for rank in (0, 1):
            assert job.said_about(
                "cannot write",
                f"worker_{rank}.out",
                "No space left on device",
                "going on without it",
            )
            written += (small_disk / f"attempt_0/worker_{rank}.out").stat().st_size
        assert written <= 65536

    def test_a_log_file_goes_on_with_whole_lines_when_there_is_room_again(
        self, muster, small_disk, tmp_path
    ):
        os.mkfifo(tmp_path / "room")
        (small_disk / "ballast").write_bytes(bytes(60 << 10))
        job = muster.start(
            "--log-dir", small_disk, "--", "sh", "-c", "seq 10000; read line < room; seq -f 'late %g' 9"
        )
        job.err.wait_for("No space left on device")
        (small_disk / "ballast").unlink()
        with open(tmp_path / "room", "w") as room:
            room.write("\n")

        assert job.end() == 0
        lines = (small_disk / "attempt_0/worker_0.out").read_text().splitlines()
        assert lines[-9:] == [f"late {i}" for i in range(1, 10)]
        assert job.said_about("worker_0.out", "can be written again", "lacks")
        assert job.said_about("worker_0.out", "bytes that could not be written")

    def test_bytes_missing_in_a_log_file_are_reported(self, muster, worker, tmp_path):
        """The limit on a file's size stands for any write that fails in the middle."""
        job = muster.run(
            "--log-dir",
            tmp_path / "logs",
            "--",
            worker("fill_the_pipe"),
            640_000,
            through=["prlimit", "--fsize=8192"],
        )

        assert job.code == 0
        assert len(job.out.bytes) == 640_000
        assert job.said_about(
            "cannot write", "worker_0.out", "File too large", "going on without it"
        )
        assert any(str(640_000 - 8192) in line.replace(",", "") for line in job.said), job.said

    def test_a_directory_that_cannot_be_made_is_refused_before_anything_starts(
        self, muster, tmp_path
    ):
        (tmp_path / "file").write_text("")

        job = muster.run("--log-dir", tmp_path / "file/logs", "--", "touch", "started")

        assert job.code == 71
        assert job.said_about(f"{tmp_path}/file/logs")
        assert not (tmp_path / "started").exists()

    def test_a_directory_without_permission_is_refused_before_anything_starts(self, muster):
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

        job = muster.run("--log-dir=/proc/1/logs", "--", "true", through=as_nobody, cwd="/")

        assert job.code == 71
        assert job.said_about("/proc/1/logs")

    def test_a_log_path_that_is_a_directory_loses_no_output(self, muster, logs):
        (logs / "attempt_0/worker_0.out").mkdir(parents=True)

        job = muster.run("--log-dir", logs, "--", "echo", "hi")

        assert job.code in (0, 71)
        assert "hi" in job.out.text or job.said_about("worker_0.out")


class TestTorchrunsLayout:
    """<run id>_<random>/attempt_<N>/<local rank>/, as tools look for it: under torchrun's command line."""

    def below(self, logs):
        """The only folder of a run, and the files in it."""
        (run,) = logs.iterdir()
        return run, sorted(str(p.relative_to(run)) for p in run.rglob("*") if p.is_file())

    def run(self, muster, *options, script="echo out of $RANK; echo err of $RANK >&2"):
        return muster.run("torchrun", *options, "--no-python", "sh", "-c", script)

    def test_files_are_those_of_redirected_and_teed_streams(self, muster, logs):
        options = ["--nproc-per-node=3", "--log-dir", logs, "-r=0:1", "-t=1:3"]
        job = self.run(muster, *options)

        run, names = self.below(logs)
        assert job.code == 0
        assert names == [f"attempt_0/{name}.log" for name in ("0/stdout", "1/stderr", "1/stdout")]
        assert (run / "attempt_0/1/stderr.log").read_text() == "err of 1\n"
        assert "out of 0" not in job.out.text and "out of 1" in job.out.text

    def test_a_tee_of_some_ranks_also_shows_redirected_streams(self, muster, logs):
        job = self.run(muster, "--nproc-per-node=3", "--log-dir", logs, "-r3", "-t=0:1,1:2")

        files = [f"attempt_0/{rank}/std{stream}.log" for rank in "012" for stream in ("err", "out")]
        assert self.below(logs)[1] == files
        assert job.out.lines == ["[default0]:out of 0"]
        assert [line for line in job.err.lines if "err of" in line] == ["[default1]:err of 1"]

    def test_nested_launchers_have_separate_log_folders(self, muster, logs):
        nested = '"$0" torchrun --standalone --log-dir logs -r1 --no-python sh -c "$1"'
        inner = """echo hi; echo '{"message": "sad"}' > "$TORCHELASTIC_ERROR_FILE"; exit 3"""
        options = ["--log-dir", logs, "--no-python", "sh", "-c", nested]
        job = muster.run("torchrun", *options, binary(), inner, report=True)

        files = [path.relative_to(logs) for path in logs.rglob("*") if path.is_file()]
        rank = ("attempt_0", "0")
        assert len({file.parts[0] for file in files}) == 2
        assert sorted(file.parts[1:] for file in files) == [
            (*rank, "error.json"),
            (*rank, "error.json"),
            (*rank, "stdout.log"),
        ]
        assert job.code == 3
        assert job.report["first_failure"]["error_file"] == "sad"

    def test_without_redirects_and_tees_there_are_no_log_files(self, muster, logs):
        job = self.run(muster, "--log-dir", logs)

        assert job.out.text == "out of 0\n"
        assert self.below(logs)[1] == []

    def test_attempts_share_the_folder_of_the_run(self, muster, logs):
        script = "echo try $TORCHELASTIC_RESTART_COUNT; exit $((1 - TORCHELASTIC_RESTART_COUNT))"
        job = self.run(muster, "--max-restarts=1", "--log-dir", logs, "-r=1", script=script)

        run, names = self.below(logs)
        assert job.code == 0
        assert names == ["attempt_0/0/stdout.log", "attempt_1/0/stdout.log"]
        assert (run / "attempt_1/0/stdout.log").read_text() == "try 1\n"

    def test_each_run_has_a_separate_log_folder(self, muster, logs):
        for _ in range(2):
            self.run(muster, "--rdzv-id=a/b", "--log-dir", logs, "-r=1")

        names = [folder.name for folder in logs.iterdir()]
        assert len(names) == 2
        assert all(name.startswith("a_b_") and len(name) == 12 for name in names)

    def test_an_error_file_stays(self, muster, logs):
        script = """echo '{"message": "out of luck"}' > "$TORCHELASTIC_ERROR_FILE"; exit 3"""
        job = self.run(muster, "--nproc-per-node=1", "--log-dir=logs", script=f"cd /; {script}")

        run, names = self.below(logs)
        assert job.code == 3
        assert "out of luck" in job.said_about("its error file says")
        assert names == ["attempt_0/0/error.json"]
        assert (run / names[0]).read_text() == '{"message": "out of luck"}\n'

    def test_the_filtered_file_is_beside_the_ranks_folders(self, muster, logs):
        self.run(muster, "--log-dir", logs, "--duplicate-stdout-filters=out", "-t=3")

        run, names = self.below(logs)
        assert "attempt_0/filtered_stdout.log" in names
        assert (run / "attempt_0/filtered_stdout.log").read_text() == "[default0]:out of 0\n"

    def test_without_a_folder_nothing_is_left(self, muster, tmp_path):
        for folder, variables in (([], {}), (["--log-dir="], {}), ([], {"PET_LOG_DIR": ""})):
            line = ["torchrun", *folder, "--no-python", "sh", "-c", 'test -d "${TORCHELASTIC_ERROR_FILE%/*}"']
            assert muster.run(*line, env=variables).code == 0
        assert not [path for path in tmp_path.iterdir() if path.is_dir()]

    def test_the_null_device_takes_no_files(self, muster, tmp_path):
        script = 'echo "out $TORCHELASTIC_ERROR_FILE"'
        job = self.run(muster, "--log-dir=/dev/null", "-r=3", "--local-ranks-filter=5", script=script)

        assert job.out.text == "out \n"
        assert "ignoring --redirects: --log-dir is /dev/null" in job.err.text

    def test_a_folder_that_cannot_be_made_is_refused(self, muster, tmp_path):
        (tmp_path / "file").write_text("")
        job = self.run(muster, "--log-dir=file/logs", script="touch started")

        assert job.code == 71
        assert job.said_about("rank 0", "cannot make the folder", "error files: Not a directory")
        assert not (tmp_path / "started").exists()

    @pytest.mark.parametrize("options", [[], ["-r3"], ["-t3"]])
    def test_a_folder_without_permission_is_refused_before_anything_starts(self, muster, options):
        line = ["torchrun", *options, "--log-dir=/proc/1/logs", "--no-python", "touch", "/tmp/started"]
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        job = muster.run(*line, through=as_nobody, cwd="/")

        assert job.code == 71
        assert job.said_about("/proc/1/logs")
