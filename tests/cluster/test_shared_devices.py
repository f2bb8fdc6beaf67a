"""Two nodes of a job on one host: what is said where their workers are given the same accelerators."""

import pytest

SHARE = "nodes 0-1 are on one host"
# Four GPUs as the kernel lists AMD's, and then one agent for each argument, which is its list of devices.
HOST = """
mount -t tmpfs tmpfs /sys/class
for gpu in 1 2 3 4; do
  mkdir -p /sys/class/kfd/kfd/topology/nodes/$gpu
  echo simd_count 304 >/sys/class/kfd/kfd/topology/nodes/$gpu/properties
done
"""
BOTH = 'for node in 0 1; do shift; HIP_VISIBLE_DEVICES=$1 $WITHIN "$MUSTER" --node-rank=$node $LINE & done; wait'


def said_on_a_host(muster, port, devices, within=""):
    line = f"--nnodes=2 --nproc-per-node=2 --master-addr=127.0.0.1 --master-port={port} --no-python true"
    return muster.start(
        through=["unshare", "--mount", "sh", "-c", f'MUSTER=$1 LINE="{line}" WITHIN="{within}"\n{HOST}{BOTH}', "sh"],
        *devices,
    )


def test_the_same_devices_are_said_on_both_nodes(muster, port):
    job = said_on_a_host(muster, port, ["0,1", "1,2"])

    assert job.end() == 0, job.words()
    said = [line for line in job.err.lines if SHARE in line]
    assert len(said) == 2, job.words()
    assert all("given the same device 1: start one muster on each host" in line for line in said)


@pytest.mark.parametrize(
    ("devices", "within"),
    [(["0,1", "2,3"], ""), (["0,1", "0,1"], "unshare --mount")],
    ids=["devices of its own each", "containers that may number them anew"],
)
def test_other_devices_are_left_alone(muster, port, devices, within):
    job = said_on_a_host(muster, port, devices, within)

    assert job.end() == 0, job.words()
    assert SHARE not in job.err.text
    assert job.err.text.count("attempt 0: node") == 2
