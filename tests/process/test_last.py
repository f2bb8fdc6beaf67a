"""`muster last`: the reports of jobs that are over."""

import datetime
import json
import os
import re
import stat

import pytest

from support.muster import binary


@pytest.fixture
def reports(muster):
    return muster.folder / "state" / "muster" / "reports"


def test_a_report_is_kept_with_its_last_lines(muster, reports):
    job = muster.run("--history=2", "--job-id=train", "--", "sh", "-c", "echo broken >&2; exit 3", "--api-key=secret")
    assert job.code == 3

    shown = muster.run("last")

    assert shown.code == 0
    assert "'train', sh -c echo broken >&2; exit 3 --api-key=***" in shown.out.lines[0]
    *lines, remark = shown.out.lines[1:]
    assert lines == [f"  {line}" for line in job.said[-len(lines) :]]
    assert "exit code 3" in lines[-1]
    assert re.fullmatch(r"It ended \d+s ago\. A job has no report while it runs, or after a kill of muster itself\.", remark)
    (saved,) = json.loads(muster.run("last", "--json").out.text)
    assert saved["report"]["exit_code"] == 3 and saved["id"] == "train"
    (file,) = reports.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(reports.stat().st_mode) == 0o700


def test_the_newest_are_kept_and_shown_in_order(muster, reports):
    for code in (1, 2, 3):
        muster.run("--history=2", "--", "sh", "-c", f"exit {code}")
    names = ["notes.txt", "20notes.json", "2020-01-01T00:00:00.000Z.json", "2020-01-01T00:00:00.000Z-1x.json"]
    for name in names:
        (reports / name).write_text("mine")
    (reports / "2020-01-01T00:00:00.000Z-1.json").symlink_to(reports / "notes.txt")
    muster.run("--history=2", "--", "sh", "-c", "exit 4")

    assert len(list(reports.glob("20*.json"))) == 2 + 4
    shown = json.loads(muster.run("last", "5", "--json").out.text)
    assert [one["report"]["exit_code"] for one in shown] == [3, 4]
    assert [(reports / name).read_text() for name in names] == ["mine"] * len(names)
    assert (reports / "2020-01-01T00:00:00.000Z-1.json").is_symlink()


def test_a_folder_that_is_a_link_is_not_used(muster, reports, tmp_path):
    reports.parent.mkdir(parents=True)
    other = tmp_path / "other"
    other.mkdir()
    reports.symlink_to(other)
    (other / "2020-01-01T00:00:00.000Z-1.json").write_text("mine")

    job = muster.run("--history=1", "--", "true")

    assert f"the report is not kept: '{reports}' is a symbolic link" in job.err.text
    assert [file.read_text() for file in other.iterdir()] == ["mine"]
    assert muster.run("last").code == 75


def test_nothing_is_kept_where_nobody_watches(muster, reports):
    assert muster.run("--", "true", start_new_session=True).code == 0

    assert not reports.exists()
    answer = muster.run("last")
    assert answer.code == 75
    assert "no report of a job of this user is kept" in answer.err.text
    assert "(of several nodes, node 0's)" in answer.err.text


def test_a_job_on_a_terminal_is_kept(muster, terminal, reports):
    shown = terminal(binary(), "--", "true")
    shown.screen.wait_for("succeeded in")
    shown.process.wait()

    assert len(list(reports.iterdir())) == 1


@pytest.mark.parametrize("words", ["nohup {} </dev/null >out 2>&1", "{} 2>&1 </dev/null | tee out"])
def test_a_job_of_a_terminal_is_kept_wherever_its_output_goes(terminal, reports, tmp_path, words):
    shown = terminal("sh", "-c", f"cd {tmp_path}; {words.format(f'{binary()} -- true')}")
    shown.end()

    assert len(list(reports.iterdir())) == 1


def test_history_0_keeps_nothing_on_a_terminal(terminal, reports):
    shown = terminal(binary(), "--history=0", "--", "true")
    shown.screen.wait_for("succeeded in")
    shown.process.wait()

    assert not reports.exists()


def test_rubbish_is_left_out(muster, reports):
    muster.run("--history=9", "--", "true")
    (reports / "2099-01-01T00:00:00.000Z-1.json").write_text("[")
    (reports / "2099-01-02T00:00:00.000Z-1.json").mkdir()
    os.mkfifo(reports / "2099-01-03T00:00:00.000Z-1.json")

    (saved,) = json.loads(muster.run("last", "9", "--json").out.text)
    assert saved["report"]["verdict"] == "succeeded"


