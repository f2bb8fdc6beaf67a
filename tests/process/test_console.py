"""Output of the workers on the console: whole lines, in order, none lost, with a prefix."""

import os
import random
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from support import processes
from support.deadlines import promise, wait_until
from support.lines import assert_all_whole
from support.muster import binary
from support.repetitions import default_or_soak
from support.streams import Stream

SECONDS = default_or_soak(0.3, 10)


def test_one_worker_is_passed_on_byte_by_byte(muster, tmp_path):
    everything = random.Random(1).randbytes(1 << 20) + b"no newline at the end"
    (tmp_path / "bytes").write_bytes(everything)

    job = muster.run("--", "cat", "bytes")

    assert job.code == 0
    assert job.out.bytes == everything


def test_one_worker_is_passed_on_at_once_without_waiting_for_a_newline(muster):
    job = muster.start(
        "--", "sh", "-c", "printf 'answer: '; read line; echo $line", stdin=subprocess.PIPE
    )
    job.out.wait_for("answer: ")

    job.process.stdin.write(b"42\n")
    job.process.stdin.close()

    assert job.end(2) == 0
    assert job.out.bytes == b"answer: 42\n"


def test_both_streams_of_a_worker_stay_apart(muster):
    job = muster.run("--nproc-per-node=2", "--", "sh", "-c", "echo to out; echo to err >&2")

    assert sorted(job.out.lines) == ["[0] to out", "[1] to out"]
    assert sorted(line for line in job.err.lines if line.startswith("[")) == [
        "[0] to err",
        "[1] to err",
    ]


@pytest.mark.parametrize(
    ("prefix", "count", "expected"),
    [
        ("auto", 1, ["hi"]),
        ("auto", 2, ["[0] hi", "[1] hi"]),
        ("always", 1, ["[0] hi"]),
        ("never", 2, ["hi", "hi"]),
    ],
)
def test_the_prefix_option_is_obeyed(muster, prefix, count, expected):
    job = muster.run(f"--nproc-per-node={count}", f"--prefix={prefix}", "--", "echo", "hi")

    assert sorted(job.out.lines) == expected


TEMPLATE_OF_TORCHRUN = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"


def test_the_prefix_template_takes_torchruns_names(muster):
    template = "--prefix-template=[${role_name}${local_rank}/${rank}/${attempt}]:"
    job = muster.run("--nproc-per-node=2", template, "--", "echo", "hi")

    assert sorted(job.out.lines) == ["[default0/0/0]:hi", "[default1/1/0]:hi"]


def test_a_prefix_template_with_the_pid_applies_to_a_single_worker(muster):
    job = muster.run(
        "--prefix-template", "${pid}@${hostname} ", "--", "sh", "-c", "echo $$; echo e >&2"
    )

    pid = job.out.text.split()[-1]
    assert job.out.lines == [f"{pid}@{socket.gethostname()} {pid}"]
    assert f"{pid}@{socket.gethostname()} e" in job.err.lines


def test_the_prefix_role_is_the_role_name_where_workers_have_no_label(muster, tmp_path):
    (tmp_path / "mode.yaml").write_text("mode: mine\nroles:\n  - name: trainer\n")
    options = ["--template=mode.yaml", "--prefix-template=${role_name} ${role} $$ "]
    job = muster.run(*options, "--", "echo", "hi")

    assert job.out.lines == ["trainer trainer $ hi"]


def test_torchruns_variable_gives_the_prefix_unless_the_option_does(muster):
    env = {TEMPLATE_OF_TORCHRUN: "${rank}> "}

    assert muster.run("--", "echo", "hi", env=env).out.lines == ["0> hi"]
    assert muster.run("--prefix-template=a ", "--", "echo", "hi", env=env).out.lines == ["a hi"]
    assert muster.run("--prefix-template", "", "--", "echo", "hi", env=env).out.lines == ["hi"]
    assert muster.run("--prefix=never", "--", "echo", "hi", env=env).out.lines == ["hi"]


