"""A rank table gives one process per device: real processes, and a file that another program writes."""

import json
import os
import signal

import pytest

from support.gang import free_port


def device(number, server=1):
    return {"device_id": str(number), "device_ip": f"192.168.{server}.{number + 1}"}


def groups(*instances):
    """v0.1: a pod for each list of devices, all on one server."""
    listed = [
        {"pod_name": f"job-worker-{i}", "server_id": "10.0.0.1", "devices": list(devices)}
        for i, devices in enumerate(instances)
    ]
    group = {
        "group_name": "worker",
        "device_count": str(sum(map(len, instances))),
        "instance_count": str(len(instances)),
        "instance_list": listed,
    }
    return {"status": "completed", "group_count": "1", "group_list": [group]}


ONE_POD = groups([device(0), device(1)])
TWO_PODS = groups([device(0), device(1)], [device(2), device(3)])

MODE = "--mode=ranktable"
SAY = 'echo "rank $RANK_ID/$RANK_SIZE device $DEVICE_ID"'


@pytest.fixture
def table(muster):
    return muster.folder / "jobstart_hccl.json"


def start(muster, table, *options, script=SAY, **more):
    return muster.start(MODE, f"--rank-table={table}", *options, "--", "sh", "-c", script, **more)


def write(table, value):
    """Truncated and then written, as controllers do."""
    table.write_text(value if isinstance(value, str) else json.dumps(value))


def test_each_device_has_a_process_with_its_rank(muster, table):
    write(table, ONE_POD)
    names = "RANK_ID RANK_SIZE DEVICE_ID ASCEND_DEVICE_ID JOB_ID HCCL_CONNECT_TIMEOUT".split()
    said = " ".join(f"${name}" for name in names) + " ${RANK_TABLE_FILE_V_1_0-unset}"
    environment = {"RANK_TABLE_FILE_V_1_0": str(table), "RANK_TABLE_FILE": "/no/such/folder"}
    job = muster.start(MODE, "--job-id=j", "--", "sh", "-c", f'echo "{said}"', env=environment)

    assert job.end() == 0, job.words()
    assert sorted(job.out.lines) == ["[0] 0 2 0 0 j 1800 unset", "[1] 1 2 1 1 j 1800 unset"]


def test_workers_read_a_private_copy_of_the_table(muster, table):
    write(table, ONE_POD)
    script = 'test $RANK_ID = 1 || { stat -c %a "$RANK_TABLE_FILE"; cat "$RANK_TABLE_FILE"; }'
    job = start(muster, table, "--prefix=never", script=f'{script}; echo >&2 "at $RANK_TABLE_FILE"')

    assert job.end() == 0, job.words()
    mode, copy = job.out.text.split("\n", 1)
    assert mode == "640"
    copy = json.loads(copy)
    assert copy["version"] == "1.0" and copy["server_count"] == "1"
    ranks = [one["rank_id"] for one in copy["server_list"][0]["device"]]
    assert ranks == ["0", "1"]
    place = next(line for line in job.err.lines if line.startswith("at ")).removeprefix("at ")
    assert place.endswith(".json") and not os.path.exists(place)
    assert json.loads(table.read_text()) == ONE_POD, "the controller's file has been changed"


def test_each_unfinished_state_of_a_table_is_waited_for(muster, table):
    job = start(muster, table)
    waits = f"waiting for the rank table '{table}': "
    job.err.wait_for(waits + "missing")
    assert job.said_about("node 0 of 1, as many workers here as the rank table says")
    assert not any("in the job" in line for line in job.said)
    write(table, {"status": "initializing"})
    job.err.wait_for(waits + "initializing")
    write(table, '{"status": "completed", "group_li')
    job.err.wait_for(waits + "it ends in the middle")
    write(table, {"status": "unknown"})
    job.err.wait_for("unknown")
    assert job.out.text == ""

    write(table, ONE_POD)
    assert job.end() == 0, job.words()
    assert job.said_about("node 0 of 1, 2 workers here, 2 in the job")
    assert sorted(job.out.lines) == ["[0] rank 0/2 device 0", "[1] rank 1/2 device 1"]


