"""Services beside the workers, and roles with a separate program: real templates and processes."""

import os
import signal
import stat

import pytest


def write_template(muster, text):
    path = muster.folder / "own.yaml"
    path.write_text(text)
    return f"--template={path}"


# --- A role's own program ------------------------------------------------------------------------

SCHEDULER = """mode: own
roles:
  - name: scheduler
    count: per job
    decides_success: false
    program: ["sh", "-c", "echo scheduler $0 of {world_size} $PORT", "{role_rank}"]
    environment: {PORT: "{worker_port}"}
  - name: worker
    program: ["env", "RANK={role_rank}", "{program}"]
"""


def test_no_program_is_required_where_every_role_has_one(muster):
    own = write_template(muster, 'mode: own\nroles:\n  - {name: w, program: ["echo", "mine"]}\n')
    job = muster.run(own, "--prefix=never")
    assert job.code == 0, job.words()
    assert job.out.lines == ["mine"]

    job = muster.run(write_template(muster, SCHEDULER))
    assert job.code == 64
    assert job.said_about("no program to run")


def test_roles_without_labels_are_not_all_called_workers(muster):
    options = ["--success-roles=worker,scheduler", "--nproc-per-node=1"]
    job = muster.run(write_template(muster, SCHEDULER), *options, "--", "true")

    assert job.code == 0, job.words()
    assert job.said_about("2 processes here")
    assert job.said_about("2 processes succeeded in")


@pytest.mark.full
def test_a_role_without_a_label_is_named_when_it_ends_early(muster):
    own = write_template(muster, SCHEDULER)
    job = muster.start(own, "--nproc-per-node=1", "--", "sleep", "1000")

    job.err.wait_for("while workers that it serves run on")
    job.signal(signal.SIGTERM)

    assert job.end(2) == 143
    assert job.said_about("rank 0 (scheduler) (pid ", "ended with exit code 0")


def test_two_roles_with_one_log_are_refused_where_logs_are_written(muster):
    own = "mode: own\nroles:\n  - {name: w, log: same}\n  - {name: x, log: same}\n"
    options = [write_template(muster, own), "--nproc-per-node=1"]

    job = muster.run(*options, f"--log-dir={muster.folder}/logs", "--", "true")
    assert job.code == 65
    assert job.said_about("/logs/same.out' would be written by both rank 0 (w) and rank 1 (x)")
    assert muster.run(*options, "--", "true").code == 0, "no file, no clash"


def test_an_old_error_file_is_not_reported(muster, tmp_path):
    file = tmp_path / "ef.json"
    file.write_text('{"message": "of yesterday"}')
    own = f"mode: own\nroles:\n  - {{name: w, error_file: {file}}}\n"
    job = muster.run(write_template(muster, own), "--", "false", report=True)

    assert job.code == 1
    assert job.report["first_failure"]["error_file"] is None
    assert "of yesterday" not in job.err.text
    assert not file.exists()


def test_a_role_may_have_a_separate_program(muster):
    options = ["--success-roles=worker,scheduler", "--nproc-per-node=2", "--prefix=never"]
    job = muster.run(
        write_template(muster, SCHEDULER), *options, "--", "sh", "-c", "echo worker $RANK $0", "x"
    )

    assert job.code == 0, job.words()
    said = sorted(job.out.lines)
    assert said[1:] == ["worker 0 x", "worker 1 x"]
    scheduler, port = said[0].rsplit(" ", 1)
    assert scheduler == "scheduler 0 of 3"
    assert port.isdigit(), "who uses {worker_port} need not name the service"


def test_a_scheduler_that_is_missing_is_named(muster):
    template = SCHEDULER.replace('"sh", "-c"', '"nosuch", "-c"')
    job = muster.run(write_template(muster, template), "--", "true")

    assert job.code == 127
    assert job.said_about("rank 0 could not be started", "cannot run 'nosuch'")


# --- Services ------------------------------------------------------------------------------------


def test_an_unknown_service_is_refused(muster):
    template = "mode: own\nservices: [store]\nroles:\n  - name: worker\n"
    job = muster.run(write_template(muster, template), "--", "true")

    assert job.code == 65
    assert job.said_about("names the unknown service 'store'; there are worker_port")


def files_template(muster, *files):
    lines = "".join(f"  - {{{fields}}}\n" for fields in files)
    return write_template(muster, f"mode: own\nroles:\n  - name: worker\nfiles:\n{lines}")


def test_files_have_their_permissions_whatever_the_umask_is(muster):
    path = muster.folder / "planned"
    template = files_template(muster, f'path: {path}, mode: "0666", content: text')
    job = muster.run(template, "--", "cat", path, through=["sh", "-c", 'umask 077; exec "$@"', "sh"])

    assert job.code == 0, job.words()
    assert job.out.lines == ["text"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_private_files_are_gone_when_the_workers_are(muster):
    kept, private = muster.folder / "kept", muster.folder / "private"
    template = files_template(
        muster, f"path: {kept}, content: a", f"path: {private}, content: b, private: true"
    )
    job = muster.run(template, "--nproc-per-node=1", "--", "cat", private)

    assert job.code == 0, job.words()
    assert job.out.lines == ["b"]
    assert kept.exists() and not private.exists()
    assert sorted(os.listdir(muster.folder)) == ["kept", "own.yaml"]


def test_a_file_that_cannot_be_written_is_the_first_failure(muster):
    template = files_template(muster, "path: /nosuch/a, content: x")
    job = muster.run(template, "--", "true", report=True)

    assert job.code == 71
    assert job.said_about("service 'planned_files' failed first", "cannot write '/nosuch/a'")
    assert job.report["first_failure"]["service"] == "planned_files"
    assert job.report["reason"] == "service failed"
    assert job.report["verdict"] == "failed"
