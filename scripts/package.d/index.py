#!/usr/bin/env python3
"""Makes the folder of a release, which any web server can serve: all packages, their sums, and what pip and apt look for.

usage: index.py --output DIR [--sign-with KEY] FOLDER...

FOLDER has the packages of one architecture, as make.py leaves them. pip reads DIR as --find-links, and DIR/simple/ as an index (PEP 503).
apt reads DIR as a repository without components. SHA256SUMS has the sum of every file but the signatures. KEY names one secret key of gpg.
SOURCE_DATE_EPOCH is the date of the repository. scripts/package calls this.
"""

import argparse
import gzip
import html
import os
import pathlib
import shutil
import subprocess
import sys
import time

import provenance
import wheels

PAGE = '<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>{title}</title></head>\n<body>\n{links}</body>\n</html>\n'
PROJECT = wheels.NAME.replace("_", "-")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--sign-with")
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    key = None if arguments.sign_with is None else fingerprint_of(arguments.sign_with)

    making = arguments.output.with_name(arguments.output.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for folder in arguments.folders:
        for path in folder.iterdir():
            shutil.copy2(path, making)
    write_simple(making)
    write_apt(making)
    write_sums(making)
    if key:
        sign(making, key)
    shutil.rmtree(arguments.output, ignore_errors=True)
    making.rename(arguments.output)


def write_simple(folder):
    """The pages of PEP 503. pip refuses a wheel whose sum is another."""
    links = "".join(
        f'<a href="../../{path.name}#sha256={provenance.sha256_of(path)}" '
        f'data-requires-python="{html.escape(wheels.REQUIRED_PYTHON)}">{path.name}</a><br>\n'
        for path in sorted(folder.glob("*.whl"))
    )
    project = folder / "simple" / PROJECT
    project.mkdir(parents=True)
    (project / "index.html").write_text(PAGE.format(title=PROJECT, links=links))
    (project.parent / "index.html").write_text(
        PAGE.format(title="muster", links=f'<a href="{PROJECT}/">{PROJECT}</a><br>\n')
    )


def write_apt(folder):
    packages = archive(folder, "packages")
    (folder / "Packages").write_bytes(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages, 9, mtime=0))
    architectures = sorted({line.split()[1] for line in packages.decode().splitlines() if line.startswith("Architecture: ")})
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    fields = {"Origin": "muster", "Label": "muster", "Architectures": " ".join(architectures), "Date": date}
    options = [option for name, value in fields.items() for option in ("-o", f"APT::FTPArchive::Release::{name}={value}")]
    release = archive(folder, "release", *options)
    (folder / "Release").write_bytes(release)


def archive(folder, command, *options):
    weak = ("-o", "APT::FTPArchive::MD5=false", "-o", "APT::FTPArchive::SHA1=false")
    return subprocess.run(
        ["apt-ftparchive", *weak, *options, command, "."], cwd=folder, check=True, stdout=subprocess.PIPE
    ).stdout


def write_sums(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = "".join(f"{provenance.sha256_of(path)}  {path.relative_to(folder)}\n" for path in files)
    (folder / "SHA256SUMS").write_text(sums)


def fingerprint_of(key):
    listed = subprocess.run(
        ["gpg", "--batch", "--with-colons", "--list-secret-keys", key], text=True, capture_output=True, check=False
    ).stdout
    rows = [line.split(":") for line in listed.splitlines()]
    keys = [after[9] for row, after in zip(rows, rows[1:]) if row[0] == "sec"]
    if len(keys) != 1:
        sys.exit(f"--sign-with '{key}' names {len(keys)} secret keys of gpg, expected one; gpg --list-secret-keys lists them")
    return keys[0]


def sign(folder, key):
    """Signatures of the sums and for apt, and the public key in the form that gpgv, sqv and apt read."""
    for arguments in (
        ("--armor", "--detach-sign", "--output", "SHA256SUMS.asc", "SHA256SUMS"),
        ("--armor", "--detach-sign", "--output", "Release.gpg", "Release"),
        ("--clear-sign", "--output", "InRelease", "Release"),
        ("--export", "--output", "muster-release-key.gpg", key),
    ):
        subprocess.run(["gpg", "--quiet", "--local-user", key, *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    main()
