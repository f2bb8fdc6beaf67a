"""Cases after PyTorch 2.13's test/distributed/launcher: test_run.py, api_test.py and the scripts in bin/."""

from launcher_cases.case import Case, Differs, code, every, fails, file, ok, out, ranks, refused
from launcher_cases.scripts import (
    ARGUMENTS,
    DDP,
    LAUNCHED,
    SHELL,
    TOUCH,
    WORLD,
    environment,
    script,
)

PROGRAMS = [
    Case(
        "a Python script, four workers",
        "--nnodes=1 --nproc-per-node=4 --rdzv-id=77 --monitor-interval=1 --start-method=spawn w.py",
        [ok, ranks(4)],
        TOUCH,
    ),
    Case(
        "a given address and port, node rank 0",
        "--nnodes=1 --nproc-per-node=4 --master-addr=localhost --master-port={port} --node-rank=0 w.py",
        [ok, ranks(4)],
        TOUCH,
    ),
    Case("a program that is not Python", f"--nproc-per-node=4 {SHELL}", [ok, ranks(4)]),
    Case("one worker is the default", f"--rdzv-id=3 {SHELL}", [ok, ranks(1)]),
    Case("no Python and a module", "--no-python --module w", [refused], TOUCH),
    Case("a module", "--nproc-per-node=2 -m w", [ok, ranks(2)], TOUCH),
    Case(
        "a module with arguments",
        "--module w --x 1 -m 2",
        [ok, every(r'\["--x", "1", "-m", "2"\]')],
        ARGUMENTS,
    ),
    Case(
        "run path",
        "--run-path --nproc-per-node=2 w.py --touch",
        [ok, every(r'\["--touch"\]'), ranks(2)],
        ARGUMENTS,
    ),
    Case(
        "the name of the main module",
        "w.py",
        [ok, file("0", "__main__")],
        script("note(RANK, __name__)"),
    ),
    Case("a script by its whole path", "--nproc-per-node=2 {folder}/w.py", [ok, ranks(2)], TOUCH),
    Case(
        "the script's folder is on the path",
        "w.py",
        [ok, file("0", "True")],
        script("note(RANK, os.path.realpath(sys.path[0]) == os.path.realpath(E['CASE']))"),
    ),
    Case(
        "the working directory is ours",
        "w.py",
        [ok, file("0", "True")],
        script("note(RANK, os.getcwd() == os.path.realpath(E['CASE']))"),
    ),
    Case(
        "the Python of the launcher",
        "w.py",
        [ok, file("0", ".*torch.*/bin/python3?.*")],
        script("note(RANK, sys.executable)"),
    ),
    Case(
        "PYTHON_EXEC is another Python",
        "w.py",
        [ok, file("0", "/usr/bin/python3.*")],
        script("note(RANK, sys.executable)"),
        {"PYTHON_EXEC": "/usr/bin/python3"},
    ),
    Case("a script that is not there", "nowhere.py", [fails]),
    Case("a program that is not there", "--no-python /nowhere/at/all", [fails]),
    Case("no script", "--nproc-per-node=2", [refused]),
    Case("help", "--help", [code(0), out(".*--nproc-per-node.*")]),
    Case("a module that is not there", "-m no_such_module_1", [fails]),
    Case(
        "standard output is not buffered",
        "w.py",
        [ok, file("0", "True")],
        script(
            "note(RANK, bool(sys.stdout.write_through) or bool(sys.flags.unbuffered) or 'PYTHONUNBUFFERED' in E)"
        ),
    ),
    Case(
        "the shell's own variables reach the worker",
        "w.py",
        [ok, file("0", "foobar")],
        environment("SENTINEL_OF_PARENT"),
        {"SENTINEL_OF_PARENT": "foobar"},
    ),
    Case(
        "workers know that they were launched",
        "--nproc-per-node=1 w.py",
        [ok, file("0", "True")],
        LAUNCHED,
        is_default=False,
    ),
    Case(
        "a tcp:// method at the given port",
        "--nproc-per-node=2 --master-addr=localhost --master-port={port} w.py tcp://localhost:{port}",
        [ok, every("2")],
        DDP,
        is_default=False,
    ),
    Case(
        "the env:// method at the given port",
        "--nproc-per-node=2 --master-addr=localhost --master-port={port} w.py env://",
        [ok, every("2")],
        DDP,
        is_default=False,
    ),
    Case("the env:// method and no port", "--nproc-per-node=2 w.py env://", [ok, every("2")], DDP),
    Case(
        "the env:// method, standalone",
        "--standalone --nproc-per-node=2 w.py env://",
        [ok, every("2")],
        DDP,
        is_default=False,
    ),
]

