"""The time before the lines of the console, and in events and report."""

import json
import os
import re
from datetime import datetime, timedelta, timezone

import pytest

from support.muster import binary

UTC = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
UNSET = ["env", "-u", "MUSTER_CONSOLE_TIME"]  # which the other tests set to off
EVENT_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def assert_recent(text):
    assert abs(datetime.now(timezone.utc) - moment(text)) < timedelta(minutes=10), text


def test_lines_of_muster_have_utc_where_standard_error_is_no_terminal(muster):
    job = muster.run("--", "sh", "-c", "echo mine; exit 3", through=UNSET)

    assert job.code == 3
    assert job.out.text == "mine\n", "a worker's lines are its own"
    times = [re.match(rf"({UTC}) muster: ", line) for line in job.err.lines]
    assert times and all(times), job.err.text
    assert_recent(times[0][1])


def test_a_terminal_shows_no_time(terminal):
    shown = terminal(*UNSET, binary(), "--", "true")

    text = shown.screen.wait_for("succeeded in")
    assert re.search(r"^muster: 1 worker succeeded", text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("off", r"muster: "),
        ("utc", rf"{UTC} muster: "),
        ("relative", r"\+\d+\.\d{3} s muster: "),
        ("local", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d-03:30 muster: "),
    ],
)
def test_the_form_can_be_chosen(muster, form, pattern):
    job = muster.run(f"--console-time={form}", "--", "true", env={"TZ": "NST+3:30"})

    assert job.code == 0
    assert all(re.match(pattern, line) for line in job.err.lines), job.err.text


@pytest.mark.parametrize("command", [("--console-time=utc", "--report=report", "--", "sh", "-c", "echo $TZ"), ("last",)])
def test_a_time_zone_that_would_block_is_not_read_for_utc(muster, tmp_path, command):
    os.mkfifo(tmp_path / "zone")

    job = muster.run(*command, env={"TZ": tmp_path / "zone"})

    assert job.code == (75 if command == ("last",) else 0)
    assert "TZ" not in job.err.text
    assert job.out.text in ("", f"{tmp_path / 'zone'}\n"), "a worker has it as it was"


def test_a_time_zone_that_would_block_is_not_read(muster, tmp_path):
    os.mkfifo(tmp_path / "zone")

    job = muster.run("--console-time=local", "--", "true", env={"TZ": f":{tmp_path / 'zone'}"})

    assert job.code == 0
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 muster: ", line) for line in job.err.lines), job.err.text
    assert job.err.text.count("zone', which is no regular file: times are in UTC") == 1


def test_lines_of_workers_have_it_if_asked(muster):
    job = muster.run(
        "--console-time=utc,workers", "--nproc-per-node=2", "--", "sh", "-c", "echo one; printf two >&2"
    )

    assert job.code == 0
    assert sorted(re.sub(UTC, "TIME", line) for line in job.out.lines) == ["TIME [0] one", "TIME [1] one"]
    of_workers = [line for line in job.err.lines if "muster: " not in line]
    assert sorted(re.sub(UTC, "TIME", line) for line in of_workers) == ["TIME [0] two", "TIME [1] two"]


def test_the_only_worker_has_it_as_well(muster):
    job = muster.run("--console-time=utc,workers", "--", "sh", "-c", "printf 'half '; printf 'whole\n'")

    assert re.fullmatch(rf"{UTC} half whole\n", job.out.text)


def test_log_files_stay_as_the_worker_wrote_them(muster, tmp_path):
    job = muster.run("--console-time=utc,workers", "--log-dir=logs", "--", "echo", "mine", cwd=tmp_path)

    assert job.code == 0
    assert [file.read_text() for file in (tmp_path / "logs").rglob("*.out")] == ["mine\n"]


def test_events_and_report_have_the_same_form(muster, tmp_path):
    job = muster.run("--events=events", "--", "true", report=True, cwd=tmp_path)

    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    report = job.report
    assert all(re.fullmatch(EVENT_TIME, event["time"]) for event in events)
    assert re.fullmatch(EVENT_TIME, report["started_at"]) and re.fullmatch(EVENT_TIME, report["ended_at"])
    assert moment(report["started_at"]) <= moment(events[-1]["time"])
    assert abs(moment(events[0]["time"]).timestamp() - events[0]["wall"]) <= 0.001
    assert_recent(report["ended_at"])


@pytest.mark.parametrize("value", ["now", "utc,", "utc,ranks", ",workers"])
def test_other_words_are_refused(muster, value):
    job = muster.run(f"--console-time={value}", "--", "true")

    assert job.code == 64
    assert f"--console-time is '{value}'" in job.err.text, job.err.text
    assert "off, relative, utc or local" in job.err.text
