"""The folder of a release: verified and installed from a web server on empty machines, as docs/releases.md tells."""

import gzip
import hashlib
import json
import platform
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, SIGNATURES
from test_install import JOB, assert_two_workers

SERVER = "http://127.0.0.1:8000"
GPGV = "gpgv --keyring ./muster-release-key.gpg SHA256SUMS.asc SHA256SUMS"
SQV = "sqv --keyring ./muster-release-key.gpg SHA256SUMS.asc SHA256SUMS"
SUMS = "sha256sum -c SHA256SUMS"
ADD_TO_APT = f"""
    : >/etc/apt/sources.list
    mkdir -p /etc/apt/keyrings && cp /packages/muster-release-key.gpg /etc/apt/keyrings/muster.gpg
    echo 'deb [signed-by=/etc/apt/keyrings/muster.gpg] {SERVER} ./' >/etc/apt/sources.list.d/muster.list
    apt-get update
"""
VENV = "python3 -m venv /opt/muster; PATH=/opt/muster/bin:$PATH; pip install --no-index"
PIP = {"debian11": "pip3 install --no-index", "debian12": VENV, "debian13": VENV, "musl": "pip3 install --no-index"}


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "verify"), [("debian11", GPGV), ("debian12", GPGV), ("debian13", SQV)])
def test_a_release_is_verified_and_installed_on_debian(machine, signed, name, verify):
    output = machine(
        name,
        f"""
        cd /packages; {verify}; {SUMS}; cd /
        {ADD_TO_APT}
        apt-get install --yes muster
        {JOB}
        apt-get purge --yes muster
        test ! -e /usr/bin/muster && hash -r
        ({PIP[name]} --find-links {SERVER}/ muster-launcher && {JOB})
        tar -xzf /packages/muster-*-linux-{platform.machine()}.tar.gz -C /usr/local --strip-components 1
        {JOB}
        """,
        signed.folder,
    )
    assert_two_workers(output, 3)


def test_a_release_is_verified_and_installed_where_the_c_library_is_musl(machine, signed):
    """No gpgv and no apt are there: the signature of the sums is checked on the other side."""
    subprocess.run(GPGV.split(), cwd=signed.folder, check=True, capture_output=True)

    output = machine(
        "musl",
        f"""
        cd /packages; {SUMS}; cd /
        python3 -c 'import sysconfig; print(sysconfig.get_platform(), sysconfig.get_config_var("MULTIARCH"))'
        ({PIP["musl"]} --find-links {SERVER}/ muster-launcher && {JOB})
        pip3 uninstall --yes muster-launcher
        test ! -e /usr/local/bin/muster && hash -r
        tar -xzf /packages/muster-*-linux-{platform.machine()}.tar.gz -C /usr --strip-components 1
        {JOB}
        """,
        signed.folder,
    )

    assert "-linux-musl" in output
    assert_two_workers(output, 2)


def test_pip_takes_the_wheel_from_the_index(machine, signed):
    index = f"{VENV.replace('--no-index', '')} --index-url {SERVER}/simple/"
    assert_two_workers(machine("debian12", f"{index} muster-launcher; {JOB}", signed.folder))


def test_changed_packages_are_refused(machine, signed, tmp_path):
    changed = shutil.copytree(signed.folder, tmp_path / "changed")
    for path in (*changed.glob("*.whl"), *changed.glob("*.deb"), *changed.glob("*.tar.gz")):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    output = machine(
        "debian12",
        f"""
        {ADD_TO_APT}
        apt-get install --yes muster || echo apt refuses
        python3 -m venv /opt/muster
        /opt/muster/bin/pip install --index-url {SERVER}/simple/ muster-launcher || echo pip refuses
        cd /packages
        {SUMS} || echo sums refuse
        (cat SHA256SUMS; echo) >/mnt/sums
        gpgv --keyring ./muster-release-key.gpg SHA256SUMS.asc /mnt/sums || echo gpgv refuses
        test ! -e /usr/bin/muster && test ! -e /opt/muster/bin/muster
        """,
        changed,
    )

    for who in ("apt refuses", "pip refuses", "sums refuse", "gpgv refuses"):
        assert who in output, output


def test_a_changed_index_of_apt_is_refused(machine, signed, tmp_path):
    changed = shutil.copytree(signed.folder, tmp_path / "changed")
    for name in ("InRelease", "Release"):
        (changed / name).write_text((changed / name).read_text().replace("Label: muster", "Label: others"))

    output = machine("debian12", f"({ADD_TO_APT}) || echo apt refuses; apt-get install --yes muster || echo nothing there", changed)

    assert "apt refuses" in output
    assert "nothing there" in output


def test_the_sums_are_those_of_all_files_but_the_signatures(signed, hosted):
    files = files_below(signed.folder)
    sums = dict(reversed(line.split("  ")) for line in (signed.folder / "SHA256SUMS").read_text().splitlines())

    assert sums == {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name not in {*SIGNATURES, "SHA256SUMS"}
    }
    assert {name: content for name, content in files.items() if name not in SIGNATURES} == files_below(hosted)


def test_the_provenance_names_the_commit_and_the_bytes(packages):
    statement = json.loads(packages.provenance.read_text())
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    (source,) = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    said = packages.run_program("--version", "--verbose")

    assert subjects == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (packages.wheel, packages.deb, packages.tar, packages.bill)
    }
    assert f"\ncommit {source['digest']['gitCommit']}" in said
    assert ("with changes" in said) == ("annotations" in source)


@pytest.mark.parametrize("key", ["nobody@muster.invalid", ""])
def test_a_key_that_is_not_there_is_refused(signed, native, tmp_path, key, monkeypatch):
    monkeypatch.setenv("GNUPGHOME", str(tmp_path))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    index = ["scripts/package.d/index.py", "--output", tmp_path / "release", "--sign-with", key, native.folder]

    done = subprocess.run(["/usr/bin/python3", "-B", *index], text=True, capture_output=True, check=False)

    assert done.returncode != 0
    assert f"--sign-with '{key}' names 0 secret keys of gpg, expected one" in done.stderr
    assert not (tmp_path / "release").exists()


def test_the_debian_changelog_has_the_versions_and_changes_of_the_changelog(packages, tmp_path):
    path = tmp_path / "changelog"
    path.write_bytes(gzip.decompress(packages.files_of_deb()["usr/share/doc/muster/changelog.gz"][1]))
    shown = subprocess.run(["dpkg-parsechangelog", "-l", path, "--all"], text=True, capture_output=True, check=True)
    ours, debians = (ROOT / "CHANGELOG.md").read_text(), path.read_text()

    ours = re.split(r"^## \[(Unreleased|[\d.]+)\](?:: ([\d.]+)| - \S+)\n", ours, flags=re.MULTILINE)[1:]
    ours = {number or name: (name == "Unreleased", words(text)) for name, number, text in batched(ours, 3)}
    debians = re.split(r"^muster \(([\d.]+)\) (\w+);.*\n|^ -- .*\n", debians, flags=re.MULTILINE)[1:-1]
    debians = {version: (suite == "UNRELEASED", words(text)) for version, suite, text in batched([one for one in debians if one], 3)}
    assert shown.stderr == ""  # no complaint about the form
    assert list(ours)[0] == packages.version
    assert ours == debians


def batched(parts, count):
    return zip(*(parts[first::count] for first in range(count)))


def words(text):
    """Without the marks of either form."""
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)
    return re.sub(r"^(### |- |  \* |  \[ )|(?<=\S) \]$", "", text, flags=re.MULTILINE).split()
