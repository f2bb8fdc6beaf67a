"""Lines of Paddle's launcher, of DeepSpeed's and of horovodrun, run by each of them and by muster.

What workers find must be the same, but for the variables that are listed here with their reason;
one that is listed and does not differ fails as well.
"""

import json

import pytest

import jobs

pytestmark = pytest.mark.framework
WORKER = jobs.script("write_rank.py")
COMPARED = ("PADDLE_", "FLAGS_", "HOROVOD_", "NCCL_", "CUDA_", "CROSS_", "LOCAL_", "MASTER_")
ONE_BY_ONE = ("RANK", "WORLD_SIZE", "arguments")

PADDLE = {
    "PADDLE_MASTER": "the workers of muster meet at a port that is free",
    "PADDLE_CURRENT_ENDPOINT": "the same",
    "PADDLE_TRAINER_ENDPOINTS": "the same",
    "PADDLE_BACKUP_ENV_PATH": "a file with what Paddle's launcher has given; without it variables alone are read",
    "FLAGS_selected_gpus": "numbers of the devices that a node may use, also where it has none",
    "FLAGS_selected_npus": "the same",
    "CUDA_VISIBLE_DEVICES": "the devices of --devices alone",
    "NCCL_SOCKET_IFNAME": "muster knows the interface on the way to the leader",
}
DEEPSPEED = {
    "MASTER_PORT": "the workers meet at a port that is free, and the agents at that of the line",
    "CUDA_VISIBLE_DEVICES": "muster sets it where there are devices",
    "NCCL_SOCKET_IFNAME": "muster knows the interface on the way to the leader",
}
HOROVOD = {
    **dict.fromkeys((f"HOROVOD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")), "as in mode mpirun"),
    **dict.fromkeys(("HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_CONTROLLER"), "the same"),
    "HOROVOD_MPI_THREADS_DISABLE": "the same",
    "NCCL_SOCKET_IFNAME": "one node needs no interface to be named",
    **dict.fromkeys(("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"), "as in each mode"),
    **dict.fromkeys(("MASTER_ADDR", "MASTER_PORT"), "the same"),
}
CONFIGURATION = """
params: {fusion_threshold_mb: 32, hierarchical_allreduce: true, cycle_time_ms: 3}
autotune: {enabled: True, log_file: tune.csv}
stall_check: {warning_time_seconds: 120}
library_options: {thread_affinity: 2}
logging: {level: INFO, with_timestamp: no}
"""


class Launchers:
    """Runs the worker under an original and under muster, in the same environment on the same hosts."""

    def __init__(self, original, muster, settings, hosts, scratch):
        self.commands = {"original": original, "muster": muster}
        self.settings = settings
        self.hosts = hosts
        self.scratch = scratch
        self.differing = set()

    def compare(self, *lines, **variables):
        """Notes the names of the variables that differ; there is a line for each host."""
        self.scratch = self.scratch / "next"
        self.scratch.mkdir()
        theirs, ours = (self.found(name, lines, variables) for name in self.commands)
        assert theirs.keys() == ours.keys()
        for rank, found in theirs.items():
            for name in found.keys() | ours[rank].keys():
                is_compared = name.startswith(COMPARED) or name in ONE_BY_ONE
                if is_compared and found.get(name) != ours[rank].get(name):
                    print(f"{lines}: {rank}: {name}: {found.get(name)!r} and {ours[rank].get(name)!r}")
                    self.differing.add(name)

    def found(self, launcher, lines, variables):
        folder = self.scratch / launcher
        folder.mkdir()
        agents = [
            (host, *self.commands[launcher], *line.split(), WORKER, "an argument")
            for host, line in enumerate(lines)
        ]
        settings = {**self.settings, **variables, "WRITE_INTO": str(folder)}
        for ended in jobs.run(self.hosts, settings, agents):
            assert ended.code == 0, f"{launcher} {lines}: {ended.out}{ended.err}"
        found = {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}
        assert found
        return found


@pytest.fixture
def launchers(muster, two_hosts, tmp_path, monkeypatch):
    """Makes the two of a launcher, which leave their logs in a folder of this test."""
    monkeypatch.chdir(tmp_path)

    def make(venv, original, name):
        settings = jobs.environment(venv, tmp_path, DS_ACCELERATOR="cpu")
        return Launchers(original, [muster, name], settings, two_hosts, tmp_path)

    return make


def test_lines_of_paddle(launchers, paddle_venv, two_hosts):
    pair = launchers(
        paddle_venv, ["python", "-m", "paddle.distributed.launch"], "paddle.distributed.launch"
    )
    first, second = two_hosts.address(0), two_hosts.address(1)

    pair.compare("--nproc_per_node 2")
    pair.compare("")
    pair.compare("--devices 3,5 --log_dir mylog --auto_cluster_config true", CUDA_VISIBLE_DEVICES="2,3,5")
    pair.compare("--devices 2,5 --nproc_per_node 1", CUDA_VISIBLE_DEVICES="2,3,5")
    pair.compare("--nproc_per_node 1", PADDLE_NPROC_PER_NODE="2", PADDLE_LOG_DIR="other")
    pair.compare(
        f"--nnodes 2 --master {first}:6070 --rank 0 --nproc_per_node 1",
        f"--nnodes 2 --master {first}:6070 --rank 1 --nproc_per_node 2",
    )
    pair.compare(*(f"--ips {first},{second} --host {one} --nproc_per_node 2" for one in (first, second)))

    assert pair.differing == PADDLE.keys()


def test_lines_of_deepspeed(launchers, torch_others_venv, two_hosts, tmp_path):
    pair = launchers(torch_others_venv, ["deepspeed"], "deepspeed")
    first, second = two_hosts.address(0), two_hosts.address(1)
    (tmp_path / "hosts").write_text(f"{first} slots=2\nlost slots=2\n{second} slots=1\n")
    of_file = f"--no_ssh --hostfile {tmp_path / 'hosts'} --master_addr {first} --master_port 29512"

    pair.compare("--num_gpus 2")
    pair.compare("--num_accelerators 2 --no_local_rank --master_port 29511")
    pair.compare(*(f"{of_file} --exclude lost --node_rank {rank}" for rank in (0, 1)))

    assert pair.differing == DEEPSPEED.keys()


def test_lines_of_horovodrun(launchers, horovod_venv, tmp_path):
    pair = launchers(horovod_venv, ["horovodrun"], "horovodrun")
    (tmp_path / "configuration.yaml").write_text(CONFIGURATION)
    switches = "--hierarchical-allreduce --no-torus-allreduce --autotune --stall-check --tcp"
    switches += " --timeline-mark-cycles"
    numbers = "--fusion-threshold-mb 32 --cycle-time-ms 2.5 --cache-capacity 7 --gloo-timeout-seconds 77"
    texts = "--autotune-log-file log --timeline-filename times --log-level INFO --log-without-timestamp"

    pair.compare("-np 2 python")
    pair.compare(f"-np 2 -H localhost:2 {switches} {numbers} {texts} python")
    pair.compare("-np 2 --config-file configuration.yaml --cache-capacity 3 python")

    assert pair.differing == HOROVOD.keys()
