"""Cases of variables, agents and restarts, after PyTorch 2.13's local_elastic_agent_test.py, in test/distributed/elastic/agent."""

from launcher_cases.case import Case, Differs, code, every, fails, file, no_file, ok, ranks, within
from launcher_cases.scripts import ONCE, WAITS, environment, script

C10D = "--rdzv-backend=c10d --rdzv-endpoint=localhost:{port} --rdzv-conf=join_timeout=40,last_call_timeout=2"

NAMES = (
    "RANK LOCAL_RANK GROUP_RANK ROLE_RANK ROLE_NAME LOCAL_WORLD_SIZE WORLD_SIZE GROUP_WORLD_SIZE ROLE_WORLD_SIZE "
    "MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID "
    "TORCHELASTIC_USE_AGENT_STORE TORCHELASTIC_ERROR_FILE TORCH_NCCL_ASYNC_ERROR_HANDLING"
).split()

PLACE = environment("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK")


def variable(name, expected, options="", **more):
    return Case(
        f"{name} is {expected} with '{options}'",
        f"{options} w.py",
        [ok, file("0", expected)],
        environment(name),
        **more,
    )


ENVIRONMENTS = [
    Case(
        "every variable is there",
        "--nproc-per-node=2 w.py",
        [ok, every("")],
        script(f"note(RANK, ' '.join(name for name in {NAMES!r} if name not in E))"),
    ),
    variable(
        "TORCHELASTIC_RUN_ID",
        "job-7",
        "--rdzv-id=job-7 --master-addr=127.0.0.1 --master-port={port}",
    ),
    Case(
        "a name for a job of one node without a port",
        "--rdzv-id=job-7 w.py",
        [ok, file("0", "[0-9a-f-]{36}")],
        environment("TORCHELASTIC_RUN_ID"),
        differs=Differs("`--rdzv-id` of one node without a port", [ok, file("0", "job-7")]),
    ),
    variable("ROLE_NAME", "trainer", "--role=trainer"),
    variable("ROLE_NAME", "default", is_default=False),
    variable("MASTER_PORT", r"\d+", is_default=False),
    variable("MASTER_ADDR", "127.0.0.3", "--master-addr=127.0.0.3 --master-port={port}"),
    variable("TORCHELASTIC_MAX_RESTARTS", "3", "--max-restarts=3"),
    variable("TORCHELASTIC_RESTART_COUNT", "0", is_default=False),
    variable("TORCHELASTIC_USE_AGENT_STORE", "True"),
    variable("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"),
    Case(
        "a value for NCCL that is set stays",
        "w.py",
        [ok, file("0", "0")],
        environment("TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"},
    ),
    Case(
        "a number of threads that is set stays",
        "--nproc-per-node=2 w.py",
        [ok, every("3")],
        environment("OMP_NUM_THREADS"),
        {"OMP_NUM_THREADS": "3"},
        is_default=False,
    ),
    Case(
        "the error file is in no folder of ours",
        "w.py",
        [ok, file("0", "True")],
        script("note(RANK, os.path.isdir(os.path.dirname(E['TORCHELASTIC_ERROR_FILE'])))"),
        is_default=False,
    ),
    Case(
        "standard input has no bytes",
        "w.py",
        [ok, file("0", "''")],
        script("note(RANK, repr(sys.stdin.read()))"),
        is_default=False,
    ),
    Case(
        "a worker leads a session of its own",
        "--nproc-per-node=2 w.py",
        [ok, every("True")],
        script("note(RANK, os.getsid(0) == os.getpid())"),
    ),
]

