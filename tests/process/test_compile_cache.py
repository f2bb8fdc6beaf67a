"""Entries of compilers' caches outlive the node's disk in packs, and nothing that is wrong with these touches a job (docs/first-step.md)."""

import json
import os
import re
import signal

import pytest
from support.compiler_caches import COMPILES, MARK, PYTHON, Nodes, kill_writer, make_pack, unfinished_pack
from support.deadlines import HANG
from support.frozen import unanswered, unserved

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

ENTRY = "inductor/ab/cab.py"

# Fails in its first attempt, and waits in the second one.
FAILS_ONCE = """
if os.environ["MUSTER_RESTART_COUNT"] == "0":
    sys.exit(1)
go = pathlib.Path(__file__).parent / "go"
while not go.exists():
    time.sleep(0.01)
"""

@pytest.fixture
def nodes(muster, tmp_path):
    return Nodes(muster, tmp_path)


@pytest.fixture
def machine(nodes):
    """This machine as packs name it."""
    nodes.run("first")
    [pack] = nodes.packs()
    name = re.search(rb"machine (.*)\n", pack.read_bytes())[1].decode()
    pack.unlink()
    return name


def test_a_second_node_finds_what_the_first_has_compiled(nodes):
    out, err = nodes.run("a")
    assert out == "made ab/cab.py \n"
    assert f"compile caches: kept 1 new entry (1 kB) in {nodes.store}" in err

    out, err = nodes.run("b")

    assert out == "found ab/cab.py compiled ab/cab.py\n"
    assert re.search(rf"compile caches: 1 entry \(1 kB\) from {nodes.store} in [\d.]+ s", err)
    entry, original = nodes.local("b") / ENTRY, nodes.local("a") / ENTRY
    assert entry.stat().st_mtime_ns == original.stat().st_mtime_ns
    assert len(nodes.packs()) == 1
    assert not list(nodes.store.glob(".*"))
    assert sorted(path.name for path in nodes.local("b").iterdir()) == ["inductor"]


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_place_in_which_others_can_exchange_the_folder_is_not_used(nodes, mode):
    disk = nodes.folder / "node-a"
    disk.mkdir()
    disk.chmod(mode)

    _, said = nodes.run("a")
    assert f"not in {disk}: other users can replace files in '{disk}'" in said
    assert not any(disk.iterdir())


def test_the_folder_stays_on_the_node_and_is_its_owners_alone(nodes):
    nodes.run("a")
    out, err = nodes.run("a")
    assert out.startswith("found")
    assert " from " not in err
    assert nodes.local("a").stat().st_mode & 0o777 == 0o700


def test_without_the_option_a_worker_gets_no_variable(muster):
    job = muster.run("/usr/bin/env")
    assert "muster-cache" not in job.out.text


def test_a_variable_of_the_user_stays_and_explain_says_so(nodes, muster):
    own = nodes.folder / "own"
    out, _ = nodes.run("a", env={"TORCHINDUCTOR_CACHE_DIR": own})
    assert (own / "ab/cab.py").exists()
    assert nodes.packs() == []

    job = muster.run("explain", "--json", "--compile-cache", nodes.store, "program", env={"TRITON_CACHE_DIR": own})

    decisions = {one["field"]: (one["value"], one["source"]) for one in json.loads(job.out.text)["decisions"]}
    assert decisions["compile_cache"] == (str(nodes.store), "--compile-cache")
    assert decisions["compile_cache.TRITON_CACHE_DIR"] == (str(own), "TRITON_CACHE_DIR")
    folder = nodes.folder / f"muster-cache-{os.geteuid()}"
    assert decisions["compile_cache.TORCHINDUCTOR_CACHE_DIR"] == (f"{folder}/inductor", "--compile-cache")
    assert not folder.exists()


def test_locks_and_unfinished_files_are_not_kept(nodes):
    nodes.run("a", "ab/x.lock", "locks/one", ".12.34.tmp", "ab/cab.py")
    nodes.run("b")
    assert [path.name for path in nodes.local("b").rglob("*") if path.is_file()] == ["cab.py"]


