"""The gate itself: what it makes of tests that fail, and which parts of --full it takes for green."""

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
    """What the gate makes of a file of tests: (red, unstable, outcome)."""

    def run(text, count=1):
        files = []
        for number in range(count):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / f"test_{number}.py").write_text(text)
            files.append(folder)
        suite = suites.Pytest("trial", files, root=tmp_path)
        env = {"PYTHONPATH": str(ROOT / "scripts")}
        outcomes = suites.run_lanes([[suite]], tmp_path, env, lambda outcome: None)
        return *unstable.run_again(outcomes, tmp_path, env, "abc", tmp_path / "ledger"), outcomes[0]

    run.ledger = tmp_path / "ledger"
    return run


def test_what_passes_is_green(judge):
    red, shaky, outcome = judge("def test_one():\n    pass\n\ndef test_two():\n    pass\n")

    assert (red, shaky, outcome.passed) == ([], [], 2)


def test_what_fails_twice_is_red(judge):
    red, shaky, outcome = judge(FAILS_TWICE)

    assert shaky == []
    assert len(red) == 1 and "test_0.py::test_it: failed twice" in red[0]
    assert outcome.passed == 0


def test_what_fails_once_is_unstable_and_stands_in_the_ledger(judge, tmp_path):
    red, shaky, _ = judge(FAILS_ONCE)

    assert red == []
    assert len(shaky) == 1 and "seen 1 times" in shaky[0]
    ((test, row),) = unstable.read_ledger(judge.ledger).items()
    assert test.endswith("test_0.py::test_it") and row[1:3] == ["1", "abc"] and "the first time" in row[3]
    (evidence,) = (tmp_path / "unstable").iterdir()
    assert {file.name for file in evidence.iterdir()} >= {"first.txt", "again.txt", "machine.txt"}


def test_what_the_ledger_has_seen_three_times_is_red(judge):
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


@pytest.fixture
def kept(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "CACHE", tmp_path)
    return results.Part("trial", 1, True, [], ["src/one"])


def test_a_part_is_green_on_the_inputs_on_which_it_was_green(kept):
    results.store(kept, "key", "green", 1.0, "abc")
    results.store(kept, "other", "red", 1.0, "abc")

    assert results.is_green(kept, "key")
    assert not results.is_green(kept, "other") and not results.is_green(kept, "third")
    assert results.state_of(kept, "key").startswith("green on these inputs")
    assert results.state_of(kept, "other").startswith("red on these inputs")
    assert results.state_of(kept, "third").startswith("green on other inputs")


def test_a_change_of_an_input_is_another_key_and_of_another_file_is_not(tmp_path):
    part = results.Part("trial", 1, True, [], ["src/one"])
    parts = {"trial": part, "other": results.Part("other", 1, True, [], ["src/two"])}
    files = ["nobodys", "src/one/a", "src/two/b"]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("before")
    before = results.key_of(part, parts, files, tmp_path)

    (tmp_path / "src/two/b").write_text("after")
    assert results.key_of(part, parts, files, tmp_path) == before
    (tmp_path / "nobodys").write_text("after")
    nobodys = results.key_of(part, parts, files, tmp_path)
    (tmp_path / "src/one/a").write_text("after")
    assert len({before, nobodys, results.key_of(part, parts, files, tmp_path)}) == 3


def test_inputs_of_parts_exist():
    missing = [path for part in results.read_parts().values() for path in part.inputs if not (ROOT / path).exists()]

    assert missing == []
