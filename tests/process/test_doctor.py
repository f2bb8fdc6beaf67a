"""`muster doctor` names the guarantees that hold: on an unrestricted system, and where system calls are refused."""

import json
import os
import shutil
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.muster import binary

GROUP = "cgroup.kill"  # whether it can be written depends on the machine, as "oom_kill" does
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", 'umount --lazy /proc && exec "$@"', "sh"]
WITH_FOREIGN_PROC = ["unshare", "--pid", "--fork", "sh", "-c", '"$@"; exit $?', "sh"]
# The first process is root's, and what runs below it is another user's.
WITH_HIDDEN_PROCESSES = [
    *("unshare", "--mount", "--pid", "--fork", "sh", "-c"),
    'mount -t proc -o hidepid=2 proc /proc && "$@"; exit $?',
    *("sh", *NOBODY),
]
WITHOUT_PRIVILEGES = [
    *("unshare", "--mount", "sh", "-c"),
    'for group in /sys/fs/cgroup /sys/fs/cgroup/unified; do '
    '[ ! -d $group ] || mount -o remount,bind,ro $group || mount --bind -o ro $group $group; done; exec "$@"',
    *("sh", *NOBODY, "--bounding-set=-all", "--no-new-privs"),
]


@pytest.fixture
def open_to_all():
    """A copy of the program where every user can execute it."""
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copy(binary(), folder))
        copy.chmod(copy.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
        yield copy


def holds(job):
    """The guarantees that do not hold fully, by the call that each rests on."""
    document = json.loads(job.out.text)
    return {
        one["by"]: one["holds"]
        for one in document["guarantees"]
        if one["holds"] != "yes" and one["by"] not in (GROUP, "oom_kill")
    }


def ask(muster, **options):
    return muster.run("doctor", "--json", **options)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["python3.13"], "where ranks hang is known: Python 3.13 describes itself"),
        (["python3.11"], "where ranks hang is not known: Python is 3.11, and there is no py-spy in PATH"),
        (["python3.11", "py-spy"], "where ranks hang is known by "),
        (["python"], "where ranks hang is not known: the version of python3 is not found"),
        ([], "where ranks hang is not known: python3 is not found"),
    ],
)
def test_it_tells_whether_stacks_can_be_read_by_the_names_of_files(muster, files, said):
    folder = muster.folder / "tools"
    folder.mkdir()
    for name in files:
        (folder / name).touch(0o755)
    if files:
        (folder / "python3").symlink_to(files[0])

    assert said in muster.run("doctor", env={"PATH": folder}).out.text


@pytest.mark.needs("pidfds")
def test_all_guarantees_hold_without_a_filter(muster):
    job = ask(muster)

    assert (job.code, holds(job)) == (0, {})