def test_documents_without_the_fields_of_a_report_are_left_out(muster, reports):
    muster.run("--history=9", "--", "true")
    today = next(reports.iterdir()).name[:10]
    for number, text in enumerate(("{}", '{"report": {}}', '{"report": {"verdict": "failed"}, "program": "x"}')):
        (reports / f"{today}T23:59:59.000Z-{number}.json").write_text(text)

    assert len(json.loads(muster.run("last", "9", "--json").out.text)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("of_stranger", ["reports", "file"])
def test_what_belongs_to_another_user_is_not_used(muster, reports, of_stranger):
    muster.run("--history=9", "--", "true")
    os.chown(reports if of_stranger == "reports" else next(reports.iterdir()), 65534, 65534)

    shown = muster.run("last")
    job = muster.run("--history=9", "--", "true")

    assert (shown.code, job.code) == (75, 0)
    if of_stranger == "reports":
        assert f"the last reports are not read: '{reports}' belongs to another user" in shown.err.text
    assert len(list(reports.iterdir())) == (1 if of_stranger == "reports" else 2)
    assert ("the report is not kept: " in job.err.text) == (of_stranger == "reports")


def test_a_new_report_stays_beside_those_of_days_to_come(muster, reports):
    reports.mkdir(parents=True)
    document = {"program": "x", "report": {"verdict": "failed", "ended_at": "2099-01-01T00:00:00.000Z", "exit_code": 9}}
    for day in range(1, 6):
        (reports / f"2099-01-0{day}T00:00:00.000Z-1.json").write_text(json.dumps(document))

    for code in (1, 2):
        muster.run("--history=3", "--", "sh", "-c", f"exit {code}")

    shown = json.loads(muster.run("last", "3", "--json").out.text)
    assert [one["report"]["exit_code"] for one in shown] == [9, 1, 2]


def test_a_new_report_is_the_last_after_a_clock_went_back(muster, reports):
    reports.mkdir(parents=True)
    document = {"program": "x", "report": {"verdict": "failed", "ended_at": "in an hour", "exit_code": 9}}
    for minutes in (60, 61, 62):
        to_come = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
        (reports / f"{to_come:%Y-%m-%dT%H:%M:%S.000Z}-1.json").write_text(json.dumps(document))

    for code in (1, 2):
        muster.run("--history=3", "--", "sh", "-c", f"exit {code}")

    shown = json.loads(muster.run("last", "3", "--json").out.text)
    assert [one["report"]["exit_code"] for one in shown] == [9, 1, 2]


def test_very_many_old_reports_do_not_hold_up_the_end(muster, reports):
    """A job removes a part of them."""
    reports.mkdir(parents=True)
    for number in range(1000):
        (reports / f"2020-01-01T00:00:00.000Z-{number}.json").write_text("{}")

    assert muster.run("--history=1", "--", "true").code == 0

    assert len(list(reports.iterdir())) == 901
    (saved,) = json.loads(muster.run("last", "9", "--json").out.text)
    assert saved["report"]["verdict"] == "succeeded"


def test_a_home_that_is_missing_is_not_made(muster, tmp_path):
    lines = {}
    for option in ("--history=2", "--history=0"):
        job = muster.run(option, "--", "true", env={"XDG_STATE_HOME": "", "HOME": tmp_path / "nobody"})
        assert job.code == 0
        lines[option] = [line for line in job.said if "nobody" in line]
    assert not (tmp_path / "nobody").exists()
    (said,) = lines["--history=2"]
    assert said.endswith(f"'{tmp_path / 'nobody'}' is no folder")
    assert lines["--history=0"] == []


def test_what_could_not_be_written_is_removed(muster, reports):
    """As on a full disk: no file may be larger than nothing."""
    job = muster.run("--history=2", "--", "true", through=["prlimit", "--fsize=0"])

    assert job.code == 0
    assert "the report is not kept: cannot write" in job.err.text
    assert list(reports.iterdir()) == []


def test_a_home_that_cannot_be_written_changes_no_exit_code(muster, tmp_path):
    (tmp_path / "file").write_text("")
    job = muster.run("--history=2", "--", "true", env={"XDG_STATE_HOME": str(tmp_path / "file")})

    assert job.code == 0


@pytest.mark.parametrize("words", [("0",), ("x",), ("1", "2"), ("--foo",)])
def test_other_words_are_refused(muster, words):
    assert muster.run("last", *words).code == 64


def test_history_is_taken_for_the_number_of_reports(muster):
    job = muster.run("last", "--history", "5")

    assert job.code == 64
    assert "did you mean 'muster last N'?" in job.err.text
