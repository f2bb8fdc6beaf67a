"""Where the time of a job of several nodes went."""

import json


def test_each_node_writes_a_record_of_its_own_and_the_first_one_says_the_line(gang, hosts, tmp_path):
    job = gang(2, f"--events={tmp_path}/events.jsonl", on=hosts, workers=2)
    first = job.start(0)
    first.err.wait_for("node 0 of 2")
    second = job.start(1)
    job.wait_for_start()
    job.succeed()

    records = {}
    for file in tmp_path.glob("events-*.jsonl*"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        records[lines[-1]["node"]] = lines
    assert sorted(records) == [0, 1]
    started = {node: [one for one in lines if one["event"] == "attempt started"] for node, lines in records.items()}
    assert [one["text"] for one in started[0]] == ["node 1"]
    assert [one["workers"] for one in started[1]] == [2]
    assert all({one["rank"] for one in records[node] if "rank" in one} == {2 * node, 2 * node + 1} for node in (0, 1))
    assert first.said_about("of ", "ran ")
    assert not any(", ran " in line or ": ran " in line for line in second.said)


def test_two_agents_on_one_host_share_no_file(gang, tmp_path):
    for number in range(2):  # the second job renames the files of the first one
        job = gang(2, f"--events={tmp_path}/events.jsonl")
        job.start_all()
        job.wait_for_start()
        job.succeed()
        (tmp_path / "worker-events").rename(tmp_path / f"worker-events-{number}")
        (tmp_path / "worker-events").mkdir()

    names = sorted(file.name for file in tmp_path.glob("events-*"))
    assert len(names) == 4
    assert [name.endswith(".jsonl.1") for name in names] == [False, True, False, True]
    for name in names:
        lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert len({line["rank"] for line in lines if "rank" in line}) == 1
        assert [line["event"] for line in lines].count("job ended") == 1
