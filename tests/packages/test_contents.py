"""Contents of the packages: files, modes, licences, the bill of materials."""

import gzip
import hashlib
import json
import re
import subprocess
import uuid

import pytest

PAGES = {
    "share/man/man1/muster.1",
    "share/bash-completion/completions/muster",
    "share/zsh/vendor-completions/_muster",
}
FOR_PROGRAMS = {
    "include/muster.h",
    "share/muster/python/muster/__init__.py",
    *(f"share/muster/python/hfai/{name}.py" for name in ("__init__", "client", "distributed", "multiprocessing")),
}
# As source packages; a release that leaves one of them out, or adds one, is looked at.
LINKED_IN = {
    "boost1.81",
    "fmtlib",
    "gcc-12",
    "glibc",
    "linux",
    "openssl",
    "spdlog",
    "yaml-cpp",
    "zlib",
}


def is_licence(name):
    return "/licences/" in name or "/licenses/" in name


def licences_in(files):
    return {name.split("/licen", 1)[1].split("/", 1)[1] for name in files if is_licence(name)}


@pytest.fixture(scope="module")
def program(packages):
    return packages.program.read_bytes()


def test_the_wheel_holds_program_pages_licences_and_bill(packages, program):
    files = packages.files_of_wheel()
    stem = f"muster_launcher-{packages.version}"
    data, info = f"{stem}.data", f"{stem}.dist-info"
    expected = {f"{data}/scripts/muster", "muster/__init__.py"}
    expected |= {f"{data}/data/{name}" for name in PAGES | FOR_PROGRAMS}
    expected |= {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "sboms/muster.cdx.json")}
    assert {name for name in files if not is_licence(name)} == expected
    assert files[f"{data}/scripts/muster"] == (0o755, program)
    metadata = files[f"{info}/METADATA"][1].decode()
    assert "\nName: muster-launcher\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "\n# muster\n" in metadata
    named = {line.split(": ")[1] for line in metadata.splitlines() if line.startswith("License-File: ")}
    assert named == licences_in(files)


def test_the_archive_holds_program_pages_licences_and_bill(packages, program):
    files = packages.files_of_tar()
    top = f"muster-{packages.version}"
    expected = {f"{top}/{name}" for name in PAGES | FOR_PROGRAMS}
    expected |= {f"{top}/{name}" for name in ("bin/muster", "LICENSE", "share/doc/muster/muster.cdx.json")}
    assert {name for name in files if not is_licence(name)} == expected
    assert files[f"{top}/bin/muster"] == (0o755, program)


def test_the_package_holds_program_pages_licences_and_bill(packages, program):
    files = packages.files_of_deb()
    documents = "usr/share/doc/muster"
    expected = {f"usr/{name}" for name in PAGES | FOR_PROGRAMS} - {"usr/share/man/man1/muster.1"}
    expected |= {"usr/bin/muster", "usr/share/man/man1/muster.1.gz", "usr/share/lintian/overrides/muster"}
    expected |= {f"{documents}/{name}" for name in ("copyright", "changelog.gz", "muster.cdx.json")}
    assert {name for name in files if not is_licence(name)} == expected
    assert files["usr/bin/muster"] == (0o755, program)
    assert gzip.decompress(files["usr/share/man/man1/muster.1.gz"][1]).startswith(b".TH MUSTER 1")
    copyright_text = files[f"{documents}/copyright"][1].decode()
    assert copyright_text.startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n")
    for source in LINKED_IN:
        assert f"/{documents}/licences/linked-in/{source}.txt\n" in copyright_text


def test_the_package_depends_on_nothing(packages):
    fields = "\n" + subprocess.check_output(["dpkg-deb", "--field", packages.deb], text=True)
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[packages.architecture]
    assert f"\nArchitecture: {architecture}\n" in fields
    assert "Depends" not in fields
    assert "\nDescription: starts and watches the processes of distributed training jobs\n" in fields


@pytest.mark.parametrize("files_of", ["files_of_wheel", "files_of_tar", "files_of_deb"])
def test_licence_texts_cover_all_linked_libraries(packages, files_of):
    files = getattr(packages, files_of)()
    names = licences_in(files) - {"LICENSE"}
    assert names == {f"linked-in/{source}.txt" for source in LINKED_IN}
    assert ("LICENSE" in licences_in(files)) == (files_of != "files_of_deb")
    texts = {name.rpartition("/")[2]: content.decode() for name, (_, content) in files.items() if "/linked-in/" in name}
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in texts["glibc.txt"]
    assert "GCC RUNTIME LIBRARY EXCEPTION" in texts["gcc-12.txt"]
    assert "does *not* cover user programs" in texts["linux.txt"]
    for one in packages.components():
        expression = one["licenses"][0]["expression"]
        source = one["properties"][0]["value"]
        assert texts[f"{source}.txt"].startswith(f"SPDX-License-Identifier: {expression}\n"), source


