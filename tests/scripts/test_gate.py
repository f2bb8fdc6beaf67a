"""The test gate: how it treats failing tests, and which parts of --full it takes for green."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "test.d"))

import results  # noqa: E402
import suites  # noqa: E402
import unstable  # noqa: E402

FAILS_TWICE = "def test_it():\n    assert 1 == 2\n"
FAILS_ONCE = """
import pathlib

def test_it():
    seen = pathlib.Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        assert "the first time" == ""
"""


@pytest.fixture
def judge(tmp_path):
    """The gate's verdict on a file of tests: (red, unstable, outcome)."""

    def run(text, count=1):
        files = []
        for number in range(count):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / f"test_{number}.py").write_text(text)
            files.append(folder)
        suite = suites.Pytest("trial", files, root=tmp_path)
        env = {"PYTHONPATH": str(ROOT / "scripts" / "dev")}
        outcomes = suites.run_lanes([[suite]], tmp_path, env, lambda outcome: None)
        return *unstable.run_again(outcomes, tmp_path, env, "abc", tmp_path / "ledger"), outcomes[0]

    run.ledger = tmp_path / "ledger"
    return run


def test_a_passing_run_is_green(judge):
    red, shaky, outcome = judge("def test_one():\n    pass\n\ndef test_two():\n    pass\n")

    assert (red, shaky, outcome.passed) == ([], [], 2)


def test_a_test_that_fails_twice_is_red(judge):
    red, shaky, outcome = judge(FAILS_TWICE)

    assert shaky == []
    assert len(red) == 1 and "test_0.py::test_it: failed twice" in red[0]
    assert outcome.passed == 0


def test_a_test_that_fails_once_is_recorded_as_unstable(judge, tmp_path):
    red, shaky, _ = judge(FAILS_ONCE)

    assert red == []
    assert len(shaky) == 1 and "seen 1 times" in shaky[0]
    ((test, row),) = unstable.read_ledger(judge.ledger).items()
    assert test.endswith("test_0.py::test_it") and row[1:3] == ["1", "abc"] and "the first time" in row[3]
    (evidence,) = (tmp_path / "unstable").iterdir()
    assert {file.name for file in evidence.iterdir()} >= {"first.txt", "again.txt", "machine.txt"}


def test_a_test_unstable_three_times_is_red(judge):
    for _ in range(2):
        unstable.note("another", "x", "abc", judge.ledger)
    assert unstable.note("another", "x", "abc", judge.ledger) == unstable.MOST_TIMES


def test_many_unstable_tests_at_once_are_red(judge):
    red, shaky, _ = judge(FAILS_ONCE, count=unstable.MOST_IN_A_RUN + 1)

    assert len(shaky) == unstable.MOST_IN_A_RUN + 1
    assert red == ["4 unstable tests in one run, and more than 3 are no chance"]


def test_many_failures_are_not_run_again(judge):
    red, shaky, _ = judge(FAILS_ONCE, count=unstable.MOST_AGAIN + 1)

    assert (len(red), shaky) == (unstable.MOST_AGAIN + 1, [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import nothing_of_that_name\n", "pytest ended with 2"),
        ("import os\n\ndef test_it():\n    os._exit(3)\n", "pytest ended with 3"),
        ("", "pytest ended with 5"),
    ],
)
def test_a_suite_that_ends_without_naming_a_test_is_red(judge, text, complaint):
    red, _, _ = judge(text)

    assert len(red) == 1 and complaint in red[0]


def test_a_skipped_test_is_red(judge):
    red, _, _ = judge("import pytest\n\ndef test_it():\n    pytest.skip('not today')\n")

    assert len(red) == 1 and "failed twice" in red[0]


def google_test(folder, body):
    """A program that behaves as an executable of GoogleTest's, with one test in its report."""
    program = folder / "muster_trial_tests"
    program.write_text(f"""#!/bin/sh
for word; do case $word in --gtest_output=xml:*) report=${{word#*xml:}} ;; esac; done
echo '<testsuites><testsuite><testcase classname="A" name="b" {body}</testsuite></testsuites>' >"$report"
""")
    program.chmod(0o755)
    return suites.GoogleTest(program)


