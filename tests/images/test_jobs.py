"""One file runs jobs and gangs in Debian 11, in a busybox root, and in an empty one."""

import json
import signal

import pytest

ROOTS = ("debian11", "busybox", "bare")
IN_EVERY_ROOT = pytest.mark.parametrize("root", ROOTS)
NO_PROC = (
    "'/proc' does not show the processes that are here, going on without it: muster neither finds nor ends "
    "a process that leaves its worker's process group, and does not see limits of CPUs: /proc cannot be read"
)
NO_TMP = (
    "cannot make a folder below '/tmp': No such file or directory; the workers' error files are not collected and the job "
    "cannot be asked from outside, going on without (TMPDIR names another place)"
)


@IN_EVERY_ROOT
def test_a_job_succeeds_and_its_logs_are_written(images, image, programs, root):
    place = image(root)

    job = images.run(place, "--nproc-per-node=2", "--log-dir=/logs", programs.worker("print_rank"))

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == [
        f"[{rank}] rank {rank} of 2, local rank {rank} of 2, node 0 of 1" for rank in (0, 1)
    ]
    assert "rank 1 of 2" in place.read("/logs/attempt_0/worker_1.out")


@IN_EVERY_ROOT
def test_a_failure_is_named_and_reported(images, image, programs, root):
    place = image(root)
    worker = programs.worker("fail_on_rank")

    job = images.run(place, "--nproc-per-node=2", "--report=/report.json", worker, 1, 7)

    assert job.code == 7, job.words()
    assert "exit code 7" in job.said_about("rank 1 failed first")
    job.said_about("| rank 1 gives up")
    assert json.loads(place.read("/report.json"))["exit_code"] == 7


@IN_EVERY_ROOT
def test_a_signal_ends_the_job(images, image, programs, root):
    job = images.start(image(root), "--nproc-per-node=2", programs.worker("fail_on_rank"), 9, 0)
    job.out.wait_for("waiting", times=2)

    job.signal(signal.SIGTERM)

    assert job.end() == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    "roots",
    [*((root, root) for root in ROOTS), ("debian11", "busybox"), ("bare", "debian11")],
    ids="+".join,
)
def test_a_gang_with_a_token_meets_at_a_name(images, image, programs, port, roots):
    places = [image(root) for root in roots]
    for place in places:
        place.write("/etc/hosts", "127.0.0.1 leader-0.llm\n")

    jobs = images.start_gang(places, "leader-0.llm", port, programs.worker("print_rank"))

    assert [job.end() for job in jobs] == [0, 0], "\n".join(job.words() for job in jobs)
    for node, job in enumerate(jobs):
        assert job.out.lines == [f"[{node}:{node}] rank {node} of 2, local rank 0 of 1, node {node} of 2"]
        assert "not encrypted" not in job.err.text


def test_a_failure_in_one_image_ends_the_gang_in_another(images, image, programs, port):
    places = [image("debian11"), image("bare")]

    jobs = images.start_gang(places, "127.0.0.1", port, programs.worker("fail_on_rank"), 1, 7)

    assert [job.end() for job in jobs] == [7, 7], "\n".join(job.words() for job in jobs)
    assert "node 1" in jobs[0].said_about("rank 1 failed first")


def test_the_python_of_debian_11_is_started(images, image):
    place = image("debian11")
    place.write("/train.py", "import os, sys\nprint(sys.version_info[:2], os.environ['RANK'])\n")

    job = images.run(place, "--nproc-per-node=2", "/train.py")

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == ["[0] (3, 9) 0", "[1] (3, 9) 1"]


def test_in_a_bare_image_each_missing_guarantee_is_reported_once(images, image, programs):
    job = images.run(image("bare"), "--nproc-per-node=2", programs.worker("print_rank"))

    assert job.said[:2] == [NO_TMP, NO_PROC]
    assert len(job.said) == 4, job.words()  # the line at the start, and the one at the end


@pytest.mark.parametrize("root", ["debian11", "busybox"])
def test_in_a_full_image_no_missing_guarantee_is_reported(images, image, programs, root):
    job = images.run(image(root), "--nproc-per-node=2", programs.worker("print_rank"))

    assert len(job.said) == 2, job.words()


@pytest.mark.parametrize(
    "question",
    [["--version"], ["--help"], ["explain"], ["plan", "--", "/print_rank"], ["plan", "--json", "/print_rank"]],
    ids=" ".join,
)
def test_in_a_bare_image_queries_are_answered(images, image, programs, question):
    programs.worker("print_rank")

    job = images.run(image("bare"), *question)

    assert (job.code, job.err.text) == (0, "")
    assert job.out.text


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--tee=3", "/print_rank"], 71, "cannot make a folder for log files below '/tmp': No such file or directory"),
        (["--report=/no/report.json", "/print_rank"], 64, "No such file or directory"),
        (["no-such-program"], 127, "cannot run 'no-such-program': not found in PATH"),
        (["train.py"], 127, "cannot run 'python3': not found in PATH"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_in_a_bare_image_unavailable_features_are_refused(images, image, programs, arguments, code, words):
    programs.worker("print_rank")
    place = image("bare")
    place.write("/train.py", "")

    job = images.run(place, *arguments)

    assert job.code == code, job.words()
    job.said_about(words)


def test_a_temporary_folder_elsewhere_brings_the_error_files_back(images, image, programs):
    place = image("bare")
    place.write("/scratch/keep", "")

    job = images.run(place, programs.worker("print_rank"), env={"TMPDIR": "/scratch"})

    assert job.code == 0
    assert NO_TMP not in job.said
    assert [path.name for path in (place.changes / "scratch").iterdir()] == ["keep"]


def test_muster_runs_as_pid_1_of_an_empty_container(images, image, programs):
    container = ["unshare", "--pid", "--fork", "--kill-child"]

    job = images.run(
        image("bare"), "--nproc-per-node=2", programs.worker("fail_on_rank"), 1, 7, around=container
    )

    assert job.code == 7, job.words()
    job.said_about("rank 1 failed first")


CLOSED = {"none": "", "input": "<&-", "output": ">&-", "errors": "2>&-", "all": "<&- >&- 2>&-"}


@pytest.mark.parametrize("device", [True, False], ids=["null", "no-null"])
@pytest.mark.parametrize("closed", CLOSED)
def test_standard_streams_may_be_closed(images, image, programs, device, closed):
    place = image("bare")
    if not device:
        place.remove("/dev/null")
    shell = ["sh", "-c", f'exec "$@" {CLOSED[closed]}', "sh"]

    job = images.run(
        place, "--log-dir=/logs", "--nproc-per-node=2", programs.worker("fail_on_rank"), 1, 7, around=shell
    )

    assert job.code == 7, job.words()
    assert place.read("/logs/attempt_0/worker_1.err") == "rank 1 gives up\n"
    assert job.err.text.count("standard output is closed") == (closed == "output")


def test_a_worker_without_dev_null_reads_end_of_file(images, image):
    place = image("busybox")
    place.remove("/dev/null")

    job = images.run(place, "--nproc-per-node=2", "/bin/sh", "-c", "cat && echo at its end")

    assert job.code == 0, job.words()
    assert sorted(job.out.lines) == ["[0] at its end", "[1] at its end"]
