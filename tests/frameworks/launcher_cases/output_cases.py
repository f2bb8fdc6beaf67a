"""Cases after PyTorch 2.13's test/distributed/elastic/multiprocessing: api_test.py, redirects_test.py, tail_log_test.py and
errors/api_test.py."""

import json

from launcher_cases.case import Case, Differs, err, fails, file, log_text, no_err, no_out, ok, out, paths, refused
from launcher_cases.scripts import says, script

BOTH = says("hello stdout from R", "hello stderr from R")

RUN = r"[^/]+_[^/]+/"

SOME = "the rank before each line of output, if `-t` (`--tee`) names only some of the workers' streams"


def streams(name, options, checks, *, text=BOTH, **more):
    return Case(name, f"--nproc-per-node=2 {options} w.py", [ok, *checks], text, **more)


def logged(name, options, checks, **more):
    return streams(name, f"--log-dir=logs {options}", checks, **more)


CONSOLE = [
    streams(
        "no redirection",
        "",
        [out("hello stdout from 0"), out("hello stdout from 1"), err("^hello stderr from 1$")],
    ),
    streams("output to files", "-r 1", [no_out("hello"), err("^hello stderr from 0$")]),
    streams(
        "errors to files", "-r 2", [out("hello stdout from 0"), no_err("hello")], is_default=False
    ),
    streams("both to files", "--redirect=3", [no_out("hello"), no_err("hello")]),
    streams(
        "output of one rank to files",
        "-r 0:1",
        [no_out("stdout from 0"), out("hello stdout from 1")],
    ),
    streams(
        "tee of both",
        "-t 3",
        [
            out(r"\[default0\]:hello stdout from 0"),
            out(r"\[default1\]:hello stdout from 1"),
            err(r"^\[default1\]:hello stderr from 1$"),
        ],
    ),
    streams(
        "tee of output",
        "-t 1",
        [out(r"\[default1\]:hello stdout from 1"), err("^hello stderr from 1$")],
        differs=Differs(
            SOME,
            [
                ok,
                out(r"\[default1\]:hello stdout from 1"),
                err(r"^\[default1\]:hello stderr from 1$"),
            ],
        ),
    ),
    streams(
        "tee of errors",
        "-t 2",
        [out("hello stdout from 1"), err(r"^\[default0\]:hello stderr from 0$")],
        is_default=False,
        differs=Differs(
            SOME,
            [
                ok,
                out(r"\[default1\]:hello stdout from 1"),
                err(r"^\[default0\]:hello stderr from 0$"),
            ],
        ),
    ),
    streams(
        "a map of redirections and one of tees",
        "-r 0:2,1:0 -t 0:1,1:2",
        [
            out(r"\[default0\]:hello stdout from 0"),
            out("hello stdout from 1"),
            err(r"^\[default1\]:hello stderr from 1$"),
            no_err("stderr from 0"),
        ],
        differs=Differs(
            SOME, [ok, out(r"\[default1\]:hello stdout from 1"), no_err("stderr from 0")]
        ),
    ),
    streams(
        "a role in the prefix", "--role=trainer -t 3", [out(r"\[trainer0\]:hello stdout from 0")]
    ),
    streams(
        "redirect and tee",
        "-r 3 -t 3",
        [out(r"\[default0\]:hello stdout from 0")],
        is_default=False,
    ),
    streams(
        "a template of the prefix",
        "--redirect=3 --tee=3",
        [out(r"\[rank0\]: hello stdout from 0"), out(r"\[rank1\]: hello stdout from 1")],
        environment={"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[rank${rank}]: "},
    ),
    streams(
        "a template with role and local rank",
        "--tee=3",
        [out(r"\[default0\]\[0/0\]:hello stdout from 0")],
        environment={
            "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[${role_name}${local_rank}][${rank}/${local_rank}]:"
        },
        is_default=False,
    ),
    streams(
        "only rank 1 on the console",
        "--local-ranks-filter=1",
        [no_out("from 0"), out("hello stdout from 1")],
    ),
    streams(
        "only rank 0, with tee",
        "--local-ranks-filter=0 -t 3",
        [out(r"\[default0\]:hello stdout from 0"), no_out("from 1")],
    ),
    streams(
        "a filter with blanks",
        "--local-ranks-filter=' 0 , 1 '",
        [out("hello stdout from 0"), out("hello stdout from 1")],
        is_default=False,
    ),
]

LINES = script("for i in range(1000):\n    print(i)\n")


def all_lines(run):
    """Each of four writers' thousand lines is there once, whole, in order."""
    for rank in range(4):
        mark = f"[writer{rank}]:"
        found = [line.removeprefix(mark) for line in run.out.splitlines() if line.startswith(mark)]
        if found != [str(i) for i in range(1000)]:
            return f"rank {rank} has {len(found)} lines"
    return None


def as_written(text):
    def check(run):
        return None if run.out == text else f"output is {run.out[:200]!r}"

    return check


