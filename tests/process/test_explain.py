"""`muster explain` about an exit code, a message or a word; about a program it stays the table of values."""

import json

import pytest


def answer(muster, *words):
    job = muster.run("explain", *words)
    assert job.code == 0, job.err.text
    return job.out.text


def is_table(text):
    return text.startswith("FIELD ")


@pytest.mark.parametrize("code", [1, 64, 65, 69, 71, 75, 78, 85, 86, 126, 127, 129, 130, 131, 134, 137, 139, 143])
def test_an_exit_code_says_what_it_means_where_to_look_and_what_to_do(muster, code):
    lines = answer(muster, code).splitlines()

    assert lines[0].split(",")[0] == f"exit code {code}"
    assert lines[2].startswith("  Look here: ") and lines[3].startswith("  What to do: ")
    assert lines[-1] == "  (docs/job-failures.md, Exit codes)"


def test_137_speaks_of_memory(muster):
    assert "memory limit" in answer(muster, "137")
    assert "memory limit" in json.loads(answer(muster, "--json", "137"))["remedy"]


@pytest.mark.parametrize("line", [" 69 ", "exit code 69: a node was lost; start the job again elsewhere", "muster: exit code 69"])
def test_the_last_line_of_a_job_is_its_exit_code(muster, line):
    assert answer(muster, line) == answer(muster, "69")


def test_a_signal_is_the_exit_code_of_its_death(muster):
    assert answer(muster, "SIGKILL") == answer(muster, "137")
    assert answer(muster, "SIGSEGV") == answer(muster, "139")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["exit code: 137"], 137),
        (["Exit", "Code:", "137"], 137),
        (["Exit Code:    137"], 137),
        (["exit", "status", "137"], 137),
        (["code 137"], 137),
        (["exitcode", ":", "1"], 1),
        (["exitcode  : -9 (pid: 4711)"], 137),
        (["failed (exitcode: -11) local_rank: 0 (pid: 30) of binary: /usr/bin/python3"], 139),
        (["the container exited with code 137"], 137),
        (["exit 1"], 1),
        (["69:"], 69),
        (["sigkill"], 137),
        (["hang"], 86),
        (["Hangs"], 86),
        (["returncode=1"], 1),
        (["srun: error: gpu-7: task 3: Exited with exit code 9"], 9),
        (["signal 9"], 137),
        (["signal SIGABRT (Aborted), core dumped"], 134),
        (["Signals.SIGKILL"], 137),
        (["-9"], 137),
        (["returned -9"], 137),
        (["rc=137"], 137),
        (["subprocess.CalledProcessError: Command '['x']' died with <Signals.SIGSEGV: 11>."], 139),
    ],
)
def test_an_exit_code_is_known_in_the_words_of_others(muster, words, code):
    assert answer(muster, *words) == answer(muster, code)


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (["muster: stopped by SIGHUP"], "stopped by SIGTERM"),
        (["12.250 muster: stopped by SIGHUP"], "stopped by SIGTERM"),
        (["--history is 'x', expected a number of jobs from 0 to 1000"], "--history is"),
        (["--nproc-per-node stands after the program and belongs to it"], "--nproc-per-node stands after"),
        (["rank", "1", "failed", "first"], "rank 5 failed first"),
        (["rank 1 failed first: node 2 (gpu-7), local rank 1, pid 99, exit code 3, after 9 s, attempt 0"], "rank 17 failed first"),
        (["OOMKilled"], "OOMKilled"),
        (["the pod was OOMKilled"], "OOMKilled"),
        (["CUDA", "out", "of", "memory"], "CUDA out of memory"),
        (["Connection closed by peer"], "Connection closed by peer"),
        (["NCCL WARN"], "NCCL WARN"),
        (["stopped by muster: ranks 0-1"], "stopped by muster: ranks"),
        (["[gpu-17] muster: stopped by muster: ranks 0-1"], "stopped by muster: ranks"),
        (["failed", "first"], "failed first"),
        (["OOM"], "OOM"),
        (["oom:"], "OOM"),
        (["disk full"], "disk full"),
        (["ncclSystemError"], "ncclSystemError"),
        (["NCCLSYSTEMERROR"], "ncclSystemError"),
        (["Evicted"], "Evicted"),
        (["preempted"], "Preempted"),
        (["Preempting"], "Preempting"),
        (["DeadlineExceeded"], "DeadlineExceeded"),
        (["Segmentation fault"], "Segmentation fault"),
        (["Segmentation fault (core dumped)"], "Segmentation fault"),
        (["Bus", "error"], "Bus error"),
        (["exit code 137: the job was asked to end from outside"], "stopped by SIGKILL"),
        (["the job hangs"], "the job hangs"),
        (["stuck"], "stuck"),
        (["node lost"], "node lost"),
        (["lost"], "lost"),
        (["ENOSPC"], "ENOSPC"),
        (["oom-kill"], "oom-kill"),
        (["OSError: [Errno 98] Address already in use"], "Address already in use"),
        (["ConnectionRefusedError: [Errno 111] Connection refused"], "Connection refused"),
        (["ModuleNotFoundError: No module named 'torch'"], "No module named 'torch'"),
        (["bdb.BdbQuit"], "bdb.BdbQuit"),
    ],
)
def test_a_message_or_a_word_is_found(muster, words, begins):
    text = answer(muster, *words)

    assert text.startswith(f"a message like: {begins}")
    assert "(docs/" in text