NODES = [
    Case(
        "two agents with the same role",
        [f"--nnodes=2 --nproc-per-node=2 --role=sum {C10D} w.py"] * 2,
        [ok, ranks(4), every(r"4\|2\|[01]\|[0-3]")],
        PLACE,
        is_default=False,
    ),
    Case(
        "agents of one, two and three workers",
        [f"--nnodes=3 --nproc-per-node={count} {C10D} w.py" for count in (1, 2, 3)],
        [ok, ranks(6), every(r"6\|[123]\|[012]\|[0-5]")],
        PLACE,
    ),
    Case(
        "two agents with different roles",
        [f"--nnodes=2 --nproc-per-node=2 --role={role} {C10D} w.py" for role in ("trainer", "ps")],
        [ok, ranks(4), every(r"(trainer|ps)\|2\|[01]")],
        environment("ROLE_NAME", "ROLE_WORLD_SIZE", "ROLE_RANK"),
    ),
    Case(
        "three agents of two roles",
        [
            f"--nnodes=3 --nproc-per-node={count} --role={role} {C10D} w.py"
            for count, role in ((1, "a"), (2, "b"), (1, "b"))
        ],
        [ok, ranks(4), every(r"a\|1\|0|b\|3\|[012]")],
        environment("ROLE_NAME", "ROLE_WORLD_SIZE", "ROLE_RANK"),
        is_default=False,
    ),
    Case(
        "both agents have a worker that fails",
        [f"--nnodes=2 --nproc-per-node=2 {C10D} w.py"] * 2,
        [fails, within(40)],
        script("if int(RANK) % 2:\n    sys.exit(1)\n" + WAITS),
    ),
    Case(
        "one agent's worker fails, the other's goes on",
        [f"--nnodes=2 --nproc-per-node=1 {C10D} w.py"] * 2,
        [file("finished", "")],
        script(
            "note('up' + RANK)\n"
            "wait_for('up0', 'up1')\n"
            "if RANK == '1':\n"
            "    sys.exit(1)\n"
            "until = time.monotonic() + 4\n"
            "while time.monotonic() < until:\n"
            "    time.sleep(0.05)\n"
            "note('finished')\n"
        ),
        deadline=25,
        differs=Differs("a worker fails on another node", [code(1, 1), no_file("finished")]),
        torchrun_may_fail=True,  # where rank 1's agent came first, it serves the store
    ),
    Case(
        "one agent's workers are slow",
        [f"--nnodes=2 --nproc-per-node=1 {C10D} w.py"] * 2,
        [ok, ranks(2)],
        script(
            "until = time.monotonic() + 3 * int(RANK)\nwhile time.monotonic() < until:\n    time.sleep(0.05)\nnote(RANK)"
        ),
        is_default=False,
    ),
    Case(
        "a failure on one agent restarts both",
        [f"--nnodes=2 --nproc-per-node=1 --max-restarts=1 {C10D} w.py"] * 2,
        [ok, file("again0", ""), file("again1", "")],
        script(
            "first = not have('once')\n"
            "note(('up' if first else 'again') + RANK)\n"
            "if first:\n"
            "    wait_for('up0', 'up1')\n"
            "    if RANK == '1':\n"
            "        note('once')\n"
            "        sys.exit(1)\n" + "    " + WAITS.strip().replace("\n", "\n    ")
        ),
        is_default=False,
    ),
]

RESTARTS = [
    Case(
        "a killed worker is started again, with the others",
        "--nproc-per-node=2 --max-restarts=1 w.py",
        [ok, file("0-0", ""), file("1-0", ""), file("0-1", ""), file("1-1", "")],
        ONCE,
    ),
    Case(
        "no restart is the default",
        "--nproc-per-node=2 w.py",
        [fails, file("1-0", ""), no_file("1-1")],
        ONCE,
    ),
    Case(
        "two restarts are three attempts",
        "--nproc-per-node=2 --max-restarts=2 w.py",
        [fails, file("1-2", ""), no_file("1-3")],
        script("note(RANK + '-' + ATTEMPT)\nif RANK == '1':\n    sys.exit(1)\n" + WAITS),
    ),
    Case(
        "ten restarts are ten",
        "--max-restarts=10 w.py",
        [fails, file("0-10", "")],
        script("note(RANK + '-' + ATTEMPT)\nsys.exit(1)"),
        {"MUSTER_RESTART_BACKOFF": "0"},
    ),
    Case(
        "a fourth restart in a row",
        "--max-restarts=4 w.py",
        [fails, file("4", "short")],
        script(
            "note('at' + ATTEMPT, time.time())\n"
            "if ATTEMPT == '4':\n"
            "    before = float(open(E['OUT'] + '/at3').read())\n"
            "    note(4, 'short' if time.time() - before < 3.5 else 'long')\n"
            "sys.exit(1)"
        ),
        is_default=False,
        differs=Differs("the time between a failure and a restart", [fails, file("4", "long")]),
    ),
    Case(
        "a restart has its number",
        "--max-restarts=2 w.py",
        [ok, file("0", "2|2")],
        script("note(RANK, ATTEMPT)\nsys.exit(0 if ATTEMPT == '2' else 1)"),
        is_default=False,
    ),
    Case(
        "static ranks and a restart",
        "--nproc-per-node=2 --master-addr=127.0.0.1 --master-port={port} --max-restarts=1 w.py",
        [ok, file("1-1", "")],
        ONCE,
        is_default=False,
    ),
    Case(
        "by c10d and a restart",
        f"--nproc-per-node=2 --max-restarts=1 {C10D} w.py",
        [ok, file("1-1", "")],
        ONCE,
        is_default=False,
    ),
    Case(
        "workers that ended are started again as well",
        "--nproc-per-node=2 --max-restarts=1 w.py",
        [ok, file("0-1", "")],
        script(
            "note(RANK + '-' + ATTEMPT)\nif RANK == '1' and ATTEMPT == '0':\n    wait_for('0-0')\n    sys.exit(3)\n"
        ),
        is_default=False,
    ),
]

CASES = [*ENVIRONMENTS, *NODES, *RESTARTS]
