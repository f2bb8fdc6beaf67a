"""Cases of nodes, of torch.distributed.launch and of devices, after PyTorch 2.13's test/distributed/launcher: test_run.py and
launch_test.py."""

from launcher_cases.case import Case, Differs, every, fails, file, ok, ranks, refused, within
from launcher_cases.scripts import ARGUMENTS, SHELL, TOUCH, WORLD, environment, script

C10D = "--rdzv-backend=c10d --rdzv-endpoint=localhost:{port} --rdzv-id=r1"

GROWING = f"--nnodes=1:2 --max-restarts=1 --monitor-interval=0.2 {C10D} --rdzv-conf=last_call_timeout=1 w.py"
GROWING_SLOWLY = f"--nnodes=1:3 --monitor-interval=0.2 {C10D} --rdzv-conf=last_call_timeout=12 w.py"

NODES = [
    Case(
        "one of one to two nodes, with a quoted configuration",
        f"--nnodes=1:2 --nproc-per-node=4 {C10D} \"--rdzv-conf='join_timeout=5,last_call_timeout=1,timeout=5'\" w.py",
        [ok, ranks(4), within(30)],
        TOUCH,
    ),
    Case(
        "an elastic job whose worker fails",
        f"--nnodes=1:2 --nproc-per-node=2 {C10D} --rdzv-conf=join_timeout=5,last_call_timeout=1 --max-restarts=0 w.py",
        [fails, within(30)],
        script("sys.exit(int(RANK))"),
    ),
    Case("standalone", "--nnodes=1 --standalone --nproc-per-node=4 w.py", [ok, ranks(4)], TOUCH),
    Case(
        "standalone and what it does not need",
        "--standalone --rdzv-id=x --rdzv-endpoint=nowhere.invalid:1 --nproc-per-node=2 w.py",
        [ok, ranks(2)],
        TOUCH,
    ),
    Case(
        "two agents by c10d",
        [f"--nnodes=2 --nproc-per-node=2 {C10D} --rdzv-conf=join_timeout=30 w.py"] * 2,
        [ok, ranks(4), every(r"4\|2\|2\|4")],
        WORLD,
    ),
    Case(
        "two agents of one to two",
        [f"--nnodes=1:2 --nproc-per-node=2 {C10D} --rdzv-conf=last_call_timeout=8 w.py"] * 2,
        [ok, ranks(4)],
        TOUCH,
        is_default=False,
    ),
    Case(
        "ranks within roles, on nodes of two roles",
        [
            f"--nnodes=3 --node-rank={node} --role={role} --nproc-per-node={workers} --master-addr=127.0.0.1 --master-port={{port}} w.py"
            for node, (role, workers) in enumerate((("trainer", 2), ("reader", 1), ("trainer", 3)))
        ],
        [
            ok,
            ranks(6),
            file("1", r"trainer\|1\|5\|1\|6"),
            file("2", r"reader\|0\|1\|2\|6"),
            file("3", r"trainer\|2\|5\|3\|6"),
            file("5", r"trainer\|4\|5\|5\|6"),
        ],
        environment("ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE", "RANK", "WORLD_SIZE"),
    ),
    Case(
        "a second agent that comes while the first one works",
        GROWING,
        [ok, ranks(2), every("2:0:1")],
        script(
            """
if E['WORLD_SIZE'] == '1':
    os.open(os.path.join(E['CASE'], 'alone'), os.O_CREAT)
    time.sleep(60)
note(RANK, ':'.join((E['WORLD_SIZE'], ATTEMPT, E['TORCHELASTIC_MAX_RESTARTS'])))
"""
        ),
        steps=[("wait", "../alone"), ("start", GROWING)],
        is_default=False,
        torchrun_may_fail=True,  # its agents mostly wait in vain for rank 0's address
    ),
    Case(
        "a second agent that comes while others may follow",
        GROWING_SLOWLY,
        [ok, file("stopped", "soon")],
        script(
            """
def stop(number, frame):
    note('stopped', 'soon' if time.monotonic() - began < 9 else 'late')
    sys.exit(0)
if E['WORLD_SIZE'] == '1':
    began = time.monotonic()
    signal.signal(signal.SIGTERM, stop)
    note('alone')
    time.sleep(60)
"""
        ),
        steps=[("wait", "alone"), ("start", GROWING_SLOWLY)],
        is_default=False,
        torchrun_may_fail=True,
        differs=Differs(
            "a node comes while the job runs and others may follow", [ok, file("stopped", "late")]
        ),
    ),
    Case(
        "two agents by node ranks",
        [
            "--nnodes=2 --nproc-per-node=2 --master-addr=127.0.0.1 --master-port={port} --node-rank=1 w.py",
            "--nnodes=2 --nproc-per-node=2 --master-addr=127.0.0.1 --master-port={port} --node-rank=0 w.py",
        ],
        [ok, ranks(4), file("3", r"1\|1\|2")],
        environment("LOCAL_RANK", "GROUP_RANK", "GROUP_WORLD_SIZE"),
    ),
    Case(
        "two agents at a static endpoint",
        [
            "--nnodes=2 --rdzv-endpoint=127.0.0.1:{port} --node-rank=0 w.py",
            "--nnodes=2 --rdzv-endpoint=127.0.0.1:{port} --node-rank=1 w.py",
        ],
        [ok, ranks(2)],
        TOUCH,
        is_default=False,
    ),
    Case(
        "a static endpoint without a port",
        "--rdzv-endpoint=localhost w.py",
        [refused],
        TOUCH,
        differs=Differs("a static endpoint without a port", [ok, ranks(1)]),
    ),
    Case("a port that is none", "--rdzv-endpoint=localhost:abc w.py", [refused], TOUCH),
    Case("a port that is too large", "--rdzv-endpoint=localhost:99999 w.py", [refused], TOUCH),
    Case(
        "a host name that is none",
        "--nnodes=2 --rdzv-endpoint='bad!host:29500' w.py",
        [refused, within(20)],
        TOUCH,
    ),
    Case(
        "a backend that is not there",
        "--rdzv-backend=nope --rdzv-endpoint=localhost:1 w.py",
        [refused],
        TOUCH,
    ),
    Case("a configuration without a value", "--rdzv-conf=timeout w.py", [refused], TOUCH),
    Case(
        "a configuration with blanks",
        "--rdzv-conf=' timeout = 60 , join_timeout = 60 ' w.py",
        [ok, ranks(1)],
        TOUCH,
    ),
    Case("an empty configuration", "--rdzv-conf= w.py", [ok, ranks(1)], TOUCH),
    Case("a local address", "--local-addr=127.0.0.1 w.py", [ok, ranks(1)], TOUCH),
    Case(
        "one node that never gets its second",
        "--nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=localhost:{port} --rdzv-conf=join_timeout=3 w.py",
        [refused, within(40)],
        TOUCH,
        is_default=False,
    ),
]

