"""Origins of the files that went into the program: the repository, or packages of Debian.

The linker wrote down which archives and objects it read, Ninja which headers each object was compiled
with. dpkg knows whose they are. A file that nobody owns is an error: what is shipped is known.
"""

import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys
import time


@dataclasses.dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str  # the source package, which security notices name
    source_version: str
    copyright: pathlib.Path = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Build:
    """A folder that scripts/build made."""

    root: pathlib.Path  # of the repository
    folder: pathlib.Path

    def variable(self, name):
        """A variable of CMake, or an empty string where it is not set."""
        found = re.search(rf"^{name}:\w+=(.+)$", self.cache, re.MULTILINE)
        return found[1] if found else ""

    @functools.cached_property
    def cache(self):
        return (self.folder / "CMakeCache.txt").read_text()

    @property
    def sysroot(self):
        """The folder of another architecture's unpacked packages, or None."""
        found = self.variable("CMAKE_SYSROOT")
        return pathlib.Path(found) if found else None


def output_of(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def linked_files(build):
    """Files that the linker read for the program."""
    text = (build.folder / "muster.link.d").read_text().split(":", 1)[1].split("\n\n", 1)[0]
    return text.replace("\\\n", " ").split()


def included_files(build):
    """The headers of every object in the program, those of precompiled headers among them."""
    inputs = output_of("ninja", "-C", build.folder, "-t", "inputs", "muster").splitlines()
    outputs = [path for path in inputs if path.endswith((".o", ".gch"))]
    listed = output_of("ninja", "-C", build.folder, "-t", "deps", *outputs)
    missing = re.findall(r"^(\S+): deps not found", listed, re.MULTILINE)
    if missing:
        sys.exit(f"Ninja does not know what was compiled into {' '.join(missing)}; build again")
    return {line.strip() for line in listed.splitlines() if line.startswith("    ")}


def is_within(path, folder):
    return folder is not None and path.is_relative_to(folder)


def packages_of(build):
    """The packages whose files went into the program, sorted."""
    names = {*linked_files(build), *included_files(build)}
    # `..` first: dpkg knows a file by the name that it was installed by, not by where a link leads.
    paths = {pathlib.Path(os.path.normpath(build.folder / name)) for name in names}
    foreign = {path for path in paths if not is_within(path, build.root) or is_within(path, build.sysroot)}
    here = {path for path in foreign if not is_within(path, build.sysroot)}
    owners = owners_of(here)
    if build.sysroot is not None:
        inside = {pathlib.Path("/", path.relative_to(build.sysroot)) for path in foreign - here}
        owners |= owners_of(inside, build.sysroot)
    return sorted(owners)


def owners_of(paths, sysroot=pathlib.Path("/")):
    """The packages that own these files, as the list of packages below `sysroot` has it."""
    query = ("dpkg-query", f"--admindir={sysroot}/var/lib/dpkg")
    forms = {path: forms_of(path, sysroot) for path in paths}
    wanted = sorted({form for alike in forms.values() for form in alike})
    if not wanted:
        return set()
    found = subprocess.run(
        [*query, "--search", *wanted], text=True, capture_output=True, check=False
    ).stdout
    owner_of_file = {}
    for line in found.splitlines():
        owners, _, path = line.rpartition(": ")
        owner_of_file[path] = owners.split(", ")[0]
    owners = set()
    for path, alike in forms.items():
        owner = next((owner_of_file[form] for form in alike if form in owner_of_file), None)
        if owner is None:
            sys.exit(f"{path} went into the program and belongs to no package and not to this repository")
        owners.add(owner)
    return {package for owner in owners for package in [describe(query, owner, sysroot)]}


def forms_of(path, sysroot):
    """The names that dpkg may know a file by: /lib is a link to /usr/lib, and packages use either."""
    inside = sysroot / path.relative_to("/")
    real = pathlib.Path("/", inside.resolve().relative_to(sysroot.resolve()))
    forms = []
    for form in (str(path), str(real)):
        forms += [form, form.removeprefix("/usr")] if form.startswith("/usr/lib") else [form]
        if form.startswith("/lib"):
            forms.append("/usr" + form)
    return forms


def describe(query, owner, sysroot):
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    fields = output_of(*query, "--show", f"--showformat={form}", owner).split("\t")
    return Package(*fields, copyright=sysroot / "usr/share/doc" / fields[0] / "copyright")


def date_of_lists():
    """The day of the newest package lists of this machine's apt, or None where it has none."""
    times = [path.stat().st_mtime for path in pathlib.Path("/var/lib/apt/lists").glob("*_Packages*")]
    return time.strftime("%F", time.gmtime(max(times))) if times else None


def outdated(packages):
    """Those of this machine's packages that apt knows a newer version of: [(name, version, newer)]."""
    shown = subprocess.run(
        ["apt-cache", "policy", *(package.name for package in packages)],
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    known = re.findall(r"^(\S+):\n  Installed: (\S+)\n  Candidate: (\S+)", shown, re.MULTILINE)
    return [(name, version, newer) for name, version, newer in known if version != newer]
