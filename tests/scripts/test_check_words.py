"""scripts/check-words: each of its four checks objects to what is wrong, and lets pass what is right."""

import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
GOOD = "agent: lock the executable in memory"
AUTHOR = {f"GIT_{who}_{what}": "test@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Repository:
    """A git repository with the script, its table and one commit."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(SCRIPTS / "check-words", folder / "scripts")
        shutil.copytree(SCRIPTS / "check-words.d", folder / "scripts" / "check-words.d")
        self._settings = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        self._settings |= {**AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self.run("git", "init", "-q")
        self.commit(GOOD)

    def run(self, *command):
        return subprocess.run(
            command, cwd=self.folder, env=self._settings, capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip

    def commit(self, subject):
        done = self.run("git", "commit", "-q", "--allow-empty", "-m", subject)
        assert done.returncode == 0, done.stderr
        return self.run("git", "rev-parse", "--short", "HEAD").stdout.strip()

    def write(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self, *options):
        done = self.run("scripts/check-words", *options)
        assert done.stderr == ""
        assert done.returncode == (1 if done.stdout else 0)
        return done.stdout.splitlines()


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


@pytest.mark.parametrize(
    ("text", "name", "say"),
    [
        ("void bury_all();", "bury_all", "reap"),
        ("Timer\nnext_look_;", "next_look_", "timer"),
        ("class LaterLook;", "LaterLook", "DelayedCall"),
        ("int k = kMostLaterLooks;", "kMostLaterLooks", "DelayedCall"),
        ("int a = 1'000; int errand_count = 'e';", "errand_count", "HelperTask"),
    ],
)
def test_a_banned_identifier_is_named_with_its_replacement(repository, text, name, say):
    repository.write("src/run/a.cpp", text + "\n")

    (found,) = repository.check("--identifiers")

    assert found.startswith(f"src/run/a.cpp:{1 + text.count(chr(10))}: '{name}': say '")
    assert say in found


@pytest.mark.parametrize(
    "text",
    [
        "// bury an errand",
        "/* bury\nan errand */ int a;",
        'auto a = "bury an errand";',
        'auto a = R"(bury "an" errand)";',
        "#include <muster/errand.hpp>",
        "int last_call = 1;",
        "void unbury(); int outlook; Outlook outlook_;",
    ],
)
def test_comments_strings_and_parts_of_words_are_no_identifiers(repository, text):
    repository.write("src/run/a.cpp", text + "\n")

    assert repository.check("--identifiers") == []


def test_a_banned_name_of_a_file_is_found(repository):
    repository.write("launcher/briefly.hpp", "int a;\n")

    assert repository.check("--identifiers") == ["launcher/briefly.hpp:1: 'briefly': say 'HelperTask::wait_for'"]


@pytest.mark.parametrize(
    ("text", "line", "opening"),
    [
        ("// What is read.\nint a;", 1, "What"),
        ("#pragma once\n\n/// Whether it runs.\nbool a();", 3, "Whether"),
        ("namespace a {\nclass B {\n  int b_;\n  // how it ends\n  int c_;\n};\n}", 4, "how"),
        ("enum class A : int {\n  /// Nobody asked.\n  kB,\n};", 2, "Nobody"),
        ("/*\n * Where it is.\n */\nint a;", 2, "Where"),
        ("// The same for b.\nint b;", 1, "The same"),
        ("void f() {\n  int a = '{';\n}\n// See the header.\nint b;", 4, "See the header"),
    ],
)
def test_a_comment_that_opens_with_a_question_word_is_found(repository, text, line, opening):
    repository.write("include/a.hpp", text + "\n")

    (found,) = repository.check("--comments")

    assert found.startswith(f"include/a.hpp:{line}: '{opening}': say '")


def test_tests_are_checked_for_comments_and_not_for_names(repository):
    repository.write("tests/unit/a_test.cpp", "// Who joins.\nint errand;\n")

    (found,) = repository.check("--comments", "--identifiers", "--files")

    assert found.startswith("tests/unit/a_test.cpp:1: 'Who': say '")


@pytest.mark.parametrize(
    "text",
    [
        "// Reads what is there.\n// What is missing is an error.\nint a;",
        "void f() {\n  // What the kernel says here is late.\n  g();\n}",
        "int a;  // What it is.",
        "// Whatever is read. However it ends.\nint a;",
        'auto a = "// What";',
    ],
)
def test_other_comments_are_let_pass(repository, text):
    repository.write("src/a.cpp", text + "\n")

    assert repository.check("--comments") == []


@pytest.mark.parametrize(
    ("subject", "word"),
    [
        ("what is not in memory is read by somebody else", "what"),
        ("run: what is not in memory is read by somebody else", "what"),
        ("run: the executable is locked", "the"),
        ("run: Lock the executable", "Lock"),
        ("run: locks the executable", "locks"),
        ("run: locked the executable", "locked"),
        ("run: locking the executable", "locking"),
        ("run: memory is locked", "memory is"),
        ("run: lock", "lock"),
        ("run: lock the executable.", "run: lock the executable."),
        ("run: lock the executable " + "x" * 48, "73 characters"),
    ],
)
def test_a_subject_that_is_no_verb_and_object_is_found(repository, subject, word):
    name = repository.commit(subject)

    (found,) = repository.check("--commits")

    assert found.startswith(f"{name}:1: '{word}': say '")


@pytest.mark.parametrize(
    "subject",
    [
        "agent, guard: feed the timer of the parent's death",
        "run/process: pass the signal on",
        "scripts: say what to write, and where",
        "lock: lock the executable " + "x" * 46,
        'Revert "what it was"',
    ],
)
def test_a_subject_with_a_verb_and_an_object_is_let_pass(repository, subject):
    repository.commit(subject)

    assert repository.check("--commits") == []


def test_only_the_commits_of_a_range_are_judged(repository):
    repository.commit("what was")
    repository.commit(GOOD)

    assert repository.check("--commits", "HEAD~1..HEAD") == []
    assert len(repository.check("--commits", "HEAD~2..HEAD")) == 1


def test_the_hook_of_the_help_refuses_a_bad_subject(repository):
    help_text = repository.run("scripts/check-words", "--help").stdout
    hook = "".join(line + "\n" for line in help_text.splitlines() if line.startswith(("  hook=", "  printf ")))
    assert repository.run("bash", "-ec", hook).returncode == 0
    assert os.access(repository.folder / ".git" / "hooks" / "commit-msg", os.X_OK)

    refused = repository.run("git", "commit", "--allow-empty", "-m", "run: adds a thing", "-m", "the body may say what")

    assert refused.returncode != 0
    assert "COMMIT_EDITMSG:1: 'adds': say 'an imperative verb" in refused.stdout + refused.stderr
    repository.commit("run: add a thing")


def test_a_message_may_begin_with_comments(repository):
    repository.write("message", "# on branch main\n\nwhat was\n")

    (found,) = repository.check("--message", "message")

    assert found == "message:3: 'what': say 'stage: verb object'"


def test_a_base_name_of_two_folders_is_found(repository):
    for path in ("src/gang/link.cpp", "src/gang/link.hpp", "src/run/link.hpp", "launcher/main.cpp", "src/mpi/main.c"):
        repository.write(path, "int a;\n")

    assert repository.check("--files") == ["src/run/link.hpp:1: 'link': say 'a base name that src/gang/link.cpp does not have'"]


def test_without_an_option_all_four_are_checked(repository):
    assert repository.check() == []
    repository.write("src/gang/errand.cpp", "// What it is.\nint bury;\n")
    repository.write("src/run/errand.cpp", "int a;\n")
    repository.commit("what was")

    found = " ".join(repository.check())

    for word in ("'errand'", "'bury'", "'What'", "'what'", "a base name"):
        assert word in found


def test_a_broken_row_of_the_table_is_named(repository):
    repository.write("scripts/check-words.d/identifiers.tsv", "bury\treap\n")

    done = repository.run("scripts/check-words", "--identifiers")

    assert done.returncode == 1
    assert "bury\treap" in done.stderr
