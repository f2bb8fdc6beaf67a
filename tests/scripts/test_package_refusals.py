"""scripts/package: what it refuses before it builds anything, in a repository of its own."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(muster VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
DATED = f"## [{VERSION}] - 2026-12-24"


class Repository:
    """With the scripts, a changelog, and what tells the version. There is nothing to compile."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "CMakeLists.txt", folder)
        self.git("init", "--quiet")

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *arguments], cwd=self.folder, check=True)

    def commit(self, newest):
        (self.folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{newest}\n\n### Added\n\n- All.\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "release")

    def package(self, *arguments):
        """The sentence with which it is refused."""
        empty = str(self.folder.parent / "empty")
        environment = {**os.environ, "XDG_CACHE_HOME": empty, "GNUPGHOME": empty}
        done = subprocess.run(
            [self.folder / "scripts/package", *arguments], env=environment, text=True, capture_output=True, timeout=100, check=False
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert not (self.folder / "build" / "CMakeCache.txt").exists()
        return done.stderr.strip().splitlines()[-1]


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "empty").mkdir(mode=0o700)
    return Repository(tmp_path / "clone")


def test_a_release_of_a_tree_with_changes_is_refused(repository):
    repository.commit(DATED)
    (repository.folder / "CMakeLists.txt").write_text("project(muster)\n")

    assert repository.package("--release") == "package: a release wants a commit, and here are changes that are in none"


@pytest.mark.parametrize("newest", [f"## [Unreleased]: {VERSION}", "## [999.0] - 2026-12-24", f"## [{VERSION}] - soon"])
def test_a_release_whose_version_the_changelog_does_not_date_is_refused(repository, newest):
    repository.commit(newest)

    refusal = repository.package("--release")

    assert refusal.startswith(f"package: CHANGELOG.md has '{newest}', and a release")
    assert refusal.endswith(f"wants '## [{VERSION}] - YYYY-MM-DD'")


def test_a_release_that_was_not_tested_is_refused(repository):
    repository.commit(DATED)

    assert repository.package("--release") == "package: a release wants all parts of scripts/test --full green on this tree"


def test_a_signed_release_is_not_replaced_by_one_without_a_signature(repository):
    repository.commit(DATED)
    signature = repository.folder / "build" / "release" / "SHA256SUMS.asc"
    signature.parent.mkdir(parents=True)
    signature.write_text("signature")

    refusal = repository.package("--reproduce")

    assert refusal.startswith("package: build/release has a signed release, and one that is not signed would take its place")
    assert signature.exists()


@pytest.mark.parametrize("arguments", [[], ["--release"]])
def test_a_key_that_gpg_does_not_have_is_refused(repository, arguments):
    repository.commit(DATED)

    refusal = repository.package("--sign-with", "nobody@muster.invalid", *arguments)

    assert refusal.startswith("package: --sign-with 'nobody@muster.invalid' names 0 secret keys of gpg, expected one")
