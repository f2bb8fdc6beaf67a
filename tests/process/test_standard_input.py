"""Standard input of muster: which worker reads it."""

import contextlib
import subprocess

import pytest

from support import processes
from support.descriptions import Description


def type_into(job, text):
    with contextlib.suppress(BrokenPipeError):  # who reads nothing may have ended by then
        job.process.stdin.write(text)
        job.process.stdin.close()


@pytest.mark.kernel
def test_a_single_worker_reads_musters_standard_input(muster):
    job = muster.start("--", "cat", stdin=subprocess.PIPE)
    type_into(job, b"hi\n")

    assert job.end(2) == 0
    assert job.out.bytes == b"hi\n"


def test_one_worker_reads_every_byte_of_a_large_input(muster):
    everything = bytes(range(256)) * 8192
    job = muster.start("--", "cat", stdin=subprocess.PIPE)
    type_into(job, everything)

    assert job.end() == 0
    assert job.out.bytes == everything


def test_several_workers_read_nothing(muster, worker):
    job = muster.start("--nproc-per-node=3", "--", worker("read_stdin"), stdin=subprocess.PIPE)

    assert job.end(2) == 0
    assert sorted(job.out.lines) == [f"[{rank}] rank {rank} read ''" for rank in range(3)]


def test_with_several_workers_standard_input_is_left_unread(muster, worker, tmp_path):
    """As in a shell script whose loop reads lines: muster must not eat them."""
    (tmp_path / "lines").write_text("first\nsecond\n")
    with (tmp_path / "lines").open() as lines:
        job = muster.start(
            "--nproc-per-node=2",
            "--",
            worker("read_stdin"),
            stdin=lines,
            through=["sh", "-c", '"$@"; cat', "sh"],
        )
        assert job.end(2) == 0
    assert job.out.text.endswith("first\nsecond\n")


def test_the_chosen_worker_of_several_reads_standard_input(muster, worker):
    job = muster.start(
        "--nproc-per-node=3", "--stdin=1", "--", worker("read_stdin"), stdin=subprocess.PIPE
    )
    type_into(job, b"for rank 1")

    assert job.end(2) == 0
    assert sorted(job.out.lines) == [
        "[0] rank 0 read ''",
        "[1] rank 1 read 'for rank 1'",
        "[2] rank 2 read ''",
    ]


READ_A_BYTE = ["sh", "-c", "echo got $(dd bs=1 count=1 2>/dev/null)"]


@pytest.mark.parametrize(
    "line",
    [
        ["--nproc-per-node=2", "--prefix=never", "--stdin=all", "--"],
        ["torchrun", "--nproc-per-node=2", "--no-python"],
    ],
)
def test_workers_share_standard_input_with_stdin_all_and_under_torchrun(muster, line):
    job = muster.start(*line, *READ_A_BYTE, stdin=subprocess.PIPE)
    type_into(job, b"ab")

    assert job.end(2) == 0
    assert sorted(job.out.lines) == ["got a", "got b"]


def test_a_single_worker_reads_nothing_with_stdin_none(muster, worker):
    job = muster.start("--stdin=none", "--", worker("read_stdin"), stdin=subprocess.PIPE)
    type_into(job, b"hi\n")

    assert job.end(2) == 0
    assert job.out.text == "rank 0 read ''\n"


@pytest.mark.parametrize("rank", ["3", "-1", "x", ""])
def test_a_choice_that_is_no_local_rank_is_refused(muster, rank):
    job = muster.run("--nproc-per-node=3", f"--stdin={rank}", "--", "true")

    assert job.code == 64
    assert job.said_about("--stdin", f"'{rank}'" if rank else "value")


@pytest.mark.kernel
def test_a_closed_standard_input_breaks_nothing(muster, worker):
    job = muster.run("--", worker("describe_itself"), through=["sh", "-c", 'exec "$@" <&-', "sh"])

    descriptors = Description(job.out.text).descriptors
    assert job.code == 0
    assert descriptors.get(0, "/dev/null") == "/dev/null"
    assert set(descriptors) <= {0, 1, 2}


def test_an_open_standard_input_does_not_delay_the_end(muster):
    job = muster.start("--", "true", stdin=subprocess.PIPE)

    assert job.end(2) == 0
    job.process.stdin.close()


def test_a_worker_that_ends_early_leaves_the_rest_of_the_input(muster):
    """The worker has the input itself, not a copy that muster pumps."""
    job = muster.start(
        "--",
        "sh",
        "-c",
        "read line; echo got $line",
        through=["sh", "-c", '"$@"; cat', "sh"],
        stdin=subprocess.PIPE,
    )
    type_into(job, b"one\ntwo\n")

    assert job.end(2) == 0
    assert job.out.text == "got one\ntwo\n"
    assert not processes.is_alive(job.pid)


class TestAProgramOnStandardInput:
    @pytest.fixture
    def script(self, tmp_path):
        (tmp_path / "train.py").write_text("print('ran')\n")
        return tmp_path / "train.py"

    def run(self, muster, script, *words):
        with script.open() as text:
            job = muster.start(*words, stdin=text)
            job.end()
        return job

    def test_is_no_program_of_muster(self, muster, script):
        job = self.run(muster, script)

        assert job.code == 64
        assert job.said == [
            "no program to run, and muster reads none from standard input: name its file;"
            " try 'muster train.py' or 'muster --help'"
        ]

    @pytest.mark.parametrize("words", [("python3",), ("python3", "-"), ("bash", "-s")])
    def test_that_no_worker_gets_is_named(self, muster, script, words):
        job = self.run(muster, script, "--nproc-per-node=2", *words)

        assert job.out.text == ""
        assert job.said_about(f"'{words[0]}' reads its program from standard input", "none of the")

    def test_that_only_one_worker_gets_is_named(self, muster, script):
        job = self.run(muster, script, "--nproc-per-node=2", "--stdin=1", "python3")

        assert job.out.text == "[1] ran\n"
        assert job.said_about("'python3' reads its program from standard input", "the others run")

    @pytest.mark.parametrize("words", [("python3", "-"), ("torchrun", "-")])
    def test_is_run_by_a_single_worker(self, muster, script, words):
        job = self.run(muster, script, *words)

        assert job.out.text == "ran\n"
        assert "standard input" not in job.err.text

    @pytest.mark.parametrize("words", [("python3", "train.py"), ("python3", "--version")])
    def test_is_none_where_a_worker_has_another(self, muster, script, words):
        job = self.run(muster, script, "--nproc-per-node=2", *words)

        assert job.code == 0
        assert "standard input" not in job.err.text
