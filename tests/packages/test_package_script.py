"""scripts/package: input that it refuses, and settings of the machine that must not affect it."""

import hashlib
import os
import subprocess

import pytest

from support.muster import ROOT


def package(umask=0o022, **environment):
    return subprocess.run(
        [ROOT / "scripts/package", "--no-build"],
        env={**os.environ, **environment},
        umask=umask,
        text=True,
        capture_output=True,
        timeout=100,
        check=False,
    )


def hashes(packages):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in packages.folder.iterdir()}


@pytest.mark.parametrize("date", ["abc", "-5", "5000000000", " 1"])
def test_an_invalid_date_is_refused_and_the_packages_stay(native, date):
    before = hashes(native)

    done = package(SOURCE_DATE_EPOCH=date)

    assert done.returncode == 1
    assert f"SOURCE_DATE_EPOCH is '{date}', expected seconds since 1970" in done.stderr
    assert hashes(native) == before


def test_the_packagers_umask_does_not_affect_the_packages(native):
    before = hashes(native)

    done = package(umask=0o077)

    assert done.returncode == 0, done.stderr
    assert hashes(native) == before
