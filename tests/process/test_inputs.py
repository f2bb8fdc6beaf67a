"""Input files that another program writes are waited for before the start: one node, real files."""

import json
import os
import signal

import pytest

TEMPLATE = """mode: own
parameters: [{name: table}, {name: hosts}]
inputs:
  - {file: "{table}", what: rank table, until: {field: status, is: completed}}
  - {file: "{hosts}", what: host list}
roles:
  - name: worker
"""


@pytest.fixture
def table(muster):
    return muster.folder / "table.json"


def start(muster, table, *options, **more):
    template = muster.folder / "own.yaml"
    template.write_text(TEMPLATE)
    job = muster.start(
        f"--template={template}", f"--set=table={table}", *options, "--", "echo", "started", **more
    )
    return job


def expect_reason(job, table, reason):
    job.err.wait_for(f"waiting for the rank table '{table}': {reason}\n")
    assert job.out.text == ""


def expect_start(job):
    assert job.end() == 0, job.words()
    assert job.out.lines == ["started"]
    assert job.said_about("all inputs are here")


def test_an_existing_file_is_not_waited_for(muster, table):
    table.write_text('{"status": "completed"}')
    job = start(muster, table)

    assert job.end() == 0, job.words()
    assert not any("waiting" in line for line in job.said)


def test_a_file_renamed_into_place_is_noticed(muster, table):
    job = start(muster, table)
    expect_reason(job, table, "missing")

    beside = muster.folder / "beside"
    beside.write_text('{"status": "completed"}')
    beside.rename(table)
    expect_start(job)


def test_a_file_written_in_place_is_read_when_complete(muster, table):
    job = start(muster, table)
    expect_reason(job, table, "missing")
    table.write_text('{"status": "init')
    expect_reason(job, table, "torn")
    table.write_text('{"status": "initializing"}')
    expect_reason(job, table, "initializing")

    table.write_text('{"status": "completed"}')
    expect_start(job)


def test_a_file_in_a_folder_created_later_is_noticed(muster):
    table = muster.folder / "made" / "later" / "table.json"
    job = start(muster, table)
    expect_reason(job, table, "missing")

    table.parent.mkdir(parents=True)
    table.write_text('{"status": "completed"}')
    expect_start(job)


def test_a_config_map_update_by_symlinks_is_noticed(muster):
    """As Kubernetes mounts a ConfigMap: the file is a link into a folder that another link names."""
    folder = muster.folder / "mounted"
    for version, status in (("old", "initializing"), ("new", "completed")):
        (folder / version).mkdir(parents=True)
        (folder / version / "table.json").write_text(f'{{"status": "{status}"}}')
    (folder / "..data").symlink_to("old")
    (folder / "table.json").symlink_to("..data/table.json")
    job = start(muster, folder / "table.json")
    expect_reason(job, folder / "table.json", "initializing")

    (folder / "..tmp").symlink_to("new")
    (folder / "..tmp").rename(folder / "..data")
    expect_start(job)


def test_several_missing_inputs_are_named_in_one_line(muster, table):
    hosts = muster.folder / "hosts"
    job = start(muster, table, f"--set=hosts={hosts}")
    job.err.wait_for(f"waiting for the rank table '{table}': missing, host list '{hosts}': missing")
    hosts.write_text("a b\n")
    expect_reason(job, table, "missing")

    table.write_text('{"status": "completed"}')
    expect_start(job)


def test_the_wait_for_inputs_times_out(muster, table):
    job = start(muster, table, "--inputs-timeout=0.2", report=True)

    assert job.end() == 75, job.words()
    assert job.out.text == ""
    assert job.report["verdict"] == "incomplete"
    assert f"waited 0.20 s in vain: rank table '{table}': missing" in job.report["reason"]