def test_a_meaning_is_whole_sentences(muster):
    assert "\n  The GPU had no memory left. Use " in answer(muster, "CUDA out of memory")


def test_a_word_of_the_messages_that_is_a_program_too_is_answered_with_the_other_way(muster):
    text = answer(muster, "timeout")

    assert text.startswith("a message like: timeout")
    assert text.endswith("\nFor the values of the program 'timeout': muster explain -- timeout\n")
    assert isinstance(json.loads(answer(muster, "--json", "timeout")), list)
    assert is_table(answer(muster, "--", "timeout"))
    assert is_table(answer(muster, "timeout", "5", "true"))


def test_a_word_without_a_row_says_which_are_known(muster):
    assert "known are codes such as 69, signals such as SIGKILL" in muster.run("explain", "nonsense-here").err.text


def test_no_report_of_a_job_says_what_75_is(muster):
    assert "or 'muster last' found no report" in answer(muster, "no report of a job of this user is kept")


def test_a_number_of_ranks_in_a_meaning_is_no_exit_code(muster):
    assert "exit code" not in answer(muster, "the job has not moved for 3 s: 3 of 4 ranks have ended, and not rank 3")


@pytest.mark.parametrize("word", ["hang", "hung", "the job hangs", "stuck"])
def test_a_hang_names_the_command_that_shows_where_ranks_are(muster, word):
    assert "'muster stacks' shows where each rank is" in answer(muster, word)


def test_a_reference_names_its_page(muster):
    assert "see out of memory in docs/troubleshooting.md" in answer(muster, "OOM")


@pytest.mark.parametrize("text", ["lost the race for the best checkpoint", "the optimizer is stuck at a plateau"])
def test_a_usual_word_in_a_longer_text_tells_nothing(muster, text):
    assert muster.run("explain", text).code == 64


def test_an_exit_code_in_a_meaning_is_explained_too(muster):
    assert "127 is the exit code: The program does not exist" in answer(muster, "cannot run './nosuch': not found")


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense-here"], ["300"], ["069"], ["64 65"], ["64", "65"], ["-"], ["Epoch 3, loss 0.2"], ["hello"], ["rank"], ["signal"], ["code-"],
        ["signals"], ["SIGNOTHING"], ["worker 3"], ["rank 0"], ["loss is nan"], ["tensor of shape 3"],
    ],
)  # fmt: skip
def test_what_is_nothing_of_muster_is_refused(muster, words):
    job = muster.run("explain", *words)

    assert job.code == 64
    assert "'" + " ".join(words) + "'" in job.err.text and job.out.text == ""


def test_a_message_that_begins_with_an_option_is_to_be_quoted(muster):
    for words in (["--nnodes", "got", "'x'"], ["--nnode", "is", "4"]):
        job = muster.run("explain", *words)

        assert job.code == 64
        assert job.said[-1].endswith("; to explain a message, quote it: muster explain 'TEXT'")
    (muster.folder / "train.py").write_text("")
    assert "quote" not in muster.run("explain", "--nnodes", "x", "train.py", "3").err.text


@pytest.mark.parametrize(
    "words",
    [[], ["train.py"], ["sh"], ["--", "anything"], ["--", "69"], ["--nproc-per-node", "2", "nosuch.py"], ["nosuch.py", "--lr", "0.1"]],
)
def test_about_a_program_it_stays_the_table(muster, words):
    (muster.folder / "train.py").write_text("")

    assert is_table(answer(muster, *words))