def test_a_kernel_of_triton_is_kept_and_added_as_a_whole(nodes):
    nodes.program.write_text(COMPILES.replace("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"))
    nodes.run("a", "WHOLE/__grp__k.json", "WHOLE/k.json", "PART/k.json", "ALSO/__grp__k.json", "ALSO/k.ptx")
    (nodes.local("b") / "triton/ALSO").mkdir(parents=True)
    nodes.local("b").chmod(0o700)

    out, _ = nodes.run("b", "WHOLE/k.json", "PART/k.json", "ALSO/k.ptx")

    assert [line.split()[0] for line in out.splitlines()] == ["found", "made", "made"]


HEADERS = COMPILES.replace('os.environ["TORCHINDUCTOR_CACHE_DIR"]', 'os.environ["TMPDIR"], "torchinductor_me/precompiled_headers"').replace('"compiled "', '"gpch compiled "')


def test_headers_that_inductor_keeps_elsewhere_are_kept_and_added(nodes):
    nodes.program.write_text(HEADERS)
    _, err = nodes.run("a", "ab/x.h", "ab/x.h.gch", "locks/x", "ab/y.h.pch", env={"LOGNAME": "me"})
    assert "kept 2 new entries" in err

    out, _ = nodes.run("b", "ab/x.h", "ab/x.h.gch", env={"LOGNAME": "me"})

    assert [line.split()[0] for line in out.splitlines()] == ["found", "found"]
    assert nodes.run("c", "ab/x.h", env={"LOGNAME": "you"})[0].startswith("made")


def test_a_header_that_gcc_has_not_finished_is_not_kept(nodes):
    nodes.program.write_text(HEADERS.replace("gpch", "gpcWrite"))
    _, err = nodes.run("a", "ab/x.h.gch", env={"LOGNAME": "me"})
    assert "kept" not in err


@pytest.mark.parametrize("hindrance", ["link", "shared"])
def test_a_folder_of_headers_that_may_be_somebody_elses_is_not_touched(nodes, hindrance):
    nodes.program.write_text(HEADERS)
    nodes.run("a", "ab/x.h", env={"LOGNAME": "me"})
    place = nodes.folder / "node-b" / "torchinductor_me"
    (nodes.folder / "elsewhere").mkdir()
    place.parent.mkdir()
    if hindrance == "link":
        place.symlink_to(nodes.folder / "elsewhere")
    else:
        place.mkdir()
        place.chmod(0o777)
    out, _ = nodes.run("b", "ab/x.h", env={"LOGNAME": "me"})
    assert out.startswith("made")


def test_a_library_that_lacks_a_part_is_not_kept(nodes):
    nodes.run("a", "cut.so", "whole.py")
    out, _ = nodes.run("b", "cut.so", "whole.py")
    assert [line.split()[0] for line in out.splitlines()] == ["made", "found"]


def test_packs_are_merged_when_they_are_many(nodes):
    names = [f"{number}.py" for number in range(10)]
    for number in range(len(names)):
        nodes.run("a", *names[: number + 1])
    assert len(nodes.packs()) < 8

    out, _ = nodes.run("b", *names)

    assert out == "".join(f"found {name} compiled {name}\n" for name in names)


def test_the_events_tell_of_both(nodes):
    nodes.run("a")
    nodes.program.write_text(COMPILES + FAILS_ONCE)
    job = nodes.start("b", "ab/cab.py", "new.py", options=["--events", nodes.folder / "events", "--max-restarts", "1"])
    job.err.wait_for("compile caches: kept 1 new entry")
    (nodes.folder / "go").touch()
    assert job.end() == 0, job.words()
    lines = [json.loads(line) for line in (nodes.folder / "events").read_text().splitlines()]
    told = {line["event"]: line["entries"] for line in lines if line["event"].startswith("caches")}
    assert told == {"caches filled": 1, "caches kept": 1}


def test_an_entry_is_never_overwritten(nodes):
    nodes.run("a")
    mine = nodes.local("b") / ENTRY
    nodes.local("b").mkdir(parents=True, mode=0o700)
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    out, _ = nodes.run("b")
    assert out == "found ab/cab.py mine\n"


