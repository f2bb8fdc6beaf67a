"""Cases of how options are written: by the rules of Python's argparse, as PyTorch 2.13's torch/distributed/run.py uses it."""

from launcher_cases.case import Case, Differs, err, every, file, no_err, ok, ranks, refused
from launcher_cases.scripts import ARGUMENTS, TOUCH, environment


def spelled(name, options, checks, **more):
    return Case(name, f"{options} w.py", checks, more.pop("script", TOUCH), **more)


def rejected(name, options, **more):
    return spelled(name, options, [refused], **more)


SPELLINGS = [
    spelled(
        "underscores", "--nproc_per_node=2 --max_restarts 1 --monitor_interval 0.5", [ok, ranks(2)]
    ),
    spelled("a name's beginning", "--nnode=1 --nproc_per 2", [ok, ranks(2)]),
    spelled(
        "the beginning of a flag", "--stand --nproc-per-node 2", [ok, ranks(2)], is_default=False
    ),
    rejected("a beginning of two options", "--log x", is_default=False),
    rejected(
        "a beginning of both spellings",
        "--nproc=2",
        differs=Differs("the beginning of a name in both of its spellings", [ok, ranks(2)]),
    ),
    spelled("a leading zero", "--nproc-per-node=02", [ok, ranks(2)]),
    spelled("a sign", "--nproc-per-node=+2 --max-restarts=+1", [ok, ranks(2)], is_default=False),
    spelled("blanks around a number", "--nproc-per-node=' 2 '", [ok, ranks(2)]),
    spelled(
        "an underscore in a number",
        "--max-restarts=1_0",
        [ok, file("0", "10")],
        script=environment("TORCHELASTIC_MAX_RESTARTS"),
    ),
    spelled("the last one counts", "--nproc-per-node=3 --nproc-per-node=2", [ok, ranks(2)]),
    spelled(
        "a letter and its value", "-r0 -t 0 --nproc-per-node 2", [ok, ranks(2)], is_default=False
    ),
    spelled("a fraction of a second", "--monitor-interval=.25", [ok, ranks(1)], is_default=False),
    spelled("no signal to handle", "--signals-to-handle=", [ok, ranks(1)], is_default=False),
    spelled("forkserver", "--start-method=forkserver", [ok, ranks(1)], is_default=False),
    spelled("an event handler", "--event-log-handler=console", [ok, ranks(1)], is_default=False),
    rejected("an empty number", "--nproc-per-node="),
    rejected("a number that is none", "--max-restarts=many"),
    rejected("fewer than no restarts", "--max-restarts=-1"),
    rejected("an interval that is none", "--monitor-interval abc"),
    rejected("a start method that is none", "--start-method=thread", is_default=False),
    rejected("an unknown option", "--no-such-option"),
    rejected("an option without its value", "--nproc-per-node --standalone"),
    rejected("a switch with a value", "--standalone=1", is_default=False),
    rejected("a node rank that is none", "--node-rank=first", is_default=False),
    rejected("a port that is no number", "--master-port=http", is_default=False),
    rejected("a time for the end that is none", "--shutdown-timeout=soon", is_default=False),
    rejected("a binding that is none", "--numa-binding=everywhere", is_default=False),
    rejected("a filter of ranks that are none", "--local-ranks-filter=a"),
    rejected("a stream that is none", "--redirects=4"),
    rejected("a stream that is a word", "--tee=both", is_default=False),
    rejected(
        "a map with a stream that is none",
        "--nproc-per-node=2 --redirects=0:1,1:5",
        is_default=False,
    ),
]

SCRIPTS = [
    spelled(
        "two dashes before the script",
        "--nproc-per-node=2 --",
        [ok, every(r"\[\]")],
        script=ARGUMENTS,
    ),
    Case(
        "options behind the script",
        "--nproc-per-node=1 w.py --nnodes 9 --master_port 5 -m -t",
        [ok, file("0", r'\["--nnodes", "9", "--master_port", "5", "-m", "-t"\]')],
        ARGUMENTS,
    ),
    Case(
        "two dashes behind the script",
        "w.py -- --x",
        [ok, file("0", r'\["--x"\]')],
        ARGUMENTS,
        is_default=False,
    ),
    Case(
        "later dashes are the script's",
        "w.py a -- b",
        [ok, file("0", r'\["a", "--", "b"\]')],
        ARGUMENTS,
    ),
    Case(
        "a script's option that begins two of ours",
        "w.py --d 3",
        [refused],
        ARGUMENTS,
        differs=Differs(
            "a script's own option that is the beginning of two of torchrun's",
            [ok, file("0", r'\["--d", "3"\]')],
        ),
    ),
    Case(
        "the local rank in arguments",
        "--nproc-per-node=2 w.py '--at=${local_rank}' '${rank}'",
        [ok, file("1", r'\["--at=1", "\$\{rank\}"\]')],
        ARGUMENTS,
    ),
    Case(
        "arguments with blanks, quotes and nothing",
        "w.py 'a b' '' '\"q\"' '*' '$HOME'",
        [ok, file("0", r'\["a b", "", "\\"q\\"", "\*", "\$HOME"\]')],
        ARGUMENTS,
    ),
    Case(
        "arguments in braces",
        "w.py '{}' '{rank}' '{0}'",
        [ok, file("0", r'\["\{\}", "\{rank\}", "\{0\}"\]')],
        ARGUMENTS,
    ),
]

SIGNAL_NAMES = [
    spelled(
        "a signal that nobody knows",
        "--signals-to-handle=SIGTERM,INVALID_SIGNAL",
        [ok, ranks(1), err("INVALID_SIGNAL")],
    ),
    spelled(
        "no signal that anybody knows",
        "--signals-to-handle=INVALID_SIGNAL",
        [ok, ranks(1), err("INVALID_SIGNAL")],
        is_default=False,
    ),
    spelled(
        "signals that all know",
        "--signals-to-handle=SIGTERM,SIGUSR1,SIGUSR2",
        [ok, no_err("[Ff]ailed|ignoring")],
        is_default=False,
    ),
    spelled(
        "workers know the signals",
        "--signals-to-handle=SIGTERM,SIGUSR1",
        [ok, file("0", "SIGTERM,SIGUSR1")],
        script=environment("TORCHELASTIC_SIGNALS_TO_HANDLE"),
    ),
    spelled(
        "workers know the usual signals",
        "",
        [ok, file("0", "SIGTERM,SIGINT,SIGHUP,SIGQUIT")],
        script=environment("TORCHELASTIC_SIGNALS_TO_HANDLE"),
        is_default=False,
    ),
]

CASES = [*SPELLINGS, *SCRIPTS, *SIGNAL_NAMES]