COUNTS = [
    Case("workers by number", f"--nproc-per-node=3 {SHELL}", [ok, ranks(3)]),
    Case(
        "a worker for each core",
        "--nproc-per-node=cpu w.py",
        [ok, every("True")],
        script("note(RANK, int(E['WORLD_SIZE']) == len(os.sched_getaffinity(0)))"),
    ),
    Case(
        "auto without accelerators",
        "--nproc-per-node=auto w.py",
        [ok, every("True")],
        script("note(RANK, int(E['WORLD_SIZE']) == len(os.sched_getaffinity(0)))"),
    ),
    Case("an unknown kind of worker", "--nproc-per-node=unknown w.py", [refused], TOUCH),
    Case("GPUs where there are none", "--nproc-per-node=gpu w.py", [refused], TOUCH),
    Case("XPUs where there are none", "--nproc-per-node=xpu w.py", [refused], TOUCH),
    Case("a backend that torch does not have", "--nproc-per-node=npu w.py", [refused], TOUCH),
    Case("no workers", "--nproc-per-node=0 w.py", [refused], TOUCH),
    Case("fewer than no workers", "--nproc-per-node=-1 w.py", [refused], TOUCH),
    Case(
        "ranks and sizes of one node", "--nproc-per-node=3 w.py", [ok, every(r"3\|3\|1\|3")], WORLD
    ),
    Case("three numbers of nodes", "--nnodes=2:20:30 w.py", [refused], TOUCH),
    Case("no nodes", "--nnodes=0 w.py", [refused], TOUCH),
    Case("more at least than at most", "--nnodes=3:2 w.py", [refused], TOUCH),
    Case("nodes that are no number", "--nnodes=two w.py", [refused], TOUCH),
    Case("one to one node", "--nnodes=1:1 --nproc-per-node=2 w.py", [ok, ranks(2)], TOUCH),
]

VARIABLES = [
    Case(
        "options as variables",
        "/bin/sh -c 'echo > $OUT/$RANK'",
        [ok, ranks(4)],
        environment={
            "PET_NNODES": "1",
            "PET_NPROC_PER_NODE": "4",
            "PET_RDZV_ID": "88",
            "PET_MONITOR_INTERVAL": "1",
            "PET_START_METHOD": "spawn",
            "PET_NO_PYTHON": "1",
            "PET_MODULE": "0",
        },
    ),
    Case(
        "no Python and a module, by variables",
        "w.py",
        [refused],
        TOUCH,
        {"PET_NO_PYTHON": "1", "PET_MODULE": "1"},
    ),
    Case(
        "an option is stronger than its variable",
        "--nproc-per-node=2 w.py",
        [ok, ranks(2)],
        TOUCH,
        {"PET_NPROC_PER_NODE": "4"},
    ),
    Case(
        "PET_STANDALONE=1",
        "w.py",
        [ok, file("0", "[0-9a-f-]{36}")],
        environment("TORCHELASTIC_RUN_ID"),
        {"PET_STANDALONE": "1", "PET_RDZV_ID": "a"},
    ),
    Case("PET_STANDALONE=0", "w.py", [ok, ranks(1)], TOUCH, {"PET_STANDALONE": "0"}),
    Case("PET_STANDALONE=2", "w.py", [ok, ranks(1)], TOUCH, {"PET_STANDALONE": "2"}),
    Case(
        "PET_STANDALONE=true",
        "w.py",
        [refused],
        TOUCH,
        {"PET_STANDALONE": "true"},
        differs=Differs("a switch whose variable is `true`", [ok, ranks(1)]),
    ),
    Case(
        "a role by a variable",
        "w.py",
        [ok, file("0", "trainer")],
        environment("ROLE_NAME"),
        {"PET_ROLE": "trainer"},
    ),
    Case(
        "restarts by a variable",
        "w.py",
        [ok, file("0", "4")],
        environment("TORCHELASTIC_MAX_RESTARTS"),
        {"PET_MAX_RESTARTS": "4"},
    ),
    Case(
        "a number that is none, by a variable",
        "w.py",
        [refused],
        TOUCH,
        {"PET_MAX_RESTARTS": "many"},
    ),
    Case(
        "an empty log folder by a variable",
        "w.py",
        [ok, ranks(1)],
        TOUCH,
        {"PET_LOG_DIR": ""},
    ),
    Case(
        "variables that another start left",
        "--nproc-per-node=2 w.py",
        [ok, every("2")],
        environment("WORLD_SIZE"),
        {"WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "0,1"},
    ),
    Case(
        "variables of a whole job on one machine",
        "--nproc-per-node=2 w.py",
        [ok, every("2")],
        environment("WORLD_SIZE"),
        {"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"},
    ),
    Case("a torn TF_CONFIG", "w.py", [ok, ranks(1)], TOUCH, {"TF_CONFIG": "{"}),
]

CASES = [*PROGRAMS, *COUNTS, *VARIABLES]
