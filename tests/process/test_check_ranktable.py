"""`muster check ranktable FILE` describes a rank table and names what HCCL would refuse in it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from support.muster import binary

sys.path.append(str(pathlib.Path(__file__).parents[2] / "scripts" / "dev" / "bench.d"))
import rank_tables  # noqa: E402  the folder of the module has to be known first

TABLES = pathlib.Path(__file__).parents[1] / "golden" / "rank_tables"
EXPECTED = (TABLES / "broken" / "expected.txt").read_text().splitlines()
# One of each form; the unit test of the same files has all of them.
BROKEN = ("device-count", "rank-repeated", "rank-list-repeated")


def check(muster, path, *options, **more):
    return muster.run("check", "ranktable", *options, str(path), **more)


@pytest.mark.parametrize(
    ("name", "form", "servers", "devices"),
    [
        ("2x8-groups", "v0.1 (group_list)", 2, 16),
        ("two-pods-on-one-host-groups", "v0.1 (group_list)", 1, 8),
        ("2x8-standard", "without a version (group_list with rank_id)", 2, 16),
        ("2x8-1.0", "v1.0 (server_list)", 2, 16),
        ("two-super-pods-1.2", "v1.2 (super_pod_list)", 4, 8),
        ("2x8-2.0", "v2.0 (rank_list)", 2, 16),
    ],
)
def test_a_good_table_is_described(muster, name, form, servers, devices):
    job = check(muster, TABLES / "good" / f"{name}.json")

    assert (job.code, job.err.text) == (0, "")
    described = dict(line.split(maxsplit=1) for line in job.out.lines)
    assert described["form"] == form
    assert described["status"] == "completed"
    assert (int(described["servers"]), int(described["devices"])) == (servers, devices)


@pytest.mark.parametrize("name", BROKEN)
def test_each_violation_is_one_line(muster, name):
    path = TABLES / "broken" / f"{name}.json"
    (breach,) = [line.removeprefix(f"{name}: ") for line in EXPECTED if line.startswith(f"{name}: ")]

    job = check(muster, path)

    assert job.code == 65
    assert f"muster: rank table '{path}': {breach}" in job.err.lines


def test_the_json_output_has_the_same_findings(muster):
    job = check(muster, TABLES / "broken" / "rank-repeated.json", "--json")

    document = json.loads(job.out.text)
    assert job.code == 65
    assert (document["form"], document["servers"], document["devices"]) == ("v1.0 (server_list)", 2, 4)
    (breach,) = document["breaches"]
    assert breach["path"] == "server_list[1].device[1].rank_id"
    assert (breach["value"], breach["code"]) == ('"2"', "EI0004")


def test_a_repaired_value_is_a_note(muster):
    job = check(muster, TABLES / "good" / "2x8-1.0-numbers.json")

    assert job.code == 0
    assert (
        "muster: note: server_list[0].device[0].rank_id is 0, expected this value as text, "
        "here and in 15 more (CANN: EI0004)" in job.err.lines
    )


def test_a_file_name_that_hccl_rejects_is_a_note(muster, tmp_path):
    path = tmp_path / "hccl"
    path.write_text((TABLES / "good" / "1x1-1.0.json").read_text())

    job = check(muster, path)

    assert (job.code, job.err.lines) == (
        0,
        [
            f'muster: note: the file\'s name is "{path}", expected one that ends with .json '
            "(CANN: EI0004)"
        ],
    )


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", "it is empty"),
        ('{"status": "completed", "server_', "it ends in the middle (being written)"),
        (
            '{"status": "initializing", "version": "1.0", "server_count": "2", '
            '"server_list": [{"server_id": "10.0.0.1"}]}',
            "initializing: 1 of 2 servers is there (10.0.0.1)",
        ),
        ('{"status": "unknown"}', "its writer says that the state is unknown: it lists nothing yet"),
    ],
)
def test_an_unfinished_table_is_not_waited_for(muster, tmp_path, text, state):
    path = tmp_path / "hccl.json"
    path.write_text(text)

    job = check(muster, path)

    assert (job.code, job.err.lines) == (65, [f"muster: rank table '{path}': {state}"])
    document = json.loads(check(muster, path, "--json").out.text)
    assert (document["status"], document["reason"]) == ("unfinished", state)


def test_a_missing_file_is_bad_data(muster, tmp_path):
    job = check(muster, tmp_path / "hccl.json")

    assert (job.code, job.err.lines) == (
        65,
        [f"muster: rank table '{tmp_path}/hccl.json': No such file or directory"],
    )


def test_a_folder_holds_the_table_under_one_of_its_usual_names(muster, tmp_path):
    (tmp_path / "hccl.json").write_text((TABLES / "good" / "1x8-1.0.json").read_text())

    job = check(muster, tmp_path, "--json")

    assert job.code == 0
    assert json.loads(job.out.text)["file"] == f"{tmp_path}/hccl.json"


def test_a_table_from_a_pipe_is_read_completely(muster, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    job = muster.start("check", "ranktable", pipe)
    pipe.write_text((TABLES / "good" / "1x8-1.0.json").read_text())

    assert job.end() == 0
    assert (job.out.lines[0], job.err.lines) == ("form       v1.0 (server_list)", [])


def test_addresses_are_required_with_hccl_intra_roce_enable(muster, tmp_path):
    path = tmp_path / "hccl.json"
    path.write_text(
        '{"status":"completed","version":"1.0","server_count":"1","server_list":'
        '[{"server_id":"a","device":[{"device_id":"0","rank_id":"0"}]}]}'
    )

    assert check(muster, path).code == 0
    assert check(muster, path, env={"HCCL_INTRA_ROCE_ENABLE": 1}).code == 65


@pytest.mark.parametrize("words", [[], ["ranktable"], ["template", "x"], ["ranktable", "a", "b"]])
def test_unknown_arguments_are_refused(muster, words):
    assert muster.run("check", *words).code == 64


def measure(*command, env=None):
    """Standard output, and what it took to make it. scripts/dev/bench rank-tables has the time."""
    child = subprocess.Popen(
        [binary(), *command], stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], **(env or {})}
    )
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return output, usage


@pytest.mark.full
@pytest.mark.plain_build
@pytest.mark.needs("measures")
class TestOf131072Devices:
    """Sanitizers take many times as much time and memory; under a filter another ring runs beside this one."""

    @pytest.fixture(scope="class", params=["1.0", "2.0"])
    def table(self, request, tmp_path_factory):
        path = tmp_path_factory.mktemp("large") / "hccl.json"
        rank_tables.write(request.param, path)
        return path

    def test_a_check_fits_in_300_megabytes(self, table):
        output, usage = measure("check", "ranktable", table)

        assert b"devices    131072" in output
        assert usage.ru_maxrss < 300 * 1024

    def test_a_plan_fits_in_300_megabytes(self, table):
        output, usage = measure(
            "plan", "--json", *rank_tables.PLAN, "true", env={"RANK_TABLE_FILE": table}
        )

        document = json.loads(output)
        assert document["world_size"] == 131072
        assert [process["global_rank"] for process in document["processes"]] == list(range(24, 32))
        assert usage.ru_maxrss < 300 * 1024
