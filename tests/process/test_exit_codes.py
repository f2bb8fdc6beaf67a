"""Exit codes of muster: codes and signals of the workers pass through."""

import os
import signal

import pytest

# Signals that do not end a process by default.
_HARMLESS = {
    signal.SIGCHLD,
    signal.SIGCONT,
    signal.SIGSTOP,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGURG,
    signal.SIGWINCH,
}
FATAL_SIGNALS = [number for number in range(1, 65) if number not in _HARMLESS]


@pytest.mark.kernel
def test_exit_codes_of_a_worker_pass_through(muster):
    codes = (0, 1, 2, 42, 127, 128, 137, 255)

    ends = {code: muster.run("--", "/bin/sh", "-c", f"exit {code}").code for code in codes}

    assert ends == {code: code for code in codes}


def test_every_fatal_signal_of_a_worker_is_128_plus_its_number(muster, worker):
    dying = worker("raise_signal")

    ends = {number: muster.run("--", dying, number).code for number in FATAL_SIGNALS}

    assert ends == {number: 128 + number for number in FATAL_SIGNALS}


def test_the_report_calls_every_standard_signal_by_its_name(muster, worker):
    names = {number: signal.Signals(number).name for number in FATAL_SIGNALS if number < 32}
    names[signal.SIGIO] = ("SIGIO", "SIGPOLL")  # two names of one signal

    for number, name in names.items():
        line = muster.run("--", worker("raise_signal"), number).said_about("failed first")
        assert any(f"signal {one} " in line for one in ([name] if isinstance(name, str) else name))


def test_success_of_all_workers_is_0_with_one_log_line(muster):
    job = muster.run("--nproc-per-node=4", "--", "true")

    assert job.code == 0
    assert job.out.bytes == b""
    assert len(job.said) == 2, job.said  # the line of the start and that of the end
    assert "4 workers succeeded in " in job.said[-1]


def test_one_failed_worker_of_four_decides_the_exit_code(muster, worker):
    job = muster.run("--nproc-per-node=4", "--", worker("fail_on_rank"), 2, 7)

    assert job.code == 7
    assert "rank 2 " in job.said_about("failed first")


@pytest.mark.kernel
def test_the_first_failure_decides_the_exit_code_not_stopped_workers(
    muster, worker, tmp_path
):
    script = f"""if [ $RANK = 1 ]; then exec {worker("fail_on_rank")} 1 9 {tmp_path}/go; fi
                 exec {worker("echo_signals")} 5"""
    job = muster.start("--nproc-per-node=3", "--", "sh", "-c", script)
    job.out.wait_for("ready", times=2)

    (tmp_path / "go").touch()

    assert job.end() == 9


@pytest.mark.parametrize("code", [64, 71, 78, 85, 126, 127])
def test_a_worker_may_use_the_numbers_that_muster_uses_itself(muster, code):
    job = muster.run("--", "sh", "-c", f"exit {code}", report=True)

    assert job.code == code
    assert job.report["verdict"] == "failed"
    assert job.report["first_failure"]["exit_code"] == code


def cores_are_dumped(folder):
    """True if a crash leaves a core file here, where no limit forbids it."""
    crash = ["/bin/sh", "-c", f"cd {folder}; ulimit -c unlimited; exec sh -c 'kill -SEGV $$'"]
    pid = os.posix_spawn(crash[0], crash, os.environ)
    return os.WCOREDUMP(os.waitpid(pid, 0)[1])


@pytest.mark.plain_build
def test_a_core_file_is_mentioned(muster, tmp_path):
    expected = cores_are_dumped(tmp_path)

    job = muster.run("--", "sh", "-c", "kill -SEGV $$", through=["prlimit", "--core=unlimited"])

    assert job.code == 128 + signal.SIGSEGV
    assert ("core dumped" in job.said_about("failed first")) == expected


def test_no_core_file_is_not_mentioned(muster, worker):
    job = muster.run("--", worker("raise_signal"), int(signal.SIGSEGV))

    assert "core dumped" not in job.said_about("failed first")


@pytest.mark.parametrize("command", [["--", "true"], ["--hosts=localhost", "--", "true"], ["token"]], ids=str)
def test_refused_random_numbers_are_71(muster, worker, command):
    job = muster.run(*command, through=[worker("refuse"), "random"])

    assert job.code == 71, job.words()
    assert "cannot draw random numbers: getrandom: Operation not permitted" in job.err.text


@pytest.mark.plain_build
@pytest.mark.parametrize("kib", [64, 96, 511])
@pytest.mark.parametrize("command", [["--", "true"], ["--hosts=localhost", "--", "true"], ["--version"]], ids=str)
def test_a_small_limit_of_the_stack_is_71(muster, command, kib):
    job = muster.run(*command, through=["prlimit", f"--stack={kib << 10}"])

    assert job.code == 71, job.words()
    assert f"the limit of the stack is {kib} KiB (ulimit -s), expected at least 512 KiB" in job.err.text


@pytest.mark.plain_build
def test_the_smallest_limit_of_the_stack_suffices_and_is_the_workers(muster):
    variables = {"LONG": "x" * 100_000}  # takes of the stack what the kernel allows, nearly

    job = muster.run("--", "sh", "-c", "ulimit -s", env=variables, through=["prlimit", f"--stack={512 << 10}"])

    assert job.code == 0, job.words()
    assert job.out.text == "512\n"


@pytest.mark.parametrize(
    "command",
    [["token"], ["doctor"], ["plan", "--", "true"], ["explain", "--", "true"], ["--help"], ["--version"]],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(
    ("where", "why"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
    ids=["full", "closed"],
)
def test_a_failed_write_to_standard_output_is_71(muster, command, where, why):
    job = muster.run(*command, through=["sh", "-c", f'exec "$@" {where}', "sh"])

    assert job.code == 71
    assert job.err.text.endswith(f"muster: cannot write to standard output: {why}\n")
