"""Where the time of a job went: the line at the end, --events, --trace and --metrics."""

import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from support.deadlines import wait_until
from support.gang import free_port

METRIC = re.compile(
    r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[0-9]+(?:\.[0-9]+)?)'
)
TYPES = {
    "muster_info": "gauge",
    "muster_phase": "gauge",
    "muster_phase_seconds": "gauge",
    "muster_restarts_total": "counter",
    "muster_restart_lost_seconds_total": "counter",
    "muster_ranks_alive": "gauge",
    "muster_rank_output_age_seconds": "gauge",
}
# Fails in its first attempt, on rank 1.
FAILS_ONCE = (
    'echo ready; sleep 1.2; if [ $RANK$TORCHELASTIC_RESTART_COUNT = 10 ]; then exit 3; fi; sleep 1.2'
)


def parsed(page):
    """A strict reader of Prometheus' text format: each metric has HELP and TYPE, once, before its samples."""
    values, types, helped = {}, {}, set()
    assert page.endswith("\n")
    for line in page.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name in helped and name not in types
            assert kind == ("counter" if name.endswith("_total") else "gauge")
            types[name] = kind
        else:
            name, labels, value = METRIC.fullmatch(line).groups()
            assert list(types)[-1] == name, "samples of a metric stand together"
            assert (name, labels) not in values
            values[name, labels] = float(value)
    return values, types


def duration(seconds):
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{round(seconds / 60)} min"


def replay(events):
    """The line at the end by docs/interfaces.md, from the events alone."""
    spent = dict.fromkeys(("waiting", "starting", "running", "ending", "restarting"), 0.0)
    phase, began, attempts, missing, peak = "waiting", events[0]["monotonic"], 0, 0, (0, 0)
    for event in events:
        now, kind = event["monotonic"], event["event"]
        after = phase
        if kind == "attempt started":
            spent[phase] += now - began
            began = now
            if attempts:
                spent["restarting"] += spent["ending"]
                spent["ending"] = 0.0
            attempts, missing = attempts + 1, event["workers"]
            phase = "restarting" if attempts > 1 else "starting"
            continue
        if kind == "worker started":
            missing -= 1
            after = "running" if missing == 0 and phase != "ending" else phase
        elif kind in ("failed", "stop sent", "kill sent", "attempt over"):
            after = "ending"
        elif kind == "worker ended":
            peak = max(peak, (event["memory_peak"], -event["rank"]))
        if after != phase or kind == "job ended":
            spent[phase] += now - began
            phase, began = after, now
    parts = []
    restarts = f"{attempts - 1} restart" + ("s" if attempts != 2 else "")
    for name, words in (
        ("waiting", "waited for the start"),
        ("starting", "start of the workers"),
        ("restarting", f"lost to {restarts}"),
        ("running", "ran"),
        ("ending", "end"),
    ):
        if spent[name] >= 1 or name == "running":
            parts.append(f"{words} {duration(spent[name])}")
    total = events[-1]["monotonic"] - events[0]["monotonic"]
    return f"of {duration(total)}: " + ", ".join(parts)


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def get(port, path="/metrics", **options):
    return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20, **options).read().decode()


def test_the_events_of_a_restarted_job_give_its_last_line(muster, tmp_path):
    events = tmp_path / "e/events.jsonl"

    job = muster.run(
        "--nproc-per-node=2", "--max-restarts=1", f"--events={events}", "--", "sh", "-c", FAILS_ONCE
    )

    assert job.code == 0
    lines = read_lines(events)
    kinds = [line["event"] for line in lines]
    assert kinds[:2] == ["joining", "attempt started"]
    assert kinds[-1] == "job ended"
    assert kinds.count("attempt started") == kinds.count("attempt over") == 2
    assert kinds.count("worker started") == kinds.count("first output") == kinds.count("worker ended") == 4
    failed = next(line for line in lines if line["event"] == "failed")
    assert (failed["rank"], failed["attempt"]) == (1, 0)
    assert [line["monotonic"] for line in lines] == sorted(line["monotonic"] for line in lines)
    ended = [line for line in lines if line["event"] == "worker ended" and line["rank"] == 1]
    assert [line["code"] for line in ended] == [3, 0]
    assert all(line["memory_peak"] > 0 for line in ended)
    said = job.said_about("of ", "ran ")
    assert said.split(";")[0] == replay(lines)
    assert "most memory of a worker" in said


