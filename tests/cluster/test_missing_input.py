"""A node whose input is missing has joined but is not ready: the leader names it and starts no node before it is."""

import pytest

TEMPLATE = """mode: own
parameters: [{name: table}]
inputs:
  - {file: "{table}", what: rank table, until: {field: status, is: completed}}
roles:
  - name: worker
    count: per device
    environment: {RANK: "{global_rank}", WORLD_SIZE: "{world_size}", RESTART: "{attempt}"}
"""


@pytest.fixture
def tables(muster, tmp_path):
    """The table of each node, of which node 0 has its own."""
    template = tmp_path / "own.yaml"
    template.write_text(TEMPLATE)
    named = [tmp_path / f"table-{node}.json" for node in range(2)]
    named[0].write_text('{"status": "completed"}')
    return template, named


def start(gang, tables, *options, nodes=2):
    template, named = tables
    job = gang(nodes, f"--template={template}", *options, command=["echo", "started"])
    for node, table in enumerate(named):
        job.start(node, f"--set=table={table}")
    return job


def test_the_leader_names_the_waiting_node_and_starts_when_ready(gang, tables):
    table = tables[1][1]
    job = start(gang, tables)
    job.jobs[1].err.wait_for(f"waiting for the rank table '{table}': missing")
    job.jobs[0].err.wait_for(f"waits for its rank table '{table}': missing")
    assert all(one.out.text == "" for one in job.jobs.values())

    table.write_text('{"status": "completed"}')
    job.assert_codes(0)
    assert all("started" in one.out.text for one in job.jobs.values())


def test_an_input_withdrawn_before_the_start_is_waited_for_again(gang, tables):
    template, (own, other) = tables
    other.write_text('{"status": "completed"}')
    job = gang(2, f"--template={template}", "--verbose", command=["echo", "started"])
    job.start(0, f"--set=table={own}")
    job.jobs[0].err.wait_for("leader ")
    own.write_text('{"status": "initializing"}')
    job.jobs[0].err.wait_for(f"waiting for the rank table '{own}': initializing")
    job.start(1, f"--set=table={other}")
    job.jobs[0].err.wait_for("is here: 2 of 2 nodes")
    assert all(one.out.text == "" for one in job.jobs.values())

    own.write_text('{"status": "completed"}')
    job.assert_codes(0)


@pytest.mark.parametrize("late, seconds", [pytest.param(0, 10, marks=pytest.mark.full), (1, 1)])
def test_after_the_inputs_timeout_all_nodes_exit_75_with_the_reason(gang, tables, late, seconds):
    if late == 0:
        tables[1][0].rename(tables[1][1])
    job = start(gang, tables, f"--inputs-timeout={seconds}")

    job.assert_codes(75)
    for report in job.reports().values():
        assert report["verdict"] == "incomplete"
        assert report["reason"].startswith(f"node {late}")
        assert f"in vain: rank table '{tables[1][late]}': missing" in report["reason"]


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_input_that_is_wrong_ends_the_job_on_all_nodes(gang, tables, wrong):
    table = tables[1][wrong]
    if wrong == 0:
        table.rename(tables[1][1])
    job = start(gang, tables, "--verbose")
    job.jobs[wrong].err.wait_for(f"waiting for the rank table '{table}': missing")
    job.jobs[1].err.wait_for("knows this node as node 1")

    table.write_text("[]")
    job.assert_codes(65)
    for report in job.reports().values():
        assert report["reason"].startswith(f"node {wrong}")
        assert report["reason"].endswith(f"'{table}' is no JSON object")


def start_when_both_are_here(gang, tables, *options):
    """A job that may be of one node: its leader is ready, and the last call begins, when both are here."""
    own = tables[1][0]
    text = own.read_text()
    own.unlink()
    job = start(gang, tables, "--last-call=0.5", "--verbose", *options, nodes="1:2")
    job.jobs[0].err.wait_for("is here: 2 of 1 to 2 nodes")
    own.write_text(text)
    return job


def test_an_elastic_job_starts_without_a_node_that_is_not_ready(gang, tables):
    table = tables[1][1]
    job = start_when_both_are_here(gang, tables)

    job.assert_codes(0, node_1=78)
    assert "started" in job.jobs[0].out.text
    assert job.jobs[0].report["gang"] is None, "it was a job of one node"
    assert (
        "the job starts without this node, which still waits for its rank table "
        f"'{table}': missing" in job.jobs[1].report["reason"]
    )
    assert job.jobs[1].out.text == ""


def test_a_node_that_is_not_ready_is_a_spare_in_restartable_jobs(gang, tables):
    job = start_when_both_are_here(gang, tables, "--max-restarts=1")

    job.assert_codes(0)
    assert "started" in job.jobs[0].out.text
    assert job.jobs[0].said_about("still waits for its rank table", "starting without it")
    assert job.jobs[1].said_about("this node is a spare")
    assert job.jobs[1].said_about("this one was not needed")
