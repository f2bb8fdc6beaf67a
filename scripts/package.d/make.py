#!/usr/bin/env python3
"""Makes the packages of a program that was built: wheel, .deb, tar archive, the bill of materials, and the provenance of all.

usage: make.py --build DIR --architecture x86_64|aarch64

They come into DIR/packages. SOURCE_DATE_EPOCH is the time of every file in them. scripts/package calls this.
"""

import argparse
import os
import pathlib
import re
import shutil
import sys

import archive
import changelog
import deb
import licences
import origins
import provenance
import release as releases
import sbom
import tree
import wheels

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def distribution():
    """The distribution of the packages, as package URLs name it: debian-12."""
    words = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', pathlib.Path("/etc/os-release").read_text(), re.MULTILINE))
    return f"{words['ID']}-{words['VERSION_ID']}"


def read_release(arguments):
    project = re.search(
        r'project\(muster VERSION (\S+) DESCRIPTION "([^"]+)"', (ROOT / "CMakeLists.txt").read_text()
    )
    folder = (ROOT / arguments.build).resolve()
    return releases.Release(
        build=origins.Build(ROOT, folder),
        architecture=releases.ARCHITECTURES[arguments.architecture],
        version=project[1],
        summary=project[2],
        date=int(os.environ["SOURCE_DATE_EPOCH"]),
        distribution=distribution(),
        output=folder / "packages.making",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--architecture", choices=releases.ARCHITECTURES, required=True)
    release = read_release(parser.parse_args())

    packages = origins.packages_of(release.build)
    bill = sbom.document(release, packages)
    versions = changelog.read((ROOT / "CHANGELOG.md").read_text())
    if [one.version for one in versions][:1] != [release.version]:
        sys.exit(f"the first section of CHANGELOG.md is not that of {release.version}, the version in CMakeLists.txt")
    shutil.rmtree(release.output, ignore_errors=True)
    release.output.mkdir()
    (release.output / f"{release.stem}.cdx.json").write_text(bill)

    parts = tree.Parts(
        installed=tree.install(release),
        bill=bill,
        licence=(ROOT / "LICENSE").read_text(),
        linked=licences.texts(packages),
    )
    archive.write(release, parts)
    wheels.write(release, parts, (ROOT / "README.md").read_text())
    deb.write(release, parts, versions)
    statement = provenance.document(release, list(release.output.iterdir()))
    (release.output / f"{release.stem}.provenance.json").write_text(statement)
    # Under their name there are all packages of one program, or none.
    packages_folder = release.output.with_name("packages")
    shutil.rmtree(packages_folder, ignore_errors=True)
    release.output.rename(packages_folder)
    for path in sorted(packages_folder.iterdir()):
        print(f"   {path.stat().st_size:>9} {path.relative_to(ROOT)}")
    if release.build.sysroot is None:  # one is as new as its mirror
        lists = origins.date_of_lists()
        for name, version, newer in origins.outdated(packages):
            print(f"   {name} {version} is linked in, and apt knows {newer}: a release wants that")
        print(f"   compared with the package lists of {lists or 'nobody: apt has none, apt-get update fetches them'}")


if __name__ == "__main__":
    main()