# Licences that a scanner finds in the texts. It knows no exceptions: those of GCC and Linux are in the first line of their text.
FOUND_BY_SCANNER = {
    "LICENSE": "Apache-2.0",
    "boost1.81.txt": "BSL-1.0",
    "copyright": "Apache-2.0",
    "fmtlib.txt": "MIT",
    "gcc-12.txt": "GPL-3.0-or-later",
    "glibc.txt": "BSD-3-Clause and/or LGPL-2.1-or-later",
    "linux.txt": "GPL-2",
    "openssl.txt": "Apache-2.0",
    "spdlog.txt": "MIT",
    "yaml-cpp.txt": "MIT and/or X11",
    "zlib.txt": "Zlib",
}
FOR_PROGRAMS_ALONE = (
    *("bin/muster", "scripts/muster", "overrides/muster", "/muster.cdx.json", "/changelog.gz"),
    *(f".dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD")),
)


@pytest.mark.parametrize("files_of", ["files_of_wheel", "files_of_tar", "files_of_deb"])
def test_a_scanner_of_licences_finds_what_is_meant(packages, files_of, tmp_path):
    """Each file that people read names a licence, and the GPL is found beside its exceptions alone."""
    for name, (_, content) in getattr(packages, files_of)().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(gzip.decompress(content) if name.endswith("1.gz") else content)
    scan = ["licensecheck", "--shortname-scheme=spdx", "--recursive", "--check=.", "--machine", tmp_path]
    said = subprocess.run(scan, text=True, capture_output=True, check=True).stdout
    found = dict(line.split("\t")[:2] for line in said.splitlines())

    for path, licence in found.items():
        expected = FOUND_BY_SCANNER.get(path.rpartition("/")[2], "UNKNOWN" if path.endswith(FOR_PROGRAMS_ALONE) else "Apache-2.0")
        assert licence == expected, path


def test_every_file_has_the_date_of_the_release(packages):
    listed = subprocess.check_output(["tar", "--list", "--verbose", "--full-time", "-f", packages.tar], text=True)
    data = subprocess.run(["dpkg-deb", "--contents", packages.deb], text=True, capture_output=True, check=True)
    assert len({tuple(line.split()[3:5]) for line in listed.splitlines()}) == 1
    assert len({tuple(line.split()[3:5]) for line in data.stdout.splitlines()}) == 1


class TestBillOfMaterials:
    def test_the_bill_names_the_source_packages_of_all_linked_code(self, packages):
        sources = {one["properties"][0]["value"] for one in packages.components()}
        assert sources == LINKED_IN

    def test_each_part_has_a_version_a_licence_and_a_url(self, packages):
        for one in packages.components():
            assert one["version"]
            assert one["licenses"][0]["expression"]
            name = one["name"].replace("+", "%2B")
            assert one["purl"].startswith(f"pkg:deb/debian/{name}@")
            assert "distro=debian-12" in one["purl"]

    def test_the_bill_has_the_hash_of_the_program(self, packages, program):
        component = json.loads(packages.bill.read_text())["metadata"]["component"]
        assert component["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(program).hexdigest()}]

    def test_the_serial_number_belongs_to_the_content(self, packages):
        bill = json.loads(packages.bill.read_text())
        number = uuid.UUID(bill.pop("serialNumber").removeprefix("urn:uuid:"))
        space = uuid.uuid5(uuid.NAMESPACE_DNS, "muster.invalid")
        assert number == uuid.uuid5(space, json.dumps(bill, sort_keys=True))

    def test_the_bill_is_the_same_in_every_package(self, packages):
        bill = packages.bill.read_bytes()
        for files in (packages.files_of_wheel(), packages.files_of_tar(), packages.files_of_deb()):
            assert [content for name, (_, content) in files.items() if name.endswith(".cdx.json")] == [bill]

    def test_the_bill_is_valid_cyclonedx(self, packages, tools):
        check = (
            "import sys; from cyclonedx.schema import SchemaVersion;"
            "from cyclonedx.validation.json import JsonStrictValidator;"
            "error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read());"
            "sys.exit(str(error) if error else 0)"
        )
        subprocess.run([tools / "python", "-c", check, packages.bill], check=True)

    def test_the_bill_lists_the_packages_of_verbose_version(self, packages):
        said = packages.run_program("--version", "--verbose")
        named = set(re.findall(r"\(Debian package (\S+) (\S+)\)", said))
        assert named
        assert named <= {(one["name"], one["version"]) for one in packages.components()}


def test_the_wheels_platform_tag_matches_auditwheel(packages, tools):
    shown = subprocess.run([tools / "auditwheel", "show", packages.wheel], text=True, capture_output=True, check=False)
    said = " ".join((shown.stdout + shown.stderr).split())
    assert shown.returncode == 0, said
    oldest = re.search(rf'platform tag: "manylinux_2_(\d+)_{packages.architecture}"', said)
    assert oldest, said
    assert int(oldest[1]) <= 17  # what the file's name says
    assert "requires no external shared libraries" in said