# --- What is wrong with a pack ------------------------------------------------------------------------


def flip_content(pack):
    pack[len(MARK)] ^= 1


def flip_index(pack):
    pack[-120] ^= 1


def flip_trailer(pack):
    pack[-2] ^= 1


def cut(pack):
    del pack[len(pack) // 2 :]


def cut_front(pack):
    del pack[:1]


def empty(pack):
    pack.clear()


def extend(pack):
    pack.extend(b"more")


@pytest.mark.parametrize("damage", [flip_content, flip_index, flip_trailer, cut, cut_front, empty, extend])
def test_a_damaged_pack_is_left_alone(nodes, damage):
    nodes.run("a")
    [path] = nodes.packs()
    pack = bytearray(path.read_bytes())
    damage(pack)
    path.write_bytes(pack)

    out, err = nodes.run("b")

    assert out == "made ab/cab.py \n"
    assert f"compile caches: leaving the pack '{path.name}' alone: " in err
    nodes.run("c")
    assert (nodes.local("c") / ENTRY).read_text() == "compiled ab/cab.py"


@pytest.mark.parametrize(
    "bad",
    ["/tmp/muster-was-here", "../x", "inductor/../../x", "inductor//x", "inductor/" + "n" * 4096, "inductor/a\x01b"],
    ids=lambda path: path[:20],
)
def test_a_pack_with_a_bad_path_is_left_alone(nodes, machine, bad):
    make_pack(nodes.store / "bad.pack", [("inductor/good", b"good", 0o644), (bad, b"bad", 0o644)], machine)
    _, err = nodes.run("b", "own.py")
    assert "leaving the pack 'bad.pack' alone: it has a path that " in err
    assert not (nodes.local("b") / "inductor/good").exists()
    assert not os.path.exists("/tmp/muster-was-here")


def test_a_pack_of_another_machine_is_passed_over(nodes, machine):
    make_pack(nodes.store / "other.pack", [("inductor/other.py", b"other", 0o644)], "s390x cpu 1 gpu none")
    out, err = nodes.run("b", "other.py")
    assert out == "made other.py \n"
    assert "leaving" not in err


def test_what_is_in_no_cache_stays_in_the_pack(nodes, machine):
    entries = [("elsewhere/x", b"x", 0o644), ("inductor/x.lock", b"", 0o644), ("inductor/x", b"x", 0o777)]
    make_pack(nodes.store / "some.pack", entries, machine)
    nodes.run("b", "x")
    files = [path for path in nodes.local("b").rglob("*") if path.is_file()]
    assert files == [nodes.local("b") / "inductor/x"]
    assert files[0].stat().st_mode & 0o777 == 0o700


@needs_root
def test_a_pack_of_another_user_is_left_alone(nodes, machine):
    for name, owner, user, mode in (("a.pack", 12345, 12345, 0o600), ("b.pack", 12345, 0, 0o600), ("c.pack", 0, 7, 0o600), ("d.pack", 0, 0, 0o666)):
        make_pack(nodes.store / name, [("inductor/evil.py", b"evil", 0o644)], machine, user)
        os.chown(nodes.store / name, owner, owner)
        (nodes.store / name).chmod(mode)

    out, err = nodes.run("b", "evil.py")

    assert out == "made evil.py \n"
    assert err.count("leaving the pack") == 4, err


def test_a_fifo_a_link_and_a_folder_are_no_packs(nodes, machine):
    make_pack(nodes.folder / "elsewhere", [("inductor/linked.py", b"linked", 0o644)], machine)
    os.mkfifo(nodes.store / "a.pack")
    (nodes.store / "b.pack").symlink_to(nodes.folder / "elsewhere")
    (nodes.store / "c.pack").mkdir()
    out, err = nodes.run("b", "linked.py")
    assert out == "made linked.py \n"
    assert err.count("it is no regular file") == 3, err


# --- Links in the folder of the node -------------------------------------------------------------------


def test_a_link_out_of_the_folder_is_neither_filled_nor_kept(nodes):
    nodes.run("a")
    outside = nodes.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    os.utime(outside / "secret", (1, 1))
    (nodes.local("b") / "inductor").mkdir(parents=True)
    nodes.local("b").chmod(0o700)
    (nodes.local("b") / "inductor/ab").symlink_to(outside)
    (nodes.local("b") / "inductor/file").symlink_to(outside / "secret")

    nodes.run("b", "own.py")

    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert all(b"secret" not in pack.read_bytes() for pack in nodes.packs())


@needs_root
def test_a_folder_of_somebody_else_is_not_used(nodes):
    local = nodes.local("a")
    local.mkdir(parents=True)
    os.chown(local, 12345, 12345)
    job = nodes.muster.run("explain", "--compile-cache", nodes.store, "program", env={"TMPDIR": local.parent})
    assert str(local) not in job.out.text


def test_a_folder_in_memory_is_not_used(nodes):
    job = nodes.muster.run("explain", "--compile-cache", nodes.store, "program", env={"TMPDIR": "/dev/shm"})
    assert "/tmp/muster-cache-" in job.out.text


# --- A store that fails -------------------------------------------------------------------------------


def lines_about(said):
    return [line for line in said.splitlines() if "compile caches: " in line]


def test_a_store_that_is_no_folder_costs_nothing_but_a_line(nodes):
    nodes.store.write_text("")
    out, err = nodes.run("a")
    assert out == "made ab/cab.py \n"
    assert [line.partition(": ")[2] for line in lines_about(err)] == [f"compile caches: cannot open '{nodes.store}': Not a directory"]


WAITS = COMPILES + "import signal\nsignal.pause()\n"


def test_a_store_that_cannot_be_made_is_told_of_at_the_start(nodes):
    nodes.store = nodes.folder / "missing" / "store"
    nodes.program.write_text(WAITS)
    job = nodes.start("a")
    job.err.wait_for(f"compile caches: cannot make '{nodes.store}': No such file or directory; nothing new is kept: name a folder of yours")
    job.signal(signal.SIGTERM)
    job.end()
    assert len(lines_about(job.err.text)) == 1, job.err.text


@needs_root
@pytest.mark.parametrize("mode, owner", [(0o777, 0), (0o770, 0), (0o700, 12345), (0o1777, 12345)])
def test_a_store_that_others_can_change_is_not_used(nodes, mode, owner):
    nodes.run("a")
    nodes.store.chmod(mode)
    os.chown(nodes.store, owner, owner)

    out, err = nodes.run("b", "ab/cab.py", "new.py")

    assert out == "made ab/cab.py \nmade new.py \n"
    assert len(lines_about(err)) == 1, err
    assert f"'{nodes.store}'" in lines_about(err)[0]
    assert len(nodes.packs()) == 1
    assert not list(nodes.store.glob(".*"))


@pytest.mark.parametrize("mode", [0o1777, 0o755])
def test_a_store_that_others_can_read_or_add_to_is_used(nodes, mode):
    nodes.run("a")
    nodes.store.chmod(mode)
    out, err = nodes.run("b", "ab/cab.py", "new.py")
    assert out == "found ab/cab.py compiled ab/cab.py\nmade new.py \n"
    assert "kept 1 new entry" in err


@needs_root
def test_a_read_only_store_is_read(nodes):
    nodes.run("a")
    read_only = ["unshare", "--mount", "sh", "-c", f'mount --bind "{nodes.store}" "{nodes.store}" && mount -o remount,ro,bind "{nodes.store}" && exec "$@"', "sh"]
    out, err = nodes.run("b", "ab/cab.py", "new.py", through=read_only)
    assert out == "found ab/cab.py compiled ab/cab.py\nmade new.py \n"
    assert "Read-only file system" in err


@needs_root
def test_a_full_disk_keeps_no_part_of_a_pack(nodes, disk):
    nodes.store = disk.folder / "store"
    nodes.run("a")
    disk.fill()
    _, err = nodes.run("a", *(f"{number}.py" for number in range(50)))
    assert "No space left on device" in err
    assert len(nodes.packs()) == 1
    assert not list(nodes.store.glob(".*"))
    disk.empty()

    out, _ = nodes.run("b")

    assert out.startswith("found")


@needs_root
@pytest.mark.full
def test_a_hung_store_holds_up_the_end_for_a_moment_alone(nodes, disk):
    nodes.store = disk.folder / "store"
    nodes.run("a")
    disk.freeze()
    out, err = nodes.run("a", "new.py", options=["--verbose"])
    assert out == "made new.py \n"
    assert "new entries are not kept" in err


@needs_root
@pytest.mark.full
def test_a_store_that_does_not_answer_holds_up_a_start_for_half_a_minute(nodes):
    nodes.run("a")
    with unanswered(nodes.store):
        job = nodes.start("b")
        job.err.wait_for("has not given all entries within 30 s")
        assert job.end(HANG) == 0
        assert job.out.text == "made ab/cab.py \n"


def killed_writer(nodes):
    """Kills the process that packs, as soon as it has begun to write. Another job is tried where it was done before anybody looked."""
    for attempt in range(20):
        job = nodes.start("a", *(f"{attempt}-{number}.py" for number in range(2_000)))
        if pack := unfinished_pack(nodes, job):
            kill_writer(pack)
            return job
    raise AssertionError("each of twenty packs was written too quickly to be seen")


def test_a_killed_writer_leaves_nothing_that_is_read(nodes):
    job = killed_writer(nodes)
    assert job.end() == 0, job.words()
    out, _ = nodes.run("b", "0-0.py")
    assert out in ("made 0-0.py \n", "found 0-0.py compiled 0-0.py\n")
    for path in nodes.store.glob(".muster-*.part"):
        os.utime(path, (1, 1))
    for number in range(9):
        nodes.run("b", f"later{number}.py")  # they are merged, and the rest of a day ago is removed
    assert not list(nodes.store.glob(".*"))


def test_two_jobs_keep_their_entries_at_once(nodes):
    jobs = [nodes.start(node, f"{node}.py", "both.py") for node in ("a", "b")]
    for job in jobs:
        assert job.end() == 0, job.words()
    out, _ = nodes.run("c", "a.py", "b.py", "both.py")
    assert out == "".join(f"found {name} compiled {name}\n" for name in ("a.py", "b.py", "both.py"))


def test_a_notice_keeps_what_is_new(nodes):
    nodes.program.write_text(COMPILES + "print('ready', flush=True)\nimport signal\nsignal.pause()\n")
    job = nodes.start("a", options=["--suspend-signal", "USR1", "--grace", "1"])
    job.out.wait_for("ready")
    job.signal(signal.SIGUSR1)
    job.err.wait_for("compile caches: kept 1 new entry")
    job.signal(signal.SIGTERM)
    job.end()


# --- Without the option: races on network file systems -------------------------------------------------

RACE = """
import sys
sys.exit(f"Traceback (most recent call last):\\nFileNotFoundError: [Errno 2] No such file or directory: '{sys.argv[1]}'")
"""
ADVICE = "is on a network file system (fuse.sshfs), where ranks race for such files: --compile-cache DIR"


@needs_root
@pytest.mark.parametrize("is_given", [False, True])
def test_a_race_on_a_network_file_system_is_explained_without_asking_it(muster, tmp_path, is_given):
    options = ["--compile-cache", tmp_path / "store"] if is_given else []
    home = tmp_path / "home"
    home.mkdir()
    cache = home / ".triton/cache/4XV7/k.json"
    with unserved(home, "sshfs"):
        job = muster.run(*options, PYTHON, "-c", RACE, cache, env={"TMPDIR": tmp_path})
    assert (f"hint: its last lines mention a file in a compiler's cache, and '{cache}' {ADVICE}" in job.err.text) != is_given, job.words()


def test_the_same_words_about_a_disk_are_not_explained(muster, tmp_path):
    job = muster.run(PYTHON, "-c", RACE, tmp_path / ".triton/cache/4XV7/k.json")
    assert job.code == 1
    assert "network file system" not in job.err.text