TAILS = [
    Case(
        "a thousand lines of each of four",
        "--nproc-per-node=4 --role=writer --tee=3 w.py",
        [ok, all_lines],
        LINES,
        torchrun_may_fail=True,  # it stops reading its workers' files when they have ended
    ),
    Case(
        "bytes pass as they are",
        "w.py",
        [ok, as_written("a\tb\x1b[1m\n\n c\n")],
        script(r"sys.stdout.write('a\tb\x1b[1m\n\n c\n')"),
        is_default=False,
    ),
    Case(
        "the last line has no end",
        "w.py",
        [ok, as_written("done")],
        script("sys.stdout.write('done')"),
    ),
    Case(
        "a long line",
        "--tee=3 w.py",
        [ok, out(r"\[default0\]:x{300000}")],
        script("print('x' * 300000)"),
        is_default=False,
    ),
    Case(
        "a worker that closes its output",
        "w.py",
        [ok, file("0", "")],
        script("os.close(1)\nos.close(2)\nnote(RANK)"),
        is_default=False,
    ),
    Case(
        "a line of JSON",
        "w.py",
        [ok, lambda run: None if json.loads(run.out) == {"loss": 1} else run.out],
        script("print(json.dumps({'loss': 1}))"),
    ),
    Case(
        "output of a program",
        "--no-python /bin/sh -c 'echo out; echo err >&2'",
        [ok, out("out"), err("^err$")],
    ),
]


def left_behind(run):
    """Folders of logs in the folder for temporary files."""
    return [*run.folder.glob("torchelastic_*"), *run.folder.glob("muster*")]


FILES = [
    logged("no streams are files", "", [paths(), out("hello stdout from 0")]),
    logged(
        "output's files",
        "-r 1",
        [
            paths(RUN + r"attempt_0/[01]/stdout\.log", RUN + r"attempt_0/[01]/stdout\.log"),
            log_text(RUN + r"attempt_0/1/stdout\.log", "hello stdout from 1\n"),
        ],
    ),
    logged(
        "errors' files",
        "-r 2",
        [log_text(RUN + r"attempt_0/0/stderr\.log", "hello stderr from 0\n")],
        is_default=False,
    ),
    logged(
        "both files",
        "-r 3",
        [
            log_text(RUN + r"attempt_0/1/stderr\.log", "hello stderr from 1\n"),
            log_text(RUN + r"attempt_0/1/stdout\.log", "hello stdout from 1\n"),
        ],
    ),
    logged(
        "files of a tee have no prefix",
        "-t 3",
        [
            log_text(RUN + r"attempt_0/1/stdout\.log", "hello stdout from 1\n"),
            out(r"\[default1\]:hello stdout from 1"),
        ],
    ),
    logged(
        "files of one rank",
        "-r 0:3",
        [paths(RUN + r"attempt_0/0/stdout\.log", RUN + r"attempt_0/0/stderr\.log")],
        is_default=False,
    ),
    logged(
        "the run's name in the path",
        "--rdzv-id=job9 --master-addr=127.0.0.1 --master-port={port} -r 0:1",
        [paths(r"job9_[^/]+/attempt_0/0/stdout\.log")],
    ),
    logged(
        "a file of lines that hold a word",
        "--duplicate-stdout-filters=from -t 3",
        [
            log_text(
                RUN + r"attempt_0/filtered_stdout\.log",
                r".*\[default[01]\]:hello stdout from [01]\n.*",
            )
        ],
        is_default=False,
    ),
    Case(
        "an attempt has a folder",
        "--log-dir=logs -r 1 --max-restarts=1 w.py",
        [
            ok,
            log_text(RUN + r"attempt_0/0/stdout\.log", "try 0\n"),
            log_text(RUN + r"attempt_1/0/stdout\.log", "try 1\n"),
        ],
        script("print('try', ATTEMPT)\nsys.exit(0 if ATTEMPT == '1' else 1)"),
    ),
    Case(
        "the error file is in the rank's folder",
        "--log-dir=logs w.py",
        [ok, file("0", r"(.*/)?logs/[^/]+_[^/]+/attempt_0/0/error\.json")],
        script("note(RANK, E['TORCHELASTIC_ERROR_FILE'])"),
    ),
    Case(
        "a log folder that is no folder",
        "--log-dir=/dev/null w.py",
        [ok, file("0", "")],
        script("note(RANK)"),
    ),
    Case(
        "a log folder that must be made",
        "--log-dir=logs/a/b -r 3 w.py",
        [ok, file("0", "")],
        script("note(RANK)"),
        is_default=False,
    ),
    Case(
        "nothing is redirected into the null device",
        "--log-dir=/dev/null -r 3 -t 3 --local-ranks-filter=5 w.py",
        [ok, out("hello stdout from 0"), err("^hello stderr from 0$")],
        BOTH,
    ),
    Case(
        "the null device has no error file",
        "--log-dir=/dev/null w.py",
        [ok, file("0", "''")],
        script("note(RANK, repr(E['TORCHELASTIC_ERROR_FILE']))"),
        is_default=False,
    ),
    Case(
        "a log folder that cannot be made",
        "--log-dir=w.py/logs w.py",
        [refused],
        script("note(RANK)"),
    ),
    Case(
        "what stays without a log folder",
        "w.py",
        [ok, lambda run: None if left_behind(run) else "nothing is left"],
        script("note(RANK)"),
        {"TMPDIR": "{folder}"},
        differs=Differs(
            "what stays without `--log-dir`",
            [ok, lambda run: f"{left_behind(run)} are left" if left_behind(run) else None],
        ),
    ),
    Case(
        "a run id with a slash",
        "--master-addr=127.0.0.1 --master-port={port} --rdzv-id=team/7 --log-dir=logs -r 1 w.py",
        [fails],
        BOTH,
        differs=Differs(
            "a `/` in the run id", [ok, log_text(r"team_7_[^/]+/attempt_0/0/stdout\.log", "hello stdout from 0\n")]
        ),
    ),
    Case("the console is not in files", "-r 3 w.py", [ok, no_out(".")], BOTH, is_default=False),
]

CASES = [*CONSOLE, *TAILS, *FILES]