LAUNCH = [
    Case(
        "the local rank as an argument",
        "--nproc-per-node=2 w.py",
        [ok, file("1", r'\["--local-rank=1"\]')],
        ARGUMENTS,
        launcher="torch.distributed.launch",
    ),
    Case(
        "the local rank stands first",
        "--nproc-per-node=2 w.py --lr 1 x",
        [ok, file("0", r'\["--local-rank=0", "--lr", "1", "x"\]')],
        ARGUMENTS,
        launcher="torch.distributed.launch",
    ),
    Case(
        "an address, a port and a node rank",
        "--nnodes=1 --nproc-per-node=4 --monitor-interval=1 --start-method=spawn --master-addr=localhost --master-port={port} --node-rank=0 w.py",
        [ok, ranks(4)],
        TOUCH,
        launcher="torch.distributed.launch",
        is_default=False,
    ),
    Case(
        "--use-env",
        "--nproc-per-node=2 --use-env w.py --x",
        [ok, every(r'\["--x"\]')],
        ARGUMENTS,
        launcher="torch.distributed.launch",
    ),
    Case(
        "--use_env",
        "--nproc-per-node=2 --use_env w.py",
        [ok, every(r"\[\]")],
        ARGUMENTS,
        launcher="torch.distributed.launch",
    ),
    Case("no Python without --use-env", f"{SHELL}", [refused], launcher="torch.distributed.launch"),
    Case(
        "no Python with --use-env",
        f"--use-env {SHELL}",
        [ok, ranks(1)],
        launcher="torch.distributed.launch",
    ),
    Case(
        "by the module's name",
        "--nproc-per-node=2 w.py",
        [ok, every(r"\[\]")],
        ARGUMENTS,
        launcher="torch.distributed.run",
    ),
]

LOGS_SPECS = [
    Case("--logs-specs=default", "--logs_specs=default w.py", [ok, ranks(1)], TOUCH),
    Case(
        "log specifications that nobody has",
        "--logs_specs=NOWHERE_TO_BE_FOUND w.py",
        [refused],
        TOUCH,
    ),
]

VIRTUAL = [
    Case(
        "each worker has one device and is local rank 0",
        "--nproc-per-node=2 --virtual-local-rank w.py",
        [ok, file("0", r"0\|5"), file("1", r"0\|7")],
        environment("LOCAL_RANK", "CUDA_VISIBLE_DEVICES"),
        {"CUDA_VISIBLE_DEVICES": "5,7"},
    ),
    Case(
        "a device for each worker by its number",
        "--nproc-per-node=2 --virtual-local-rank w.py",
        [ok, file("0", r"0\|0"), file("1", r"0\|1")],
        environment("LOCAL_RANK", "CUDA_VISIBLE_DEVICES"),
    ),
    Case(
        "fewer devices than workers",
        "--nproc-per-node=2 --virtual-local-rank w.py",
        [refused],
        TOUCH,
        {"CUDA_VISIBLE_DEVICES": "5"},
    ),
]

CASES = [*NODES, *LAUNCH, *LOGS_SPECS, *VIRTUAL]
