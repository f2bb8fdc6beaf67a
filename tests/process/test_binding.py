"""Workers are bound to the CPUs and the memory of the binding options, on the machine that runs the tests."""

import json
import os

import pytest

from support.descriptions import read_descriptions

CPUS = sorted(os.sched_getaffinity(0))
PREFERRED, BOUND = 1, 2

several_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU cannot be divided")


def describe(muster, worker, count, *arguments, **options):
    folder = muster.folder / "descriptions"
    folder.mkdir()
    job = muster.run(
        f"--nproc-per-node={count}", *arguments, "--", worker("describe_itself"), folder, **options
    )
    assert job.code == 0, job.words()
    return job, read_descriptions(folder)


def cpus_of(workers):
    return {rank: one.numbers("cpu") for rank, one in workers.items()}


def policies_of(workers):
    return {int(one.one("memory_policy").split()[0]) for one in workers.values()}


@pytest.mark.needs("memory policies")
def test_without_binding_a_worker_has_all_cpus_and_no_policy(muster, worker):
    _job, workers = describe(muster, worker, 2)

    assert cpus_of(workers) == {0: set(CPUS), 1: set(CPUS)}
    assert policies_of(workers) == {0}


@several_cpus
@pytest.mark.needs("memory policies")
@pytest.mark.kernel
def test_given_cpus_are_those_of_the_worker(muster, worker):
    first, last = CPUS[0], CPUS[-1]
    given = json.dumps({"device0": [str(last)], "device1": [f"{first}", f"{last}"]})

    # Of one device both would be workers.
    devices = {"CUDA_VISIBLE_DEVICES": "0,1"}
    _job, workers = describe(muster, worker, 2, "--bind-core", given, env=devices)

    assert cpus_of(workers) == {0: {last}, 1: {first, last}}
    assert policies_of(workers) == {0}


def test_the_plan_shows_the_binding_of_each_worker(muster, worker):
    plan = muster.run("plan", "--json", "--nproc-per-node=1", "--numa-binding=exclusive", "true")
    (process,) = json.loads(plan.out.text)["processes"]

    _job, workers = describe(muster, worker, 1, "--numa-binding=exclusive")

    cpus = set()
    for piece in process["binding"]["cpus"].split(", "):
        first, _, last = piece.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    assert cpus_of(workers)[0] == cpus
    assert "--numa-binding: exclusive" in process["binding"]["how"]


@pytest.mark.parametrize("form", ["node", "socket", "exclusive", "core-complex"])
def test_each_form_keeps_to_the_cpus_that_are_allowed(muster, worker, form):
    _job, workers = describe(muster, worker, 1, f"--numa-binding={form}")

    assert cpus_of(workers)[0] <= set(CPUS)


@several_cpus
def test_a_form_keeps_to_the_affinity_of_muster(muster, worker):
    one = CPUS[-1]

    job, workers = describe(
        muster, worker, 2, "--numa-binding=node", through=["taskset", "-c", str(one)]
    )

    assert cpus_of(workers) == {0: {one}, 1: {one}}


@pytest.mark.needs("memory policies")
def test_memory_is_bound_by_bind_numa(muster, worker):
    _job, workers = describe(muster, worker, 1, "--bind-numa=True")

    assert policies_of(workers) == {BOUND}


@pytest.mark.needs("memory policies")
def test_a_container_that_forbids_memory_binding_is_warned_of_once(muster, worker):
    job, workers = describe(
        muster, worker, 3, "--bind-numa=True", through=[worker("refuse"), "mempolicy"]
    )

    assert policies_of(workers) == {0}
    said = [line for line in job.err.text.splitlines() if "set_mempolicy" in line]
    assert said == [
        "muster: the workers are bound to their CPUs but not to their memory, which comes from "
        "the NUMA node that first uses it: set_mempolicy: Operation not permitted"
    ]


def test_a_system_that_refuses_the_cpus_is_an_error(muster, worker):
    job = muster.run(
        "--numa-binding=node", "--", "true", through=[worker("refuse"), "affinity"]
    )

    assert job.code == 71
    assert "binding it to its CPUs: Operation not permitted" in job.err.text


def test_binding_to_absent_hardware_is_refused_before_the_start(muster):
    job = muster.run("--nproc-per-node=1", '--bind-core={"device0":["65000"]}', "--", "true")

    assert job.code == 64
    assert "gives device0 the CPUs 65000, but this process may use only" in job.err.text
    assert "started" not in job.err.text


@pytest.mark.kernel
def test_a_restarted_worker_is_bound_again(muster, worker):
    job = muster.run(
        "--nproc-per-node=1",
        "--max-restarts=1",
        f'--bind-core={{"device0":["{CPUS[0]}"]}}',
        "--",
        "sh",
        "-c",
        "grep Cpus_allowed_list /proc/self/status; exit $((1 - TORCHELASTIC_RESTART_COUNT))",
    )

    assert job.code == 0, job.words()
    assert job.out.text.count(f"Cpus_allowed_list:\t{CPUS[0]}\n") == 2