def test_a_given_worker_count_is_logged_before_the_table(muster, table):
    job = start(muster, table, "--nproc-per-node=2")
    job.err.wait_for("missing")
    assert job.said_about("node 0 of 1, 2 workers here, 2 in the job")

    write(table, ONE_POD)
    assert job.end() == 0, job.words()


def test_a_table_is_found_in_a_folder_under_both_names(muster):
    folder = muster.folder / "config"
    job = start(muster, folder)
    job.err.wait_for(f"waiting for the rank table '{folder}': missing")
    folder.mkdir()
    job.err.wait_for(f"waiting for the rank table '{folder}/jobstart_hccl.json or hccl.json': missing")

    write(folder / "hccl.json", ONE_POD)
    assert job.end() == 0, job.words()


def test_the_wait_for_a_table_times_out(muster, table):
    job = start(muster, table, "--rank-table-timeout=0.2", report=True)

    assert job.end() == 75, job.words()
    assert f"waited 0.20 s in vain: rank table '{table}': missing" in job.report["reason"]


def test_a_signal_ends_the_wait(muster, table):
    job = start(muster, table)
    job.err.wait_for("missing")
    job.signal(signal.SIGTERM)

    assert job.end() == 143, job.words()


def test_a_table_that_is_wrong_ends_the_job_at_once(muster, table):
    wrong = groups([device(0), device(0)])
    write(table, wrong)
    job = start(muster, table, report=True)

    assert job.end() == 65, job.words()
    assert f"the rank table '{table}' is invalid: " in job.report["reason"]
    assert "device_id" in job.report["reason"]
    assert job.out.text == ""


def test_another_number_of_workers_is_an_error(muster, table):
    write(table, ONE_POD)
    job = start(muster, table, "--nproc-per-node=3", report=True)

    assert job.end() == 65, job.words()
    assert "has 2 devices of this node, but --nproc-per-node says 3" in job.report["reason"]


def test_a_node_that_is_not_listed_starts_nothing(muster, table):
    write(table, TWO_PODS)
    job = start(muster, table, "--nnodes=1:2", "--master-addr=127.0.0.1", "--last-call=0")

    assert job.end() == 65, job.words()
    assert job.said_about("does not list this node: tried", "it has job-worker-0 on 10.0.0.1")
    assert job.out.text == ""


def test_a_plan_does_not_wait(muster, table):
    job = muster.run("plan", MODE, f"--rank-table={table}", "--", "true")
    assert job.code == 65, job.words()
    assert job.said_about(f"rank table '{table}': missing")


ASCEND_BY_ITSELF = {"ASCEND_VISIBLE_DEVICES": "0-1"}


def test_explain_shows_known_values_while_the_table_is_missing(muster, table):
    environment = ASCEND_BY_ITSELF | {"RANK_TABLE_FILE": str(table)}
    job = muster.run("explain", "--", "true", env=environment)
    assert job.code == 65, job.words()
    assert job.said_about(f"rank table '{table}': missing", "the mode is 'ranktable' by RANK_TABLE")
    rows = [line.split(maxsplit=2) for line in job.out.lines if line]
    assert ["mode", "ranktable", "RANK_TABLE_FILE and Ascend devices"] in rows
    assert ["nodes.count", "1", "default"] in rows

    job = muster.run("explain", "--json", "--", "true", env=environment)
    document = json.loads(job.out.text)
    assert "missing" in document["error"] and document["decisions"]


def test_a_run_logs_why_it_waits_for_a_table(muster, table):
    job = muster.start("--", "true", env=ASCEND_BY_ITSELF | {"RANK_TABLE_FILE": str(table)})
    job.err.wait_for("missing")
    assert "ranktable by RANK_TABLE_FILE and Ascend devices: node 0 of 1" in job.said[0]
    write(table, ONE_POD)
    assert job.end() == 0, job.words()