def test_a_short_job_says_nothing_of_its_time(muster):
    job = muster.run("--nproc-per-node=2", "--", "true")

    assert not any(line.startswith("of ") for line in job.said)


def test_a_trace_has_each_attempt_of_each_rank(muster, tmp_path):
    trace = tmp_path / "trace.json"

    job = muster.run(
        "--nproc-per-node=2", "--max-restarts=1", f"--trace={trace}", "--", "sh", "-c", FAILS_ONCE
    )

    assert job.code == 0
    records = json.loads(trace.read_text())
    depth = {}
    for record in records:
        assert isinstance(record["name"], str) and isinstance(record["ts"], int)
        assert record["pid"] == 1 and record["tid"] >= 1
        if record["ph"] == "X":
            assert record["dur"] >= 0
        elif record["ph"] == "i":
            assert record["s"] == "t"
        elif record["ph"] in "BE":
            key = record["tid"]
            depth[key] = depth.get(key, 0) + (1 if record["ph"] == "B" else -1)
            assert depth[key] in (0, 1)
        else:
            assert record["ph"] == "M" and record["args"]["name"]
    assert depth == {2: 0, 3: 0}
    spans = [record for record in records if record["ph"] == "X"]
    assert {"waiting", "starting", "running", "ending", "restarting"} <= {one["name"] for one in spans}
    for one, other in zip(spans, spans[1:]):
        assert one["ts"] + one["dur"] == pytest.approx(other["ts"], abs=2)
    names = {record["args"]["name"] for record in records if record["ph"] == "M"}
    assert names == {"node 0", "agent", "rank 0", "rank 1"}


def test_the_trace_of_a_killed_agent_lacks_only_its_end(muster, tmp_path):
    trace = tmp_path / "trace.json"
    job = muster.start(f"--trace={trace}", "--", "sh", "-c", "echo ready; exec sleep 100")
    wait_until(lambda: trace.exists() and "first output" in trace.read_text(), "a trace")

    job.kill_agent()
    job.end()

    assert json.loads(trace.read_text().rstrip().rstrip(",") + "]")


def test_metrics_are_served_while_the_job_runs(muster):
    port = free_port()
    job = muster.start(
        "--nproc-per-node=2", "--job-id=a\"b", f"--metrics=127.0.0.1:{port}", "--", "sh", "-c", "echo ready; exec sleep 100"
    )
    job.out.wait_for("ready", times=2)

    values, types = parsed(get(port))

    assert TYPES.items() <= types.items()
    assert values["muster_phase", 'phase="running"'] == 1
    assert sum(value for (name, _), value in values.items() if name == "muster_phase") == 1
    assert values["muster_ranks_alive", None] == 2
    assert values["muster_restarts_total", None] == 0
    assert values["muster_rank_output_age_seconds", 'rank="1"'] >= 0
    assert any('job="a\\"b"' in (labels or "") for _, labels in values)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(port, "/")
    with pytest.raises(urllib.error.HTTPError, match="405"):
        get(port, data=b"x")
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_clients_that_send_nothing_hurt_nobody(muster):
    port = free_port()
    job = muster.start(f"--metrics=127.0.0.1:{port}", "--", "sh", "-c", "echo ready; exec sleep 100")
    job.out.wait_for("ready")
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    silent[0].sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 7_000)

    assert "muster_info" in get(port)

    job.signal(signal.SIGTERM)
    assert job.end(10) == 143
    for one in silent:
        one.close()


def test_a_request_is_bounded(muster):
    port = free_port()
    job = muster.start(f"--metrics=127.0.0.1:{port}", "--", "sh", "-c", "echo ready; exec sleep 100")
    job.out.wait_for("ready")

    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 9_000)
        assert client.recv(100).startswith(b"HTTP/1.1 431 ")

    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_a_port_that_is_taken_costs_the_metrics_and_not_the_job(muster):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        job = muster.run(f"--metrics=127.0.0.1:{port}", "--", "echo", "worked")

    assert job.code == 0
    assert job.said_about(f"cannot listen for --metrics on port {port}", "Address already in use; going on without metrics")
    assert "worked" in job.out.text


