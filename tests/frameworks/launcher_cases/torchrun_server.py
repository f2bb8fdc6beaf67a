"""Runs torchrun many times and imports torch once: run by a Python that has torch.

Each line of standard input is a command as JSON: {module, argv, environment, cwd, out, err}. It is run by a fork of
this process in a session of its own, and is torchrun from there: its main function, in the main thread. A line of
standard output tells each start, {"started": pid}, in the order of the commands, and each end, {"ended": pid, "code": code}.
"""

import json
import os
import signal
import sys

from torch.distributed import launch, run

MAINS = {
    "torchrun": run.main,
    "torch.distributed.run": run.main,
    "torch.distributed.launch": launch.main,
}


def tell(**what):
    os.write(sys.__stdout__.fileno(), (json.dumps(what) + "\n").encode())


def reap(*_):
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            tell(ended=pid, code=os.waitstatus_to_exitcode(status))
    except ChildProcessError:
        return


def become(command):
    """This process is torchrun from here on; what it raises ends it as Python's main program."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(command["cwd"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(command[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.argv = ["torchrun", *command["argv"]]
    sys.exit(MAINS[command["module"]]())


def main():
    signal.signal(signal.SIGCHLD, reap)
    while line := sys.stdin.readline():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            become(json.loads(line))
        tell(started=pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


main()
