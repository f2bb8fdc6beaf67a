"""The front page: short, with a picture and real reports, and its commands of a running job work."""

import re

import pytest
from pages import ROOT, blocks, free_port, section

README = ROOT / "README.md"
FIRST_JOB = ROOT / "docs" / "first-job.md"


def test_it_is_short_and_begins_with_a_picture_and_a_report_of_a_hang():
    lines = README.read_text().splitlines()
    first_screen = "\n".join(lines[:30])

    assert len(lines) < 160
    assert "(docs/pictures/status-watch.svg)" in first_screen
    assert "the job has not moved for" in first_screen


def test_it_counts_the_platforms_that_muster_reads():
    known = re.findall(r"^  PLATFORM\(", (ROOT / "src/platforms/platform.hpp").read_text(), re.MULTILINE)

    assert f"muster reads {len(known)} platforms" in README.read_text()


def test_each_row_of_the_comparison_names_a_test_or_a_bench():
    rows = [line for line in section(README.read_text(), "How it differs").splitlines() if line.startswith("| ")]
    shown = [row.split("|")[-2].strip() for row in rows[1:]]

    assert len(shown) > 8
    for cell in shown:
        path = re.fullmatch(r"`(tests/[\w/.]+)`|\[bench\]\((docs/[\w./]+)#[\w-]+\)", cell)
        assert path and (ROOT / (path[1] or path[2])).exists(), cell


def test_the_script_that_asks_is_suspended(desk):
    (script,) = [block for block in blocks(FIRST_JOB) if block.word == "asks.py"]
    (answer,) = [block.text.splitlines()[1] for block in blocks(FIRST_JOB) if block.text.startswith("$ muster suspend\n")]
    (table,) = [block.text.splitlines() for block in blocks(FIRST_JOB) if block.text.startswith("$ muster status\n")]
    (desk.folder / "asks.py").write_text(script.text)
    job = f"page-{free_port()}"

    seen = desk.run(
        f"muster --job-id {job} --nproc-per-node 2 asks.py & "
        f"until muster status --job {job} --json 2>/dev/null | grep -q '\"state\": *\"running\"'; do :; done; "
        f"muster status --job {job}; muster suspend --job {job}; wait $!; echo code $?"
    )

    assert re.sub(r"[\d.]+ s", "N s", answer) in re.sub(r"[\d.]+ s", "N s", seen.stdout)
    assert table[3].split() in [line.split() for line in seen.stdout.splitlines()], "the same columns"
    assert seen.stdout.count("saved at step") == 2, seen.stdout
    assert "code 85" in seen.stdout


def commands_of_a_running_job():
    for page, heading in ((README, "Ask a running job"), (FIRST_JOB, "Ask a running job")):
        for block in blocks(page):
            if block.language == "sh" and block.text in section(page.read_text(), heading):
                yield from (pytest.param(line.split("#")[0], id=f"{page.name}: {line[:30]}") for line in block.text.splitlines())


@pytest.mark.parametrize("command", commands_of_a_running_job())
def test_a_command_of_a_running_job_is_answered(command, desk):
    """By the one job that it names, since others may run here."""
    job = f"page-{free_port()}"
    ask = command.replace("--watch", "").strip()
    script = "echo here; trap 'exit 0' TERM; while :; do sleep 0.1; done"

    seen = desk.run(
        f"mkfifo seen; {{ muster --job-id {job} -- sh -c \"{script}\" > seen 2> said; echo $? > code; }} & "
        f"read -r line < seen; {ask} --job {job} && echo answered; muster stop --job {job}; wait"
    )

    assert "answered" in seen.stdout, seen.stdout
