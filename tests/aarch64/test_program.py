"""The program for Arm as a file, and that its output is that of the program for this machine."""

import json
import re
import subprocess

import pytest


def read(*command):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, timeout=60, check=True
    ).stdout.decode(errors="replace")  # a debug link ends with a checksum


@pytest.fixture(scope="session")
def segments(build):
    """The program headers of the file, as lines."""
    return read("readelf", "--program-headers", "--wide", build / "muster").splitlines()


def test_the_program_is_static_and_for_arm(build, segments):
    assert "AArch64" in read("readelf", "--file-header", build / "muster")
    assert not [line for line in segments if "INTERP" in line or "DYNAMIC" in line]


def test_kernels_with_64_kib_pages_can_load_the_program(segments):
    alignments = [int(line.split()[-1], 16) for line in segments if line.split()[:1] == ["LOAD"]]

    assert alignments
    assert all(alignment % 0x10000 == 0 for alignment in alignments)


def test_debug_symbols_are_in_a_file_beside_the_program(build):
    sections = read("readelf", "--sections", "--wide", build / "muster")
    of_debug_file = read("readelf", "--sections", "--wide", build / "muster.debug")
    lines = [line for line in of_debug_file.splitlines() if " .debug_line " in line]

    assert ".gnu_debuglink" in sections and ".debug_" not in sections.replace(".gnu_debuglink", "")
    assert "muster.debug" in read("readelf", "--string-dump=.gnu_debuglink", build / "muster")
    assert build_id(build / "muster") == build_id(build / "muster.debug")
    assert len(lines) == 1 and re.search(r" M?C ", lines[0]), "it is not compressed"


def build_id(file):
    return re.search(r"Build ID: (\w+)", read("readelf", "--notes", file)).group(1)


def test_all_linked_files_belong_to_packages_of_the_sysroot(build):
    """The cross compiler has a C library of its own, which gets no security updates."""
    cache = (build / "CMakeCache.txt").read_text()
    sysroot = re.search(r"^CMAKE_SYSROOT:\w+=(.+)$", cache, re.MULTILINE).group(1)
    rule = (build / "muster.link.d").read_text().partition(":")[2].partition("\n\n")[0]
    linked = [file for file in rule.replace("\\\n", " ").split() if file.startswith("/") and not file.endswith(".ld")]
    notes = f"--admindir={sysroot}/var/lib/dpkg"

    assert [file for file in linked if not file.startswith(f"{sysroot}/usr/lib/")] == []
    paths = [file.removeprefix(sysroot) for file in linked]
    answers = read("dpkg-query", notes, "--search", *paths).splitlines()
    owners = {path: package for package, path in (answer.split(": ") for answer in answers)}
    assert sorted(owners) == sorted(set(paths))
    assert owners["/usr/lib/aarch64-linux-gnu/libc.a"] == "libc6-dev:arm64"


def test_the_program_contains_no_path_of_the_build_machine(build):
    linked = (build / "muster").read_bytes() + (build / "muster.debug").read_bytes()

    assert b"x86_64-linux-gnu" not in linked
    assert b"sysroots/aarch64" not in linked
    assert str(build.parent).encode() not in linked


@pytest.mark.parametrize("question", ["--version", "--help", "--print-man", "explain"])
def test_the_arm_program_answers_like_the_native_one(muster, arm, question):
    ours, its = muster.run(question), muster.run(question, **arm)

    assert (its.code, its.out.text, its.err.text) == (ours.code, ours.out.text, ours.err.text)
    assert ours.code == 0 and ours.out.text


def test_manual_page_and_completions_are_printed_by_the_program(build, muster, arm):
    assert (build / "muster.1").read_text() == muster.run("--print-man", **arm).out.text
    for shell, file in (("bash", "muster.bash"), ("zsh", "_muster")):
        said = muster.run("--print-completion", shell, **arm).out.text
        assert (build / file).read_text() == said


def many_variables():
    """Bytes above 127 are negative characters on one of the two machines."""
    return {"NAME_" + chr(0xE0 + i) * 3: "größer " + chr(0x4E00 + i) for i in range(20)}


JOBS = {
    "one machine": (["--", "train.py"], {}),
    "eight workers, as JSON": (["--json", "--nproc-per-node=8", "--", "train.py", "--epochs=3"], {}),
    "two nodes by flags": (
        ["--nnodes=2", "--node-rank=1", "--master-addr=10.0.0.1", "--nproc-per-node=4", "--", "a.py"],
        {},
    ),
    "the platform HAI": (
        ["--nproc-per-node=2", "--", "train.py"],
        {
            "MARSV2_TASK_ID": 4711,
            "MARSV2_RANK": 1,
            "RANK": 1,
            "WORLD_SIZE": 2,
            "MASTER_ADDR": "10.1.2.3",
            "MASTER_IP": "10.1.2.3",
            "MASTER_PORT": 2222,
        },
    ),
    "msrun's command line": (
        ["msrun", "--worker_num=8", "--local_worker_num=8", "--join=True", "train.py"],
        {},
    ),
    "torchrun's command line": (
        ["torchrun", "--nnodes=2", "--node-rank=1", "--nproc-per-node=2", "--master-addr=h", "a.py"],
        {},
    ),
    "JAX": (["--mode=jax", "--nproc-per-node=2", "--", "train.py"], {}),
    "roles": (["--mode=ps", "--roles=chief=1,worker=2,ps=1", "--", "train.py"], {}),
    "bound to cores": (["--nproc-per-node=1", "--bind=core", "--", "train.py"], {}),
    "names of all languages": (
        ["--nproc-per-node=2", "--job-id=größe", "--", "zug-übung.py", "--größe=大"],
        many_variables(),
    ),
    "a bad number": (["--nproc-per-node=zwölf", "--", "train.py"], {}),
    "a control character": (["--nproc-per-node=\x01\x7f\x80", "--", "train.py"], {}),
}


@pytest.mark.parametrize("arguments, environment", JOBS.values(), ids=JOBS.keys())
def test_both_make_the_same_plan(muster, arm, arguments, environment):
    ours = muster.run("plan", *arguments, env=environment)
    its = muster.run("plan", *arguments, env=environment, **arm)

    assert (its.code, its.out.text, its.err.text) == (ours.code, ours.out.text, ours.err.text)
    assert bool(ours.out.text) == (ours.code == 0)
    if "--json" in arguments:
        assert json.loads(its.out.text)["world_size"] == 8
