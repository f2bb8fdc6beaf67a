"""The start of MPI ranks by ssh: keys that its sshd accepts, and programs that an image or a host lacks."""

import subprocess

import pytest

from support.mpi import MEETINGS, MpiJob, path_without

PORT = 36666  # where sshd listens when nobody says anything
pytestmark = pytest.mark.parametrize("way", ["ssh"])


def make_key(folder, name="given"):
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
    subprocess.run(command, check=True, timeout=30)
    return folder / name


def assert_refused(job, code, words):
    """Before anything is started, on all nodes."""
    assert job.run() == [code, code], job.words()
    assert words in job.jobs[0].err.text, job.words()
    assert not list(job.scratch.rglob("*_config"))


def test_a_missing_sshd_is_reported(mpi):
    job = mpi("init_thread", nodes=2, options=["--set", "sshd=/nosuch/sshd"])

    assert_refused(job, 71, "node 1 (")
    assert "there is no program '/nosuch/sshd'" in job.jobs[1].err.text


def test_a_missing_ssh_is_reported(mpi, tmp_path):
    job = mpi("init_thread", nodes=2)
    path = path_without(tmp_path / "bin", "ssh")

    assert job.run(env={"PATH": path}) == [71, 71], job.words()
    assert "there is no program 'ssh'" in job.jobs[0].err.text


def test_a_world_readable_user_key_is_used(mpi, tmp_path):
    key = make_key(tmp_path)
    key.chmod(0o644)
    job = mpi("init_thread", nodes=2, options=["--set", f"ssh_key={key}"])
    job.has_token = False

    assert job.run() == [0, 0], job.words()
    assert len(job.lines) == 2


def test_the_jobs_sshd_refuses_other_keys(mpi, hosts, tmp_path):
    job = mpi("end_as_told", MEETINGS, "1=exit7", nodes=2).start_all().wait_for_ranks()
    options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
    words = [word for option in options for word in ("-o", option)]

    key = make_key(tmp_path)
    shell = ["ssh", "-F", "/dev/null", "-i", key, "-p", str(PORT), *words, hosts.address(1), "true"]
    hosts.apart, apart = None, hosts.apart
    done = hosts.run(0, *map(str, shell))
    hosts.apart = apart

    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr
    job.tell(1)
    assert set(job.end().values()) == {7}, job.words()


def test_a_taken_sshd_port_is_replaced(mpi, hosts):
    apart, hosts.apart = hosts.apart, None
    listen = f"import socket; s = socket.create_server(('', {PORT})); print('here', flush=True); input()"
    other = hosts.start(1, "/usr/bin/python3", "-c", listen, stdin=subprocess.PIPE)
    try:
        assert other.stdout.readline() == "here\n"
        hosts.apart = apart
        job = mpi("init_thread", nodes=2)

        assert job.run() == [0, 0], job.words()
        assert f"port {PORT} is taken on this host: sshd gets port" in job.jobs[1].err.text
    finally:
        other.communicate("\n")


def test_two_jobs_start_at_the_same_moment(mpi, hosts, muster):
    jobs = [mpi("init_thread", nodes=2), None]
    jobs[1] = MpiJob(muster, hosts, "ssh", jobs[0].command, 2, 1, ())
    for job in jobs:
        job.start_all()

    for job in jobs:
        assert set(job.end(60).values()) == {0}, job.words()
