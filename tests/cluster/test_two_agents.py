"""Several agents on loopback, each as one node of a job, by every description of a cluster."""


def start_node(muster, port, node, nodes, *arguments, workers=2):
    return muster.start(
        f"--nnodes={nodes}",
        f"--node-rank={node}",
        "--master-addr=127.0.0.1",
        f"--master-port={port}",
        f"--nproc-per-node={workers}",
        *arguments,
    )


def start_by_flags(muster, port, nodes, *arguments):
    return [start_node(muster, port, node, nodes, *arguments) for node in range(nodes)]


def start_by_variables(muster, environments, *command):
    return [
        muster.start("--nproc-per-node=2", "--", *command, env=environment)
        for environment in environments
    ]


def rank_lines(nodes, workers):
    """The output of print_rank on each node, in order."""
    total = nodes * workers
    return [
        [
            f"[{node}:{first + local}] rank {first + local} of {total}, "
            f"local rank {local} of {workers}, node {node} of {nodes}"
            for local in range(workers)
        ]
        for node, first in enumerate(range(0, total, workers))
    ]


def assert_ranks(jobs, workers=2):
    codes = [job.end() for job in jobs]
    assert codes == [0] * len(jobs), "\n".join(job.words() for job in jobs)
    assert [sorted(job.out.lines) for job in jobs] == rank_lines(len(jobs), workers)


def assert_sum(jobs, workers=2):
    total = len(jobs) * workers
    assert [job.end() for job in jobs] == [0] * len(jobs), "\n".join(job.words() for job in jobs)
    lines = sorted(line.split("] ")[1] for job in jobs for line in job.out.lines)
    assert lines == sorted(f"rank {rank}: sum {sum(range(total))}" for rank in range(total))


def test_two_nodes_by_flags_have_consecutive_ranks(muster, worker, port):
    assert_ranks(start_by_flags(muster, port, 2, "--", worker("print_rank")))


def test_ranks_within_a_role_are_counted_over_the_nodes_that_have_it(muster, port):
    show = "echo $ROLE_NAME $ROLE_RANK of $ROLE_WORLD_SIZE, $RANK of $WORLD_SIZE"
    jobs = [
        start_node(muster, port, node, 3, f"--set=role_name={role}", "--", "sh", "-c", show, workers=workers)
        for node, (role, workers) in enumerate((("trainer", 2), ("reader", 1), ("trainer", 3)))
    ]

    assert [job.end() for job in jobs] == [0] * 3, "\n".join(job.words() for job in jobs)
    lines = sorted(line.split("] ")[1] for job in jobs for line in job.out.lines)
    assert lines == [
        "reader 0 of 1, 2 of 6",
        "trainer 0 of 5, 0 of 6",
        "trainer 1 of 5, 1 of 6",
        "trainer 2 of 5, 3 of 6",
        "trainer 3 of 5, 4 of 6",
        "trainer 4 of 5, 5 of 6",
    ]


def test_workers_of_two_nodes_meet_at_the_given_port(muster, worker, port):
    assert_sum(start_by_flags(muster, port, 2, "--", worker("meet_at_master")))


def test_workers_of_eight_nodes_meet_at_the_given_port(muster, worker, port):
    assert_sum(start_by_flags(muster, port, 8, "--", worker("meet_at_master")))


def test_a_node_that_comes_later_still_meets_the_others(muster, worker, port):
    second = start_node(muster, port, 1, 2, "--", worker("meet_at_master"))
    second.err.wait_for("cannot reach the leader yet")

    first = start_node(muster, port, 0, 2, "--", worker("meet_at_master"))

    assert_sum([first, second])


def hai(node, port):
    """As the platform sets it: RANK and WORLD_SIZE count nodes, rank 0 calls itself localhost."""
    return {
        "MARSV2_TASK_ID": 4711,
        "MARSV2_RANK": node,
        "RANK": node,
        "WORLD_SIZE": 2,
        "MASTER_ADDR": "localhost" if node == 0 else "127.0.0.1",
        "MASTER_IP": "127.0.0.1",
        "MASTER_PORT": port,
    }


