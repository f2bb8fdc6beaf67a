"""Environment variables reach every rank of MPI unchanged, and no other process."""

from pathlib import Path

import pytest

from support.mpi import MEETINGS

SECRET = "s3cret-of-the-test"
VALUES = {
    "T_BLANKS": "  two  words ",
    "T_SEMICOLON": "a;b=c;d",
    "T_QUOTES": "it's \"quoted\" \\ and `not` $run",
    "T_LINES": "one\ntwo\n\nfour\n",
    "T_JSON": '{"a": [1, "x y"], "b": null}',
    "T_EMPTY": "",
    "T_UTF8": "für 東京",
    "T_LARGE": "x" * 65536,
    "T_EQUALS": "==a=b",
    "T.dot": "no name for a shell",
    "T-dash x": "",
    "BASH_FUNC_f%%": "() {  echo 1\n}",
    "AWS_SECRET_ACCESS_KEY": SECRET,
}


def assert_nobody_can_read(secret, job):
    """Neither in the words of a process, nor in a file of the job."""
    words = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if is_there(path)]
    assert len(words) > 10
    assert not [one for one in words if secret.encode() in one]
    folders = (job.scratch, job.hosts.apart)
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert not [file for file in files if secret.encode() in file.read_bytes()]


def is_there(path):
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


def test_values_are_the_same_on_every_rank_and_in_no_file(mpi):
    job = mpi("write_environment", MEETINGS, nodes=2, ranks=2)
    job.start_all(env=VALUES).wait_for_ranks()

    try:
        assert_nobody_can_read(SECRET, job)
    finally:
        job.tell(*range(4))

    assert set(job.end(60).values()) == {0}, job.words()
    for rank in range(4):
        text = (job.meetings / f"environment-{rank}").read_bytes()
        found = dict(one.split(b"=", 1) for one in text.split(b"\0") if b"=" in one)
        assert {name: found.get(name.encode(), b"?").decode() for name in VALUES} == VALUES
        assert found[b"OMPI_COMM_WORLD_RANK"] == str(rank).encode()


def test_an_excluded_interface_is_passed_without_an_included_one(mpi, program):
    script = 'echo "$OMPI_MCA_btl_tcp_if_exclude, not ${OMPI_MCA_btl_tcp_if_include-said}"; exec "$0"'
    job = mpi(["sh", "-c", script, *program("init_thread")], nodes=2)

    assert job.run(env={"OMPI_MCA_btl_tcp_if_exclude": "docker0,lo"}) == [0, 0], job.words()

    assert job.lines[:2] == ["docker0,lo, not said"] * 2


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [(None, "10.77.0.10/31"), ("eth0,bond0", "eth0"), ("bond0", "10.77.0.10/31")],
    ids=["none", "one of two", "one that is not here"],
)
def test_mpi_uses_the_interfaces_that_reach_other_hosts(mpi, hosts, program, wanted, taken):
    for node in range(2):
        hosts.network.add_bridge(node)
    script = 'echo "by $OMPI_MCA_btl_tcp_if_include"; exec "$0"'
    job = mpi(["sh", "-c", script, *program("init_thread")], nodes=2)

    assert job.run(env={"MY_MPI_BTL_TCP_IF": wanted} if wanted else {}) == [0, 0], job.words()

    assert job.lines[:2] == [f"by {taken}"] * 2
    for node in range(2):
        said = "MY_MPI_BTL_TCP_IF names 'bond0', which this host does not have" in job.jobs[node].err.text
        assert said == bool(wanted)


@pytest.mark.parametrize("way", ["pmix", "agent"])
def test_a_user_without_passwd_entry_and_home_runs_a_job(mpi):
    stranger = ["unshare", "--user", "--map-user=12345", "--map-group=12345", "env", "-u", "HOME"]
    job = mpi("init_thread", nodes=2)

    assert job.run(through=stranger) == [0, 0], job.words()

    assert job.lines == [f"rank {rank} of 2: threads multiple" for rank in range(2)]