@pytest.mark.parametrize(
    ("body", "is_green"),
    [
        ('status="run" result="completed"/>', True),
        ('status="run" result="skipped"/>', False),
        ('status="notrun" result="suppressed"/>', False),
        ('status="run" result="completed"><failure/></testcase>', False),
    ],
)
def test_a_unit_test_that_is_skipped_or_left_out_is_red(tmp_path, body, is_green):
    outcomes = suites.run_lanes([[google_test(tmp_path, body)]], tmp_path, {}, lambda outcome: None)
    red, shaky = unstable.run_again(outcomes, tmp_path, {}, "abc", tmp_path / "ledger")

    assert (red == [], shaky) == (is_green, [])


def test_a_suite_that_cannot_be_run_is_red(tmp_path):
    outcomes = suites.run_lanes([[suites.GoogleTest(tmp_path / "missing")]], tmp_path, {}, lambda outcome: None)
    red, _ = unstable.run_again(outcomes, tmp_path, {}, "abc", tmp_path / "ledger")

    assert len(red) == 1 and "it could not be run" in red[0]


@pytest.mark.parametrize(("command", "is_green"), [("echo looked", True), ("echo something is wrong; exit 1", False)])
def test_a_check_that_finds_something_is_red(tmp_path, command, is_green):
    outcomes = suites.run_lanes([[suites.Check("trial", ["sh", "-c", command])]], tmp_path, {}, lambda outcome: None)
    red, shaky = unstable.run_again(outcomes, tmp_path, {}, "abc", tmp_path / "ledger")

    assert (red == [], shaky) == (is_green, [])
    assert (tmp_path / "trial.log").read_text().startswith("looked" if is_green else "something is wrong")


def test_a_check_computes_only_when_nothing_else_does(tmp_path):
    check = suites.Check("trial", ["cut", "-d ", "-f19", "/proc/self/stat"])
    suites.run_lanes([[check]], tmp_path, {}, lambda outcome: None)

    assert (tmp_path / "trial.log").read_text() == "19\n"


def test_an_unreadable_ledger_line_is_reported(tmp_path):
    (tmp_path / "ledger").write_text("# head\n<<<<<<< HEAD\n")

    with pytest.raises(ValueError, match="has the line '<<<<<<< HEAD'"):
        unstable.note("a", "x", "abc", tmp_path / "ledger")


@pytest.fixture
def kept(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "CACHE", tmp_path)
    return results.Part("trial", 1, True, [], ["tests/one"])


def test_a_part_is_green_on_the_inputs_on_which_it_was_green(kept):
    results.store(kept, "key", "green", 1.0, "abc")
    results.store(kept, "other", "red", 1.0, "abc")

    assert results.is_green(kept, "key")
    assert not results.is_green(kept, "other") and not results.is_green(kept, "third")
    assert results.state_of(kept, "key").startswith("green on these inputs")
    assert results.state_of(kept, "other").startswith("red on these inputs")
    assert results.state_of(kept, "third").startswith("green on other inputs")


def test_only_a_change_of_an_input_changes_the_key(tmp_path):
    part = results.Part("trial", 1, True, [], ["tests/one"])
    parts = {"trial": part, "other": results.Part("other", 1, True, [], ["tests/two"])}
    files = ["nobodys", "tests/one/a", "tests/two/b"]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("before")
    before = results.key_of(part, parts, files, tmp_path)

    (tmp_path / "tests/two/b").write_text("after")
    assert results.key_of(part, parts, files, tmp_path) == before
    (tmp_path / "nobodys").write_text("after")
    nobodys = results.key_of(part, parts, files, tmp_path)
    (tmp_path / "tests/one/a").write_text("after")
    assert len({before, nobodys, results.key_of(part, parts, files, tmp_path)}) == 3


def test_inputs_of_parts_exist():
    missing = [path for part in results.read_parts().values() for path in part.inputs if not (ROOT / path).exists()]

    assert missing == []