def test_two_pods_on_one_server_use_separate_devices(muster, table):
    write(table, TWO_PODS)
    meeting = ["--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}"]
    jobs = [
        start(muster, table, *meeting, f"--node-rank={node}", "--prefix=never") for node in (0, 1)
    ]

    assert [job.end() for job in jobs] == [0, 0], [job.words() for job in jobs]
    assert sorted(jobs[0].out.lines) == ["rank 0/4 device 0", "rank 1/4 device 1"]
    assert sorted(jobs[1].out.lines) == ["rank 2/4 device 2", "rank 3/4 device 3"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU cannot be divided")
@pytest.mark.parametrize("is_late", [False, True], ids=["there", "late"])
def test_cores_follow_the_device_that_the_table_gives(muster, table, is_late):
    cpus = sorted(os.sched_getaffinity(0))
    given = json.dumps({"device0": [str(cpus[0])], "device1": [str(cpus[-1])]})
    script = 'echo "rank $RANK_ID device $DEVICE_ID $(grep Cpus_allowed_list /proc/self/status)"'
    in_order_of_ranks = groups([device(1), device(0)])
    if not is_late:
        write(table, in_order_of_ranks)
    visible = {"ASCEND_VISIBLE_DEVICES": "0,1"}
    options = [f"--bind-core={given}", "--prefix=never"]
    job = start(muster, table, *options, script=script, env=visible)
    if is_late:
        job.err.wait_for("missing")
        write(table, in_order_of_ranks)

    assert job.end() == 0, job.words()
    assert sorted(line.split() for line in job.out.lines) == [
        ["rank", "0", "device", "1", "Cpus_allowed_list:", str(cpus[-1])],
        ["rank", "1", "device", "0", "Cpus_allowed_list:", str(cpus[0])],
    ]


def modelarts(folder):
    return {
        "MA_VJ_NAME": "ma-job-1",
        "MA_NUM_HOSTS": "1",
        "MA_MOUNT_PATH": str(folder / "mnt"),
        "MA_LOG_DIR": str(folder / "log"),
        "ASCEND_VISIBLE_DEVICES": "0,1",
        "RANK_TABLE_FILE": str(folder),
    }


@pytest.mark.parametrize("asked", [True, False], ids=["log-dir", "MA_LOG_DIR"])
def test_on_modelarts_each_process_has_a_folder_and_a_log(muster, table, asked):
    write(table, ONE_POD)
    folder = muster.folder
    script = folder / "worker.sh"
    script.write_text('#!/bin/sh\npwd; echo "$ASCEND_PROCESS_LOG_PATH"\n')
    script.chmod(0o755)
    logs = [f"--log-dir={folder}/logs", "--tee=3"] if asked else []
    job = muster.start(*logs, "--", "./worker.sh", env=modelarts(folder), cwd=folder)

    assert job.end() == 0, job.words()
    for rank in (0, 1):
        log = folder / ("logs" if asked else "log")
        log /= f"ma-job-1-proc-rank-{rank}-device-{rank}.txt"
        assert log.read_text().splitlines() == [
            f"{folder}/mnt/workspace/device{rank}",
            f"{folder}/log/ascend/process_log/rank_{rank}",
        ]
        assert f"[{rank}] {folder}/mnt/workspace/device{rank}" in job.out.lines


@pytest.mark.parametrize(
    "program",
    [
        ["jobs/work.py"],
        ["--", "python3", "jobs/work.py"],
        ["--", "timeout", "60", "python3", "-u", "jobs/work.py"],
        ["-m", "jobs.work"],
        ["--", "python3", "-m", "jobs.work"],
        ["--", "sh", "jobs/work.sh"],
        ["--", "timeout", "60", "jobs/work.sh"],
        ["--", "work.sh"],
    ],
    ids=" ".join,
)
def test_relative_programs_are_found_from_another_working_directory(muster, table, program):
    write(table, ONE_POD)
    jobs = muster.folder / "jobs"
    jobs.mkdir()
    (jobs / "work.py").write_text("import os, sys\nprint(os.getcwd())\n")
    (jobs / "work.sh").write_text("#!/bin/sh\npwd\n")
    (jobs / "work.sh").chmod(0o755)
    environment = modelarts(muster.folder) | {"PATH": f"jobs:{os.environ['PATH']}"}
    job = muster.start("--prefix=never", *program, env=environment, cwd=muster.folder)

    assert job.end() == 0, job.words()
    folders = [f"{muster.folder}/mnt/workspace/device{number}" for number in (0, 1)]
    assert sorted(job.out.lines) == folders


def test_a_log_folder_of_modelarts_that_cannot_be_written_is_left_out(muster, table):
    write(table, ONE_POD)
    (muster.folder / "log").write_text("a file")
    job = muster.start("--", "sh", "-c", SAY, env=modelarts(muster.folder))

    assert job.end() == 0, job.words()
    job.said_about("cannot write into the log folder", "(MA_LOG_DIR)", "going on without it")
    assert sorted(job.out.lines) == ["[0] rank 0/2 device 0", "[1] rank 1/2 device 1"]


def test_without_a_log_path_no_logs_are_written(muster, table):
    write(table, ONE_POD)
    job = muster.start("--set=log_path=", "--", "true", env=modelarts(muster.folder))

    assert job.end() == 0, job.words()
    assert not list(muster.folder.glob("log/*.txt*"))


def test_logs_of_a_job_without_a_name_get_a_default_name(muster, table):
    write(table, ONE_POD)
    job = start(muster, table, f"--log-dir={muster.folder}/logs", script='echo "$JOB_ID"')

    assert job.end() == 0, job.words()
    names = sorted(path.name for path in (muster.folder / "logs").iterdir())
    assert names == [f"job-proc-rank-{rank}-device-{rank}.txt" for rank in (0, 1)]
    assert sorted(job.out.lines) == ["[0] job", "[1] job"]


# The first attempt changes the table and fails, the second one says what it was given.
CHANGE = """
mkdir {folder}/seen_$RANK_ID 2>/dev/null || {{ echo "rank $RANK_ID of $RANK_SIZE"; exit 0; }}
test $RANK_ID = 0 || exec sleep 300
until test -e {folder}/seen_1; do :; done
mv {new} {table}; {count}
exit 3
"""


@pytest.mark.parametrize(
    ("count", "ranks"),
    [
        ("echo 2 >{folder}/version", ["rank 0 of 1"]),
        ("true", ["rank 0 of 2", "rank 1 of 2"]),
        ("rm {folder}/version", ["rank 0 of 1"]),
    ],
    ids=["counted", "not-counted", "nobody-counts"],
)
def test_a_restart_uses_the_table_of_the_announced_version(muster, table, count, ranks):
    folder = muster.folder
    new = folder / "new.json"
    write(new, groups([device(0)]))
    write(table, ONE_POD)
    (folder / "version").write_text("1\n")
    script = CHANGE.format(folder=folder, new=new, table=table, count=count.format(folder=folder))
    job = start(muster, table, "--max-restarts=1", "--prefix=never", script=script)

    assert job.end() == 0, job.words()
    assert sorted(job.out.lines) == ranks, job.words()


# Fails once, when it is told to; then says what it is.
FAIL_ONCE = """
if test "$1" = 0; then
  test $RANK_ID = 1 && read -r line <"$2" && exit 1
  exec sleep 300
fi
echo "rank $RANK_ID device $DEVICE_ID"
"""


class TwoNodes:
    """Nodes with a table each, of which one fails when it is told to."""

    def __init__(self, muster, *options):
        self.go = muster.folder / "go"
        os.mkfifo(self.go)
        meeting = ["--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}"]
        program = ["sh", "-c", FAIL_ONCE, "sh", "{attempt}", self.go]
        self.tables, self.jobs = [], []
        for node in (0, 1):
            self.tables.append(muster.folder / f"node-{node}" / "jobstart_hccl.json")
            self.tables[node].parent.mkdir()
            self.bring(node, 1, 0, 1)
            place = [f"--node-rank={node}", f"--rank-table={self.tables[node]}"]
            asked = [*meeting, *options, "--max-restarts=1", "--fill-arguments", "--prefix=never"]
            self.jobs.append(muster.start(MODE, *asked, *place, "--", *program))
        for job in self.jobs:
            job.err.wait_for("attempt 0: node")

    def bring(self, node, version, *devices):
        write(self.tables[node], groups(*([device(number)] for number in devices)))
        (self.tables[node].parent / "version").write_text(f"{version}\n")

    def fail(self):
        self.go.write_text("now\n")

    def end(self):
        return [job.end() for job in self.jobs]

    def words(self):
        return [job.words() for job in self.jobs]


@pytest.mark.parametrize("slow", [0, 1])
def test_a_restart_waits_for_the_node_to_which_the_table_comes_last(muster, slow):
    nodes = TwoNodes(muster)
    nodes.bring(1 - slow, 2, 2, 3)
    nodes.fail()
    for job in nodes.jobs:
        job.err.wait_for(f"node {1 - slow} (127.0.0.1) has version 2 of the rank table")
    assert not any(job.out.text for job in nodes.jobs), "nothing is started before both have it"
    nodes.bring(slow, 2, 2, 3)

    assert nodes.end() == [0, 0], nodes.words()
    assert [job.out.lines for job in nodes.jobs] == [["rank 0 device 2"], ["rank 1 device 3"]]


@pytest.mark.full
def test_a_restart_waits_for_the_rank_table_timeout(muster):
    nodes = TwoNodes(muster, "--rank-table-timeout=10")
    nodes.bring(0, 2, 2, 3)
    nodes.fail()

    assert nodes.end() == [75, 75], nodes.words()
    for job in nodes.jobs:
        job.said_about("in vain", "node 1 (127.0.0.1) still has version 1")


def test_a_job_without_a_node_of_its_table_exits_75(muster, table):
    write(table, groups([device(0)], [device(1)]))
    meeting = ["--nnodes=1:2", "--master-addr=127.0.0.1", f"--master-port={free_port()}"]
    job = start(muster, table, *meeting, "--node-rank=0", "--last-call=0.1")

    assert job.end() == 75, job.words()
    assert job.said_about("no node that takes part would start rank 1 of the rank table")


TELL = """
import json, os
names = "MS_ROLE RANK_ID MS_NODE_ID DEVICE_ID RANK_SIZE MS_WORKER_NUM".split()
table = json.load(open(os.environ["RANK_TABLE_FILE"]))
servers = [one["server_id"] for one in table["server_list"] if one["pod_ip"] == "127.0.0.1"]
if os.environ["MS_ROLE"] == "MS_WORKER":
    print(*(os.environ[name] for name in names), *servers, flush=True)
else:
    os.execlp("sleep", "sleep", "300")
"""


def test_msrun_on_two_nodes_has_the_ranks_of_its_table(muster, table):
    listed = groups([device(4), device(5)], [device(6), device(7)])
    instances = listed["group_list"][0]["instance_list"]
    instances[1]["server_id"] = "10.0.0.2"
    instances.reverse()  # their names say the order
    write(table, listed)
    script = muster.folder / "train.py"
    script.write_text(TELL)
    meeting = ["--master_addr=127.0.0.1", f"--master_port={free_port()}"]
    workers = ["--worker_num=4", "--local_worker_num=2", f"--rank_table_file={table}"]
    jobs = [
        muster.start("--prefix=never", "msrun", *meeting, *workers, f"--node_rank={node}", script)
        for node in (0, 1)
    ]

    assert [job.end() for job in jobs] == [0, 0], [job.words() for job in jobs]
    for node, job in enumerate(jobs):
        ranks = [2 * node, 2 * node + 1]
        assert sorted(job.out.lines) == [
            f"MS_WORKER {rank} {rank} {4 + rank} 4 4 10.0.0.1 10.0.0.2" for rank in ranks
        ], job.words()