@pytest.mark.parametrize(
    ("filters", "lost", "code"),
    [
        (
            ["old-docker"],
            {
                "pidfd_open": "in part",
                "pidfd_send_signal": "in part",
                "close_range": "in part",
                "clone3": "in part",
                "set_mempolicy": "in part",
            },
            0,
        ),
        (
            ["gvisor"],
            {"pidfd_open": "in part", "pidfd_send_signal": "in part", "close_range": "in part"},
            0,
        ),
        (
            ["linux-4.18"],
            {"pidfd_open": "in part", "pidfd_send_signal": "in part", "close_range": "in part"},
            0,
        ),
        (["prctl"], {"PR_SET_CHILD_SUBREAPER": "no", "PR_SET_PDEATHSIG": "no"}, 71),
        (["death-signal"], {"PR_SET_PDEATHSIG": "no"}, 71),
        (["pidfd-signals"], {"pidfd_send_signal": "in part"}, 0),
        (["mempolicy"], {"set_mempolicy": "in part"}, 0),
        (["pipes"], {"pipe2, getrandom, setpgid, socket": "no"}, 71),
        (["random"], {"pipe2, getrandom, setpgid, socket": "no"}, 71),
        (["groups"], {"pipe2, getrandom, setpgid, socket": "no"}, 71),
        (["sockets"], {"pipe2, getrandom, setpgid, socket": "no"}, 71),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
@pytest.mark.needs("pidfds")
def test_a_guarantee_lost_to_a_filter_is_named(muster, worker, filters, lost, code):
    job = ask(muster, through=[worker("refuse"), *filters])

    assert (job.code, holds(job)) == (code, lost)
    assert json.loads(job.out.text)["is_filtered"]


@pytest.mark.plain_build
def test_without_proc_processes_are_not_seen(muster):
    job = ask(muster, through=WITHOUT_PROC)

    assert (job.code, holds(job).get("/proc")) == (71, "no")
    assert "/proc cannot be read" in job.out.text


def test_with_the_proc_of_another_namespace_processes_are_not_seen(muster):
    job = ask(muster, through=WITH_FOREIGN_PROC)

    assert (job.code, holds(job).get("/proc")) == (71, "no")
    assert "another pid namespace" in job.out.text


def test_hidden_processes_are_not_seen(muster, open_to_all):
    job = ask(muster, through=WITH_HIDDEN_PROCESSES, program=open_to_all)

    assert (job.code, holds(job).get("/proc")) == (0, "in part")
    assert "hidepid" in job.out.text


def test_without_privileges_killing_by_cgroup_is_replaced_by_kill_rounds(muster, open_to_all):
    job = ask(muster, through=WITHOUT_PRIVILEGES, program=open_to_all)

    (group,) = [one for one in json.loads(job.out.text)["guarantees"] if one["by"] == GROUP]
    assert (job.code, group["holds"]) == (0, "in part")
    assert json.loads(job.out.text)["no_new_privs"]
    assert "/proc" not in holds(job)


@pytest.mark.needs("pidfds")
def test_the_default_output_is_a_table(muster, worker):
    job = muster.run("doctor", through=[worker("refuse"), "death-signal"])

    assert job.code == 71
    lines = job.out.lines
    assert lines[0].startswith("Linux ") and "filtered (seccomp)" in lines[0]
    at = lines.index("workers end with muster, however it ends         no       PR_SET_PDEATHSIG")
    assert lines[at + 1 : at + 4] == [
        "  because  PR_SET_PDEATHSIG: Operation not permitted",
        "  means    if both processes of muster are killed at once, the workers run on",
        "  remedy   the container's system call filter or rights forbid it: allow the call in the profile "
        "(Docker does from 20.10 on)",
    ]


def test_doctor_refuses_arguments(muster):
    job = muster.run("doctor", "now")

    assert job.code == 64
    assert job.said == ["'now' is not a word that muster doctor takes; it has only options"]


def test_doctor_leaves_no_control_group(muster):
    job = ask(muster)

    # Not by rglob, which fails where somebody else removes a group meanwhile.
    folders = [folder for _, folders, _ in os.walk("/sys/fs/cgroup") for folder in folders]
    assert f"muster-{job.pid}" not in folders


@pytest.mark.needs("pidfds")
def test_a_verbose_start_logs_the_guarantees_in_one_line(muster, worker):
    job = muster.run("-v", "--", "true", through=[worker("refuse"), "mempolicy"])

    assert "in part: " in job.said_about("guarantees hold here")
    assert "(set_mempolicy: Operation not permitted)" in job.said_about("guarantees hold here")


# Filters that refuse a call that every event loop needs, and the call.
CALLS_OF_A_LOOP = [
    ("epoll", "epoll_create1"),
    ("epoll-changes", "epoll_ctl"),
    ("epoll-waits", "epoll_wait"),
    ("timer-settings", "timerfd_settime"),
    ("signal-files", "signalfd"),
    ("signal-masks", "sigprocmask"),
    ("descriptor-settings", "fcntl"),
    ("device-settings", "ioctl"),
    ("file-status", "fstat"),
]


@pytest.mark.parametrize(
    ("filter_name", "call"),
    [
        ("pipes", "cannot make a pipe"),
        ("processes", "making a process"),
        ("sessions", "making a session"),
        *CALLS_OF_A_LOOP,
    ],
)
def test_a_refused_system_call_without_fallback_is_named(muster, worker, filter_name, call):
    job = muster.run("--", "true", through=[worker("refuse"), filter_name])

    assert job.code == 71
    line = job.said_about(f"{call}: Operation not permitted")
    assert "[system" not in line and "/boost/" not in line


@pytest.mark.parametrize(("filter_name", "call"), CALLS_OF_A_LOOP)
def test_without_an_event_loop_doctor_exits_71(muster, worker, filter_name, call):
    job = ask(muster, through=[worker("refuse"), filter_name])

    assert job.code == 71, job.err.text
    loop = json.loads(job.out.text)["guarantees"][0]
    assert (loop["by"], loop["holds"]) == ("an event loop", "no")
    assert loop["because"] == f"{call}: Operation not permitted"