def test_metrics_in_a_file_are_whole_and_for_all(muster, tmp_path):
    file = tmp_path / "muster.prom"
    job = muster.start(f"--metrics={file}", "--", "sh", "-c", "echo ready; exec sleep 100")
    wait_until(lambda: file.exists() and "muster_ranks_alive 1" in file.read_text(), "a page with one rank")
    assert parsed(file.read_text())[0]["muster_phase", 'phase="running"'] == 1
    assert file.stat().st_mode & 0o777 == 0o644

    job.signal(signal.SIGTERM)

    assert job.end() == 143
    assert parsed(file.read_text())[0]["muster_ranks_alive", None] == 0
    assert os.listdir(tmp_path).count("muster.prom.new") == 0


@pytest.mark.parametrize("option", ["events", "trace", "metrics"])
def test_a_file_that_cannot_be_written_is_an_error(muster, option):
    job = muster.run(f"--{option}=/proc/nosuch/file", "--", "echo", "worked")

    assert job.code == 64
    assert job.said_about(f"--{option} is '/proc/nosuch/file', expected a file that can be written")


def test_metrics_make_no_folder(muster, tmp_path):
    job = muster.run(f"--metrics={tmp_path}/nosuch/m.prom", "--", "echo", "worked")

    assert job.code == 64
    assert job.said_about(f"--metrics is '{tmp_path}/nosuch/m.prom', expected a file that can be written: No such file")
    assert not (tmp_path / "nosuch").exists()


@pytest.mark.parametrize("option", ["events", "trace", "metrics"])
def test_what_is_no_regular_file_is_never_replaced(muster, tmp_path, option):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/null"):
        job = muster.run("--nproc-per-node=1", f"--{option}={path}", "--", "true")
        assert job.code == 64
        assert "it is there, and is no regular file" in job.err.text
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


def test_a_file_is_for_one_option(muster, tmp_path):
    job = muster.run(f"--events={tmp_path}/t", f"--trace={tmp_path}/./t", "--", "true")

    assert job.code == 64
    assert job.said_about(f"--trace is '{tmp_path}/./t', expected a file that no other of --events, --trace and --metrics has")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("option", ["events", "trace"])
def test_a_file_may_be_a_name_in_the_current_folder(muster, tmp_path, option):
    job = muster.run("--nproc-per-node=1", f"--{option}=here.json", "--", "true")

    assert job.code == 0, job.words()
    assert (tmp_path / "here.json").stat().st_size > 0


@pytest.mark.parametrize("value", ["9400", ":0", "127.0.0.1:99999", "http://host/metrics"])
def test_a_mistyped_address_is_no_file(muster, value):
    job = muster.run("--nproc-per-node=1", f"--metrics={value}", "--", "true")

    assert job.code == 64
    assert f"'{value}'" in job.err.text


def test_metrics_at_a_name_are_an_error(muster):
    job = muster.run("--metrics=host-a:9400", "--", "true")

    assert job.code == 64
    assert job.said_about("--metrics is 'host-a:9400'", "expected an address")


def test_a_hung_disk_holds_up_no_job(muster, disk):
    options = [f"--{name}={disk.folder}/{name}" for name in ("events", "trace", "metrics")]
    job = muster.start("--grace=0.5", *options, "--", "sh", "-c", "echo ready; exec sleep 100")
    wait_until(lambda: (disk.folder / "metrics").exists(), "a page of metrics")

    disk.freeze()
    job.signal(signal.SIGTERM)

    assert job.end(20) == 143


def test_a_full_disk_holds_up_no_job(muster, disk):
    disk.fill()
    options = [f"--{name}={disk.folder}/{name}" for name in ("events", "trace", "metrics")]

    job = muster.run("--nproc-per-node=2", *options, "--", "sh", "-c", "echo worked")

    assert job.code == 0
    assert job.out.text.count("worked") == 2
    assert "No space left on device" in job.err.text
