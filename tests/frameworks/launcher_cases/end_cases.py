"""Cases of how workers and jobs end, after PyTorch 2.13's test/distributed/elastic: local_elastic_agent_test.py,
shutdown_timeout_test.py, multiprocessing/test_api.py (signals) and timer/file_based_local_timer_test.py.
"""

from launcher_cases.case import (
    Case,
    Differs,
    code,
    err,
    every,
    fails,
    file,
    no_file,
    ok,
    ranks,
    within,
)
from launcher_cases.scripts import EXPIRES, STUBBORN, TOUCH, WAITS, environment, script


def stopped_by(name, options="", **more):
    return Case(
        f"{name} ends the job{' with ' + options if options else ''}",
        f"--nproc-per-node=2 {options} w.py",
        [
            fails,
            every("SIG.*|"),
            file("ended0", "SIG[A-Z0-9]+"),
            file("ended1", "SIG[A-Z0-9]+"),
            within(30),
        ],
        script(WAITS),
        steps=[("wait", "up0"), ("wait", "up1"), ("signal", name, 0)],
        **more,
    )


def killed_by(name, **more):
    return Case(
        f"a worker that dies of {name}",
        "--nproc-per-node=2 w.py",
        [fails, err(name), within(30)],
        script(f"if RANK == '1':\n    os.kill(os.getpid(), signal.{name})\n" + WAITS),
        **more,
    )


ENDS = [
    killed_by("SIGKILL"),
    killed_by("SIGSEGV"),
    killed_by("SIGABRT", is_default=False),
    killed_by("SIGTERM", is_default=False),
    Case(
        "the others are stopped when one fails",
        "--nproc-per-node=3 w.py",
        [fails, file("ended0", "SIGTERM"), file("ended2", "SIGTERM")],
        script("if RANK == '1':\n    wait_for('up0', 'up2')\n    sys.exit(1)\n" + WAITS),
    ),
    Case(
        "the exit code of a worker that fails",
        "w.py",
        [code(1)],
        script("sys.exit(7)"),
        differs=Differs("the exit code of a job whose worker fails", [code(7)]),
    ),
    Case(
        "a worker that ends early leaves the others alone",
        "--nproc-per-node=2 w.py",
        [ok, file("1", "")],
        script("if RANK == '1':\n    wait_for('0')\nnote(RANK)"),
        is_default=False,
    ),
    Case(
        "what a failed worker started is ended",
        "w.py",
        [lambda run: f"left {run.survivors}" if not run.survivors else None],
        script(
            "import subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\nsys.exit(1)"
        ),
        differs=Differs("processes that a worker started and left", [fails]),
    ),
    Case(
        "no worker outlives the job",
        "--nproc-per-node=2 w.py",
        [fails],
        script("if RANK == '0':\n    wait_for('up1')\n    sys.exit(1)\n" + STUBBORN),
        {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "2"},
        is_default=False,
    ),
]

SIGNALS = [
    stopped_by("SIGTERM"),
    stopped_by("SIGINT"),
    stopped_by("SIGHUP", is_default=False),
    stopped_by("SIGQUIT", is_default=False),
    stopped_by("SIGUSR1", "--signals-to-handle=SIGTERM,SIGUSR1"),
    stopped_by("SIGUSR2", "--signals-to-handle=SIGUSR1,SIGUSR2", is_default=False),
    Case(
        "SIGTERM and the exit code",
        "w.py",
        [code(1)],
        script(WAITS),
        steps=[("wait", "up0"), ("signal", "SIGTERM", 0)],
        differs=Differs("the exit code of a job that a signal ended", [code(143)]),
    ),
    Case(
        "a signal that is not to be handled",
        "w.py",
        [code(-10)],
        script(
            "signal.signal(signal.SIGUSR1, lambda *_: note('heard'))\nnote('up0')\nwait_for('heard')\n"
        ),
        steps=[("wait", "up0"), ("signal", "SIGUSR1", 0)],
        differs=Differs(
            "SIGUSR1, SIGUSR2 or SIGWINCH to the launcher, if `--signals-to-handle` does not name this signal",
            [ok, file("heard", "")],
        ),
    ),
    Case(
        "workers that ignore SIGTERM, a second",
        "--nproc-per-node=2 --shutdown-timeout=1 w.py",
        [fails, within(15)],
        script(STUBBORN),
        steps=[("wait", "up0"), ("wait", "up1"), ("signal", "SIGTERM", 0)],
    ),
    Case(
        "a time for the end by a variable",
        "w.py",
        [fails, within(15)],
        script(STUBBORN),
        {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "1"},
        steps=[("wait", "up0"), ("signal", "SIGTERM", 0)],
        is_default=False,
    ),
    Case(
        "a port for the health check",
        "w.py",
        [ok, ranks(1)],
        TOUCH,
        {"TORCHELASTIC_HEALTH_CHECK_PORT": "8999"},
        is_default=False,
    ),
]

TIMERS = [
    Case("no timer", "w.py", [ok, file("0", "-")], environment("TORCHELASTIC_TIMER_FILE")),
    Case(
        "a timer's file that is not asked for",
        "w.py",
        [ok, file("0", "x")],
        environment("TORCHELASTIC_TIMER_FILE"),
        {"TORCHELASTIC_TIMER_FILE": "x"},
        is_default=False,
    ),
    Case(
        "a timer that is asked for",
        "w.py",
        [ok, file("0", "/.+")],
        environment("TORCHELASTIC_TIMER_FILE"),
        {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"},
    ),
    Case(
        "the timer's file is a pipe",
        "w.py",
        [ok, file("0", "True")],
        script(
            "import stat\nnote(RANK, stat.S_ISFIFO(os.stat(E['TORCHELASTIC_TIMER_FILE']).st_mode))"
        ),
        {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"},
        is_default=False,
    ),
    Case(
        "a timer's file of ours",
        "w.py",
        [ok, file("0", "True")],
        script(
            "import stat\nnote(RANK, E['TORCHELASTIC_TIMER_FILE'] == E['CASE'] + '/mine' and stat.S_ISFIFO(os.stat('mine').st_mode))"
        ),
        {"TORCHELASTIC_ENABLE_FILE_TIMER": "1", "TORCHELASTIC_TIMER_FILE": "{folder}/mine"},
        is_default=False,
    ),
    Case(
        "an empty name for the timer's file",
        "w.py",
        [fails],
        environment("TORCHELASTIC_TIMER_FILE"),
        {"TORCHELASTIC_ENABLE_FILE_TIMER": "1", "TORCHELASTIC_TIMER_FILE": ""},
        differs=Differs("an empty `TORCHELASTIC_TIMER_FILE`", [ok, file("0", "/.+")]),
    ),
    Case(
        "a timer that ends kills the worker",
        "w.py",
        [fails, file("up0", ""), no_file("alive"), within(20)],
        EXPIRES,
        {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"},
    ),
    Case(
        "a timer that ends and the launcher",
        "w.py",
        [code(-9)],
        EXPIRES,
        {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"},
        differs=Differs(
            "the launcher when a worker's timer has ended",
            [code(137), err("the timer 'x' of process [0-9]+ has expired")],
        ),
    ),
]

CASES = [*ENDS, *SIGNALS, *TIMERS]