def test_two_nodes_of_hai_run_end_to_end(muster, worker, port):
    environments = [hai(node, port) for node in (0, 1)]

    assert_ranks(start_by_variables(muster, environments, worker("print_rank")))
    assert_sum(start_by_variables(muster, environments, worker("meet_at_master")))


# The server closes first, so that its port is left in TIME_WAIT. In the first attempt node 1 fails.
MEET_AS_ON_HAI = """
import os, pathlib, socket, sys, time
where = (os.environ["MASTER_IP"], int(os.environ["MASTER_PORT"]))
node, nodes = os.environ["RANK"], os.environ["WORLD_SIZE"]
if node == "0":
    with socket.create_server(where) as server:
        server.settimeout(120)
        server.accept()[0].sendall(b"met")
else:
    for _ in range(2400):
        try:
            link = socket.create_connection(where, 120)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    assert link.recv(3) == b"met"
    mark = pathlib.Path("has-failed")
    if not mark.exists():
        mark.touch()
        sys.exit(3)
print("node", node, "of", nodes, "met at", where[1], flush=True)
"""


def test_spawning_programs_keep_the_port_of_hai_after_a_restart(
    muster, port
):
    options = ["--mode=once", "--max-restarts=1", "--restart-backoff=0.1"]
    jobs = [
        muster.start(*options, "--", "python3", "-c", MEET_AS_ON_HAI, env=hai(node, port))
        for node in (0, 1)
    ]

    assert [job.end() for job in jobs] == [0, 0], "\n".join(job.words() for job in jobs)
    assert jobs[0].out.lines == [f"[0:0] node 0 of 2 met at {port}"] * 2
    assert jobs[1].out.lines == [f"[1:1] node 1 of 2 met at {port}"]
    assert f"leader 127.0.0.1:{port + 1}" in jobs[1].err.text


def volcano(node, port):
    return {
        "VC_TASK_INDEX": node,
        "VK_TASK_INDEX": node,
        "VC_WORKER_HOSTS": "127.0.0.1,127.0.0.2",
        "VC_WORKER_NUM": 2,
        "MASTER_PORT": port,
    }


def test_two_nodes_of_volcano_have_the_right_ranks(muster, worker, port):
    assert_ranks(
        start_by_variables(muster, [volcano(node, port) for node in (0, 1)], worker("print_rank"))
    )


def pet(node, port):
    return {
        "PET_NNODES": 2,
        "PET_NODE_RANK": node,
        "PET_MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_PORT": port,
    }


def test_two_nodes_by_pet_variables_run_end_to_end(muster, worker, port):
    environments = [pet(node, port) for node in (0, 1)]

    assert_ranks(start_by_variables(muster, environments, worker("print_rank")))
    assert_sum(start_by_variables(muster, environments, worker("meet_at_master")))


def bare(node, port):
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": node, "WORLD_SIZE": 2}


def test_two_nodes_by_bare_variables_run_end_to_end(muster, worker, port):
    environments = [bare(node, port) for node in (0, 1)]

    assert_ranks(start_by_variables(muster, environments, worker("print_rank")))
    assert_sum(start_by_variables(muster, environments, worker("meet_at_master")))


def test_logs_of_two_nodes_in_one_directory_do_not_clash(muster, port, tmp_path):
    said = ["--", "sh", "-c", "echo I am $RANK"]

    jobs = start_by_flags(muster, port, 2, "--log-dir", tmp_path / "logs", *said)

    assert [job.end() for job in jobs] == [0, 0]
    for rank in range(4):
        assert (tmp_path / f"logs/attempt_0/worker_{rank}.out").read_text() == f"I am {rank}\n"


def test_a_failure_names_the_node_and_both_ranks(muster, worker, port):
    jobs = start_by_flags(muster, port, 2, "--", worker("fail_on_rank"), 3, 9)

    assert [job.end() for job in jobs] == [9, 9]
    for job in jobs:
        line = job.said_about("failed first")
        for part in ("rank 3", "node 1 (", "local rank 1", "exit code 9"):
            assert part in line