def test_an_input_that_can_never_be_valid_ends_the_job(muster, table):
    table.write_text("[]")
    job = start(muster, table, report=True)
    assert job.end() == 65, job.words()
    assert job.report["reason"].endswith(f"the rank table '{table}' is no JSON object")

    table.unlink()
    os.mkfifo(table)
    job = start(muster, table)
    assert job.end() == 65, job.words()


@pytest.mark.full
def test_a_restart_waits_as_the_start_does(muster, table):
    template = muster.folder / "own.yaml"
    template.write_text(TEMPLATE)
    table.write_text('{"status": "completed"}')
    spoil = f"""grep initializing {table} && exit 9; test -e second && exit 0; touch second
        printf '{{"status": "initializing"}}' >{table}; exit 3"""
    options = [f"--template={template}", f"--set=table={table}", "--max-restarts=1"]
    job = muster.start(*options, "--", "sh", "-c", spoil)
    job.err.wait_for(f"node 0 waits for its rank table '{table}': initializing")

    table.write_text('{"status": "completed"}')
    assert job.end() == 0, job.words()


@pytest.mark.parametrize(
    ("left", "code", "reason"),
    [("[]", 65, "is no JSON object"), ('{"status": "initializing"}', 75, "in vain")],
    ids=["wrong", "late"],
)
def test_a_restart_uses_the_same_input_rules_and_timeouts(muster, table, left, code, reason):
    template = muster.folder / "own.yaml"
    template.write_text(TEMPLATE)
    table.write_text('{"status": "completed"}')
    options = [f"--template={template}", f"--set=table={table}", "--max-restarts=1"]
    spoil = f"""test -e second && exit 0; touch second; printf '{left}' >{table}; exit 3"""
    job = muster.start(*options, "--inputs-timeout=0.3", "--", "sh", "-c", spoil)

    assert job.end() == code, job.words()
    assert job.said_about(reason)


def test_the_last_attempt_does_not_wait_for_inputs(muster, table):
    template = muster.folder / "own.yaml"
    template.write_text(TEMPLATE)
    table.write_text('{"status": "completed"}')
    job = muster.run(f"--template={template}", f"--set=table={table}", "--", "rm", table)

    assert job.code == 0, job.words()
    assert not any("waiting" in line for line in job.said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_at_once(muster, table, number):
    job = start(muster, table)
    expect_reason(job, table, "missing")
    job.signal(number)

    assert job.end() == 128 + number, job.words()
    assert job.out.text == ""


def test_msrun_waits_for_its_rank_table(muster, table):
    options = ["--worker_num=1", "--local_worker_num=1", f"--rank_table_file={table}"]
    script = muster.folder / "train.py"
    met = muster.folder / "met"  # the worker's end is the scheduler's, so it waits for that
    os.mkfifo(met)
    script.write_text(
        f"""import os
e = os.environ
print(e["MS_ROLE"], open(e["RANK_TABLE_FILE"]).read().split(), flush=True)
open({str(met)!r}, "w" if e["MS_ROLE"] == "MS_SCHED" else "r").close()
"""
    )
    job = muster.start("msrun", *options, script)
    expect_reason(job, table, "missing")

    device = {"device_id": "0", "device_ip": "10.1.0.1"}
    instance = {"pod_name": "job-worker-0", "server_id": "10.0.0.1", "devices": [device]}
    group = {"group_name": "worker", "device_count": "1", "instance_count": "1"}
    group["instance_list"] = [instance]
    of_old_form = {"status": "completed", "group_count": "1", "group_list": [group]}
    table.write_text(json.dumps(of_old_form))
    assert job.end() == 0, job.words()
    for role in ("MS_WORKER", "MS_SCHED"):
        assert any(role in line and "server_list" in line for line in job.out.lines), job.words()


def test_a_plan_does_not_wait_for_inputs(muster, table):
    template = muster.folder / "own.yaml"
    template.write_text(TEMPLATE)
    job = muster.run("plan", f"--template={template}", f"--set=table={table}", "--", "true")

    assert job.code == 0, job.words()