@pytest.mark.parametrize("front_end", [(), ("torchrun", "--prefix=auto", "--no-python")])
def test_unknown_names_in_torchruns_prefix_variable_stay_text(muster, front_end):
    env = {TEMPLATE_OF_TORCHRUN: "${job}/$rank> "}

    assert muster.run(*front_end, "echo", "hi", env=env).out.lines == ["${job}/0> hi"]


def test_a_worker_of_another_launcher_adds_no_prefix_of_torchruns_variable(muster):
    env = {TEMPLATE_OF_TORCHRUN: "${rank}> ", "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 2}

    assert muster.run("--", "echo", "hi", env=env).out.lines == ["hi"]


def test_a_prefix_template_is_coloured(muster):
    job = muster.run("--color=always", "--prefix-template=<${rank}> ", "--", "echo", "hi")

    assert job.out.text == "\x1b[31m<0>\x1b[0m hi\n"


@pytest.mark.parametrize("template", ["${ranks}", "$ranks", "${rank"])
def test_an_unknown_prefix_variable_is_refused_with_the_known_ones(muster, template):
    job = muster.run("--prefix-template", template, "--", "true")
    assert job.code == 64
    assert job.said_about(f"--prefix-template is '{template}'", "${local_rank}", "${pid}")


def test_without_a_prefix_lines_of_several_workers_stay_whole(muster, worker):
    job = muster.run(
        "--nproc-per-node=4", "--prefix=never", "--", worker("chatty_lines"), 200, 1000, "out"
    )

    lines = job.out.lines
    assert len(lines) == 800
    for rank in range(4):
        assert len({line for line in lines if line.startswith(f"O {rank} ")}) == 200


@pytest.mark.soak
def test_64_workers_with_1000_lines_a_second_lose_and_tear_nothing(muster, worker):
    count = int(SECONDS * 1000)

    job = muster.run(
        "--nproc-per-node=64",
        "--",
        worker("chatty_lines"),
        count,
        1000,
        "out",
        seconds=SECONDS * 4 + 10,
    )

    assert job.code == 0
    assert_all_whole(job.out.bytes, 64, count, "O")


@pytest.mark.soak
def test_both_streams_into_one_pipe_lose_and_tear_nothing(muster, worker):
    count = int(SECONDS * 500)

    job = muster.run(
        "--nproc-per-node=32",
        "--",
        worker("chatty_lines"),
        count,
        500,
        "both",
        stderr=subprocess.STDOUT,
        seconds=SECONDS * 4 + 10,
    )

    assert job.code == 0
    assert_all_whole(job.out.bytes, 32, count, "OE")


def test_both_streams_into_one_file_lose_and_tear_nothing(muster, worker, tmp_path):
    with (tmp_path / "console").open("wb") as console:
        job = muster.run(
            "--nproc-per-node=8",
            "--",
            worker("chatty_lines"),
            300,
            1000,
            "both",
            stdout=console,
            stderr=console,
        )

    assert job.code == 0
    assert_all_whole((tmp_path / "console").read_bytes(), 8, 300, "OE")


ALTERNATES = """i=0
while [ $i -lt 1000 ]; do
  echo $i
  echo $((i + 1)) >&2
  i=$((i + 2))
done"""


@pytest.mark.parametrize("count", [1, 2])
def test_both_streams_keep_their_order_on_one_console(muster, count):
    """As with 2>&1 of a shell: a traceback stands behind the lines that were printed before it."""
    job = muster.run(
        f"--nproc-per-node={count}", "--", "sh", "-c", ALTERNATES, stderr=subprocess.STDOUT
    )

    assert job.code == 0
    for rank in range(count):
        prefix = f"[{rank}] " if count > 1 else ""
        lines = [line for line in job.out.lines if line.startswith(prefix or tuple("0123456789"))]
        assert lines == [f"{prefix}{number}" for number in range(1000)]


def test_lines_of_both_streams_are_not_called_standard_error(muster):
    fails = ["--nproc-per-node=1", "--", "sh", "-c", "echo step 1; echo broken >&2; exit 3"]

    joined = muster.run(*fails, stderr=subprocess.STDOUT)
    at = joined.out.lines.index("muster: its last lines:")
    assert joined.out.lines[at + 1 : at + 3] == ["muster:   | step 1", "muster:   | broken"]

    apart = muster.run(*fails)
    at = apart.said.index("the last lines of its standard error:")
    assert apart.said[at + 1] == "  | broken"


def test_errors_of_a_script_that_redirects_them_are_its_last_lines(muster):
    script = "import os, sys; os.dup2(1, 2); print('ready', flush=True); sys.stdin.readline(); print('broken', file=sys.stderr); sys.exit(3)"
    job = muster.start("--nproc-per-node=1", "--", sys.executable, "-c", script, stdin=subprocess.PIPE)
    job.out.wait_for("ready")
    job.process.stdin.write(b"\n")
    job.process.stdin.close()

    assert job.end() == 3
    assert "  | broken" in job.said[job.said.index("its last lines:") :]


def test_both_streams_keep_their_order_in_a_shared_log_file(muster):
    options = ["--mode=msrun", "--nproc-per-node=1", "--log-dir=logs", "--redirects=3"]
    job = muster.run(*options, "--", "sh", "-c", ALTERNATES)

    assert job.code == 0
    (log,) = muster.folder.glob("logs/**/worker_0.log")
    assert log.read_text().splitlines() == [str(number) for number in range(1000)]


def test_the_last_line_without_a_newline_gets_one(muster):
    job = muster.run("--nproc-per-node=4", "--", "printf", "no newline")

    assert sorted(job.out.bytes.split(b"\n")) == [b""] + [
        f"[{rank}] no newline".encode() for rank in range(4)
    ]


def test_empty_lines_are_lines(muster):
    job = muster.run("--nproc-per-node=2", "--", "printf", "\\n\\na\\n")

    assert sorted(line.rstrip() for line in job.out.lines) == [
        "[0]",
        "[0]",
        "[0] a",
        "[1]",
        "[1]",
        "[1] a",
    ]


def test_lines_of_four_megabytes_stay_whole(muster, worker):
    size = 4 << 20

    job = muster.run("--nproc-per-node=2", "--", worker("long_line"), size)

    assert job.code == 0
    assert sorted(job.out.bytes.split(b"\n")) == [b"", b"[0] " + b"a" * size, b"[1] " + b"b" * size]


@pytest.mark.plain_build
def test_a_line_without_an_end_does_not_fill_the_memory(muster):
    script = "head -c 80000000 /dev/zero | tr '\\0' x; touch written.$RANK; exec sleep 100"
    job = muster.start("--nproc-per-node=2", "--", "sh", "-c", script, stdout=subprocess.DEVNULL)
    wait_until(lambda: len(list(muster.folder.glob("written.*"))) == 2, "both lines to be written")

    assert processes.peak_memory_of(job.agent()) < 120 << 20
    job.signal(signal.SIGTERM)
    assert job.end(2) == 143


def test_the_last_state_of_a_progress_bar_is_a_line_with_one_prefix(muster, worker):
    job = muster.run("--nproc-per-node=2", "--", worker("progress_bar"))

    lines = [line.strip() for line in job.out.bytes.split(b"\n") if line]
    for rank in range(2):
        states = [line for line in lines if line.startswith(b"[%d] " % rank)]
        assert states[-1] == b"[%d] 100%%" % rank
        assert all(re.fullmatch(rb"\[\d\] \d+%", state) for state in states), states


def test_a_bar_of_a_single_worker_is_not_changed(muster, worker):
    job = muster.run("--", worker("progress_bar"))

    assert job.out.bytes.count(b"\r") >= 9
    assert [step.strip() for step in job.out.bytes.split(b"\r") if step.strip()] == [
        f"{percent}%".encode() for percent in range(10, 101, 10)
    ]


def test_windows_line_ends_do_not_add_lines(muster):
    job = muster.run("--nproc-per-node=2", "--", "printf", "one\\r\\ntwo\\r\\n")

    lines = sorted(job.out.bytes.split(b"\n"))
    assert [line.rstrip() for line in lines] == [
        b"",
        b"[0] one",
        b"[0] two",
        b"[1] one",
        b"[1] two",
    ]


def test_letters_of_several_bytes_survive_being_written_in_pieces(muster, worker):
    text = "naïve ☃ 🎉 é́ 进度"

    job = muster.run("--nproc-per-node=4", "--", worker("write_bytewise"), text)

    assert sorted(job.out.bytes.decode(errors="strict").splitlines()) == [
        f"[{rank}] {text}" for rank in range(4)
    ]


def test_bytes_that_are_no_text_pass_through(muster, tmp_path):
    odd = bytes(byte for byte in range(256) if byte not in b"\r\n")
    (tmp_path / "odd").write_bytes(odd + b"\n")

    job = muster.run("--nproc-per-node=2", "--", "cat", "odd")

    assert sorted(job.out.bytes.split(b"\n")) == [b"", b"[0] " + odd, b"[1] " + odd]


def test_the_last_lines_before_an_abort_are_kept(muster, worker):
    job = muster.run(
        "--nproc-per-node=2", "--", worker("crash_after_ready"), 100, "the very last words"
    )

    first = job.said_about("failed first").split()[1]
    lines = [line for line in job.err.lines if line.startswith(f"[{first}] ")]
    assert job.code == 134
    assert lines == [f"[{first}] line {i} of 100" for i in range(1, 101)] + [
        f"[{first}] the very last words"
    ]


def test_output_that_comes_after_the_end_of_the_worker_still_arrives(muster):
    """A child of the worker holds the pipe for a moment longer."""
    job = muster.run(
        "--nproc-per-node=2", "--", "sh", "-c", "trap '' TERM; (sleep 0.2; echo late) & echo early"
    )

    assert job.code == 0
    assert job.out.text.count("early") == 2
    assert job.out.text.count("late") == 2


def test_a_filter_shows_only_the_chosen_workers(muster):
    job = muster.run(
        "--nproc-per-node=12", "--local-ranks-filter=0,3,11", "--", "sh", "-c", "echo o; echo e >&2"
    )

    assert job.code == 0
    assert sorted(job.out.lines) == ["[0] o", "[11] o", "[3] o"]
    assert sorted(line for line in job.err.lines if line.startswith("[")) == [
        "[0] e",
        "[11] e",
        "[3] e",
    ]


def test_the_report_shows_last_lines_of_a_filtered_failed_worker(muster, worker):
    job = muster.run(
        "--nproc-per-node=2", "--local-ranks-filter=0", "--", worker("fail_on_rank"), 1, 3
    )

    assert job.code == 3
    assert job.said_about("| rank 1 gives up")


@pytest.mark.parametrize("value", ["x", "0,", "-1", "0,x", "1 2"])
def test_a_filter_that_makes_no_sense_is_refused(muster, value):
    job = muster.run(f"--local-ranks-filter={value}", "--", "true")

    assert job.code == 64
    assert job.said_about("--local-ranks-filter")


class TestColour:
    def test_a_pipe_gets_no_colour(self, muster):
        job = muster.run("--nproc-per-node=2", "--", "echo", "hi", env={"TERM": "xterm"})

        assert b"\x1b" not in job.out.bytes + job.err.bytes

    def test_a_terminal_gets_colour(self, muster, terminal):
        one = terminal(binary(), "--nproc-per-node=2", "--", "echo", "hi")

        assert one.end(2) == 0
        assert b"\x1b[" in one.screen.bytes

    def test_no_color_is_honoured(self, terminal):
        one = terminal(binary(), "--nproc-per-node=2", "--", "echo", "hi", env={"NO_COLOR": "1"})

        assert one.end(2) == 0
        assert b"\x1b" not in one.screen.bytes

    def test_colour_always_applies_to_a_pipe(self, muster):
        job = muster.run("--nproc-per-node=2", "--color=always", "--", "echo", "hi")

        assert b"\x1b[" in job.out.bytes

    def test_colour_never_applies_to_a_terminal(self, terminal):
        one = terminal(binary(), "--nproc-per-node=2", "--color=never", "--", "echo", "hi")

        assert one.end(2) == 0
        assert b"\x1b" not in one.screen.bytes


@pytest.fixture
def in_memory():
    """A folder whose files are on no disk."""
    with tempfile.TemporaryDirectory(prefix="muster-test-", dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


class TestSlowAndStalledReaders:
    BYTES = 2_000_000

    def start(self, muster, worker, console, *arguments, **options):
        return muster.start(
            "--nproc-per-node=2",
            *arguments,
            "--",
            worker("fill_the_pipe"),
            self.BYTES,
            stdout=console,
            **options,
        )

    def read_slowly(self, fd, pause):
        everything = bytearray()
        while True:
            piece = os.read(fd, 1 << 16)
            if not piece:
                return bytes(everything)
            everything += piece
            pause(len(everything))

    def dropped(self, job):
        """The number of dropped lines that the job has reported so far."""
        return sum(map(int, re.findall(r"muster: (\d+) console lines? dropped", job.err.text)))

    def assert_complete(self, console):
        lines = console.splitlines()
        for rank in (0, 1):
            beginning = f"[{rank}] {rank} ".encode()
            numbers = [
                int(line[len(beginning) :].split(b".")[0])
                for line in lines
                if line.startswith(beginning)
            ]
            assert numbers == list(range(self.BYTES // 64))
        assert len(lines) == 2 * (self.BYTES // 64)

    def test_verbose_names_the_console_that_the_end_waits_for(self, muster):
        read_end, write_end = os.pipe()
        script = "head -c 200000 /dev/zero | tr '\\0' x"
        job = muster.start("-v", "--", "sh", "-c", script, stdout=write_end)
        os.close(write_end)
        job.err.wait_for("the last lines for standard output")

        console = self.read_slowly(read_end, lambda size: None)

        os.close(read_end)
        assert job.end(5) == 0
        assert console == b"x" * 200_000
        assert job.said_about("the end waits for") == (
            "the end waits for: the last lines for standard output"
        )

    def test_verbose_names_the_ranks_that_still_run_after_sigterm(self, muster):
        stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
        job = muster.start("-v", "--nproc-per-node=2", "--grace=60", "--", "sh", "-c", stubborn)
        job.out.wait_for("ready", times=2)
        job.signal(signal.SIGTERM)

        job.err.wait_for("the end waits for: the end of the job, ranks 0-1")
        job.signal(signal.SIGINT)
        assert job.end() == 143

    def test_verbose_logs_no_wait_when_the_end_is_immediate(self, muster):
        job = muster.run("-v", "--", "true")

        assert job.code == 0
        promise("an end that waits for nothing", 0.3, 0.6 if "the end waits" in job.err.text else 0)

    def test_a_slow_reader_loses_nothing(self, muster, worker):
        read_end, write_end = os.pipe()
        job = self.start(muster, worker, write_end)
        os.close(write_end)

        # The pause is what is tested: a reader that takes 64 KiB every few milliseconds.
        console = self.read_slowly(read_end, lambda _: time.sleep(0.005))

        assert job.end() == 0
        self.assert_complete(console)
        os.close(read_end)

    def test_a_reader_that_pauses_for_less_than_the_limit_loses_nothing(self, muster, worker):
        pauses = iter([0.2, 0.2])
        read_end, write_end = os.pipe()
        job = self.start(muster, worker, write_end, "--console-stall=60")
        os.close(write_end)

        def pause(size):
            if size > 1_000_000:
                time.sleep(next(pauses, 0))

        console = self.read_slowly(read_end, pause)

        assert job.end() == 0
        self.assert_complete(console)
        os.close(read_end)

    @pytest.mark.parametrize("stall", [0.3, pytest.param(10, marks=pytest.mark.full)])
    def test_a_stalled_reader_delays_neither_the_job_nor_its_log_files(
        self, muster, worker, in_memory, stall
    ):
        """The files are in memory: a disk that is busy may take nothing for as long as that. So may a busy machine, if that is short."""
        read_end, write_end = os.pipe()
        job = self.start(muster, worker, write_end, f"--console-stall={stall}", "--log-dir", in_memory)
        os.close(write_end)

        assert job.end(stall + 5) == 0
        if stall > 1 or "log files accepted no output" not in job.err.text:
            for rank in (0, 1):
                size = (in_memory / "attempt_0" / f"worker_{rank}.out").stat().st_size
                assert size == self.BYTES // 64 * 64, job.said
        assert any("dropped" in line and any(map(str.isdigit, line)) for line in job.said), job.said
        os.close(read_end)

    def test_a_stalled_reader_gets_whole_lines(self, muster, worker):
        read_end, write_end = os.pipe()
        job = self.start(muster, worker, write_end, "--console-stall=0.3")
        os.close(write_end)
        assert job.end(5) == 0

        console = self.read_slowly(read_end, lambda _: None)

        lines = console.split(b"\n")
        assert all(len(line) == len(b"[0] ") + 63 for line in lines[:-1])
        os.close(read_end)

    def test_a_reader_that_comes_back_gets_whole_lines_again(self, muster, worker):
        script = f"""{worker('fill_the_pipe')} {self.BYTES}
                     while ! [ -e go ]; do sleep 0.01; done; echo at the end"""
        read_end, write_end = os.pipe()
        job = muster.start(
            "--nproc-per-node=2", "--console-stall=0.3", "--", "sh", "-c", script, stdout=write_end
        )
        os.close(write_end)
        job.err.wait_for("written", times=2)  # both came through, so lines are dropped by now

        console = Stream("the console", read_end)
        job.err.wait_for("dropped")
        # The last lines meet an empty pipe: where it is full they may be dropped as well.
        wait_until(lambda: len(console.lines) + self.dropped(job) == 2 * (self.BYTES // 64), "all that was kept")
        (muster.folder / "go").touch()

        assert job.end(5) == 0
        console.wait_for_end()
        *numbers, first, second = console.lines
        assert sorted([first, second]) == ["[0] at the end", "[1] at the end"]
        assert all(len(line) == len("[0] ") + 63 for line in numbers)

    def test_a_console_stalled_on_both_streams_does_not_delay_the_job(
        self, muster, worker
    ):
        read_end, write_end = os.pipe()
        job = self.start(muster, worker, write_end, "--console-stall=0.3", stderr=write_end)
        os.close(write_end)

        assert job.end(5) == 0
        os.close(read_end)

    def test_a_stalled_reader_does_not_hold_up_a_stop(self, muster, worker):
        script = f"{worker('fill_the_pipe')} 10000000"
        read_end, write_end = os.pipe()
        job = muster.start(
            "--nproc-per-node=2",
            "--grace=0.3",
            "--console-stall=0.3",
            "--",
            "sh",
            "-c",
            f"echo ready >&2; {script}",
            stdout=write_end,
        )
        os.close(write_end)
        job.err.wait_for("ready", times=2)

        job.signal(signal.SIGTERM)

        assert job.end(2) == 143
        os.close(read_end)


class TestBrokenOutputs:
    """A console that is gone does not end the job."""

    def close_at_start(self, redirection):
        return ["sh", "-c", f'exec "$@" {redirection}', "sh"]

    def test_a_closed_standard_output_is_reported_and_the_job_continues(self, muster, tmp_path):
        job = muster.run(
            "--nproc-per-node=2",
            "--log-dir",
            tmp_path / "logs",
            "--",
            "echo",
            "hi",
            through=self.close_at_start(">&-"),
        )

        assert job.code == 0
        assert job.said_about("standard output is closed, going on without it")
        assert (tmp_path / "logs/attempt_0/worker_1.out").read_text() == "hi\n"

    def test_a_worker_does_not_notice_that_standard_output_is_closed(self, muster):
        job = muster.run("--", "sh", "-c", "echo hi && exit 7", through=self.close_at_start(">&-"))

        assert job.code == 7

    def test_a_closed_standard_error_breaks_nothing(self, muster):
        job = muster.run(
            "--nproc-per-node=2",
            "--",
            "sh",
            "-c",
            "echo out; echo err >&2; exit 4",
            through=self.close_at_start("2>&-"),
        )

        assert job.code == 4
        assert "out" in job.out.text
        assert job.err.bytes == b""

    def test_all_streams_closed_break_nothing(self, muster):
        job = muster.run(
            "--nproc-per-node=2",
            "--",
            "sh",
            "-c",
            "echo out; exit 4",
            through=self.close_at_start("<&- >&- 2>&-"),
        )

        assert job.code == 4

    def test_a_broken_output_pipe_is_reported_and_the_job_continues(self, muster, worker, tmp_path):
        read_end, write_end = os.pipe()
        os.close(read_end)
        job = muster.start(
            "--nproc-per-node=2",
            "--log-dir",
            tmp_path / "logs",
            "--",
            worker("fill_the_pipe"),
            640_000,
            stdout=write_end,
        )
        os.close(write_end)

        assert job.end(3) == 0
        assert job.said_about("standard output is closed, going on without it")
        for rank in (0, 1):
            assert (tmp_path / f"logs/attempt_0/worker_{rank}.out").stat().st_size == 640_000

    def test_the_job_continues_after_head_has_exited(self, muster, worker):
        job = muster.run(
            "--nproc-per-node=2",
            "--",
            worker("fill_the_pipe"),
            640_000,
            through=["bash", "-c", '"$@" | head -n 3; exit ${PIPESTATUS[0]}', "bash"],
        )

        assert job.code == 0
        assert len(job.out.lines) == 3

    def test_a_full_device_as_standard_output_is_reported_once(
        self, muster, worker
    ):
        with open("/dev/full", "wb") as full:
            job = muster.run(
                "--nproc-per-node=2", "--", worker("fill_the_pipe"), 640_000, stdout=full
            )

        assert job.code == 0
        assert job.said_about("standard output", "No space left on device", "going on without it")

    def test_a_full_device_under_standard_error_breaks_nothing(self, muster):
        with open("/dev/full", "wb") as full:
            job = muster.run(
                "--nproc-per-node=2", "--", "sh", "-c", "echo out; exit 4", stderr=full
            )

        assert job.code == 4
        assert "out" in job.out.text


class TestUnfinishedLines:
    """Of several workers, on a console that is no terminal."""

    def start(self, muster, tmp_path, script, *options, **more):
        os.mkfifo(tmp_path / "go")
        return muster.start("--nproc-per-node=2", *options, "--", "sh", "-c", script, **more)

    def test_a_quiet_unfinished_line_is_shown_and_the_rest_as_the_next_one(self, muster, tmp_path):
        job = self.start(
            muster,
            tmp_path,
            "[ $RANK = 1 ] || exit 0; printf Loading...; read line < go; echo ' done'; printf '? ' >&2",
            "--log-dir",
            tmp_path / "logs",
        )
        job.out.wait_for("[1] Loading...\n")
        (tmp_path / "go").write_text("\n")

        assert job.end() == 0
        assert job.out.text == "[1] Loading...\n[1]  done\n"
        assert "[1] ? " in job.err.lines
        assert (tmp_path / "logs/attempt_0/worker_1.out").read_text() == "Loading... done\n"
        assert (tmp_path / "logs/attempt_0/worker_1.err").read_text() == "? "

    def test_without_a_prefix_a_reader_gets_the_workers_bytes(self, muster, tmp_path):
        script = "[ $RANK = 1 ] || { sleep 1; echo other; exit 0; }; printf Loading...; read line < go; echo ' done'"
        job = self.start(muster, tmp_path, script, "--prefix=never")
        job.out.wait_for("other\n")
        (tmp_path / "go").write_text("\n")

        assert job.end() == 0
        assert sorted(job.out.lines) == ["Loading... done", "other"]


class TestAFullDisk:
    """Standard output is a file on a disk that is full for a while."""

    EARLY = [f"early {i:06}" for i in range(1, 3001)]  # more than fits, and less than the room that there is later
    LATE = [f"late {i}" for i in range(1, 101)]
    PRINT = "seq -f 'early %06g' 3000; read line < room; seq -f 'late %g' 100"

    @pytest.fixture
    def console(self, small_disk, tmp_path):
        os.mkfifo(tmp_path / "room")
        (small_disk / "ballast").write_bytes(bytes(60 << 10))
        with open(small_disk / "job.log", "ab") as file:
            yield file

    def lines(self, console):
        return pathlib.Path(console.name).read_text().splitlines()

    def make_room(self, console, tmp_path):
        wait_until(lambda: len(self.lines(console)) > 100, "a part of the lines to be on the disk")
        pathlib.Path(console.name).with_name("ballast").unlink()
        with open(tmp_path / "room", "w") as room:
            room.write("\n")

    def writer_sleeps(self, job):
        stats = [pathlib.Path(f"/proc/{child.pid}/stat").read_text() for child in processes.children_of(job.agent())]
        (writer,) = [stat for stat in stats if "(muster-files)" in stat]
        return "(muster-files) S" in writer

    def assert_that_missing_lines_were_counted(self, said, lines, expected):
        """Lines are whole, but for those in which the disk was full."""
        whole = [line for line in lines if line in set(expected)]
        torn = [line for line in lines if line not in set(expected)]
        lost = [int(n) for n in re.findall(r"(\d+) console lines? lost while", said)]
        assert len(torn) <= len(lost), torn
        assert all(any(line.startswith(part) for line in expected) for part in torn), torn
        assert whole == [line for line in expected if line in set(whole)]
        assert sum(lost) == len(expected) - len(whole) > 0

    def test_only_what_did_not_fit_is_lost_and_its_number_is_said(self, muster, console, tmp_path):
        job = muster.start("--", "sh", "-c", self.PRINT, stdout=console)
        job.err.wait_for("cannot write to standard output: No space left on device")

        self.make_room(console, tmp_path)

        assert job.end() == 0
        lines = self.lines(console)
        assert lines[-100:] == self.LATE
        self.assert_that_missing_lines_were_counted(job.err.text, lines, self.EARLY + self.LATE)
        assert "standard output could not be written: No space left on device" in job.err.text

    def test_the_report_of_a_failure_is_written_once_there_is_room(self, muster, console, tmp_path):
        job = muster.start(
            "--", "sh", "-c", self.PRINT + "; exit 9", stdout=console, stderr=console
        )
        wait_until(lambda: os.statvfs(console.name).f_bfree == 0, "the disk to be full")
        wait_until(lambda: self.writer_sleeps(job), "the rest to have been tried")

        self.make_room(console, tmp_path)

        assert job.end() == 9
        text = pathlib.Path(console.name).read_text()
        assert "rank 0 failed first" in text and "muster: exit code 9" in text
        complaint = "muster: cannot write to standard error: No space left on device, going on without it"
        lines = [line for line in text.splitlines() if not line.startswith("muster: ") or line == complaint]
        assert re.search(r"\d+ console lines? lost while", text)
        # The line in which the disk was full may be in two parts: a line of the other stream of this file between them.
        assert all(any(line in one for one in [*self.EARLY, complaint, *self.LATE]) for line in lines)

    def test_lines_that_never_fitted_are_counted_at_the_end(self, muster, console):
        job = muster.run("--", "seq", "-f", "early %06g", 3000, stdout=console)

        assert job.code == 0
        self.assert_that_missing_lines_were_counted(job.err.text, self.lines(console), self.EARLY)
