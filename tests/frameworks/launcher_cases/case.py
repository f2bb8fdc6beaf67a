"""A case: command lines, the environment they are run with, and the checks of their outcome.

A check is a function of a Run that returns None, or what it saw instead.
"""

import re
from typing import Callable, NamedTuple, Sequence


class Run(NamedTuple):
    """The outcome of a case under one launcher."""

    codes: list  # of its agents; None: it had to be killed
    outs: list
    errs: list
    folder: object  # pathlib.Path: where the agents were started
    seconds: float
    survivors: list  # command lines of processes that were still there

    @property
    def out(self):
        return "".join(self.outs)

    @property
    def err(self):
        return "".join(self.errs)

    def texts(self):
        """File below out/ -> its text."""
        return {file.name: file.read_text() for file in sorted((self.folder / "out").iterdir())}


class Differs(NamedTuple):
    """Intended: the row of the page that says why, and what muster does instead."""

    row: str
    checks: Sequence[Callable]


class Case(NamedTuple):
    name: str
    line: object  # the options and the script, or one such line for each agent
    checks: Sequence[Callable]  # what torchrun's own tests ask for
    script: str = ""  # the text of w.py
    environment: dict = {}
    launcher: str = "torchrun"
    steps: Sequence[
        tuple
    ] = ()  # ("wait", file below out/), ("signal", name, agent) or ("start", line of one more agent), while it runs
    is_default: bool = True  # runs in CI
    differs: Differs | None = None
    not_yet: str = ""  # what muster lacks so far
    deadline: float = 90.0  # seconds, on two slow cores that others use too
    torchrun_may_fail: bool = False  # a race of its own decides whether it does what its tests ask for

    def lines(self):
        return [self.line] if isinstance(self.line, str) else list(self.line)


def unmet(checks, run):
    """The findings of checks that are not met."""
    found = [check(run) for check in checks]
    return [text for text in found if text is not None]


def ok(run):
    """All agents end with 0, nobody had to be killed, and nothing is left."""
    if any(code != 0 for code in run.codes) or run.survivors:
        return f"codes {run.codes}, left {run.survivors}: {run.err[-600:]}"
    return None


def fails(run):
    """No agent ends with 0, or hangs, and nothing is left."""
    if any(code in (0, None) for code in run.codes) or run.survivors:
        return f"codes {run.codes}, left {run.survivors}"
    return None


def code(*expected):
    def check(run):
        return None if run.codes == list(expected) else f"codes {run.codes}: {run.err[-600:]}"

    return check


def refused(run):
    """Ends with an error before any worker began; scripts write to out/ when they begin."""
    return fails(run) or (f"workers began: {run.texts()}" if run.texts() else None)


def ranks(count):
    """out/ has a file for each rank and no other."""

    def check(run):
        expected = {str(rank) for rank in range(count)}
        return None if run.texts().keys() == expected else f"files {sorted(run.texts())}"

    return check


def file(name, text):
    """out/NAME matches a pattern as a whole."""

    def check(run):
        found = run.texts().get(name)
        fits = found is not None and re.fullmatch(text, found.strip(), re.DOTALL)
        return None if fits else f"out/{name} is {found!r}: {run.err[-400:]}"

    return check


def no_file(name):
    def check(run):
        return f"out/{name} is there" if name in run.texts() else None

    return check


def every(text):
    """Each file below out/ matches, and there is one."""

    def check(run):
        texts = run.texts()
        wrong = {n: t for n, t in texts.items() if not re.fullmatch(text, t.strip(), re.DOTALL)}
        return None if texts and not wrong else f"out/ has {wrong or texts}: {run.err[-400:]}"

    return check


def out(pattern):
    """A line of some agent's standard output matches from its beginning to its end."""

    def check(run):
        found = re.search(f"^{pattern}$", run.out, re.MULTILINE)
        return None if found else f"output {run.out[-600:]!r}"

    return check


def no_out(pattern):
    def check(run):
        found = re.search(pattern, run.out, re.MULTILINE)
        return f"output has {found[0]!r}" if found else None

    return check


def err(pattern):
    """Somewhere in standard error."""

    def check(run):
        found = re.search(pattern, run.err, re.MULTILINE)
        return None if found else f"standard error {run.err[-900:]!r}"

    return check


def no_err(pattern):
    def check(run):
        found = re.search(pattern, run.err, re.MULTILINE)
        return f"standard error has {found[0]!r}" if found else None

    return check


def paths(*patterns):
    """Below logs/ are exactly such files: {id} is the random part of a run's folder."""

    def check(run):
        found = sorted(
            str(p.relative_to(run.folder / "logs"))
            for p in (run.folder / "logs").rglob("*")
            if p.is_file()
        )
        wanted = [re.compile(p) for p in patterns]
        fits = len(found) == len(wanted) and all(
            any(w.fullmatch(name) for name in found) for w in wanted
        )
        return None if fits else f"logs/ has {found}"

    return check


def log_text(pattern, text):
    """The one file below logs/ whose path matches has a text that matches as a whole."""

    def check(run):
        found = [
            p
            for p in (run.folder / "logs").rglob("*")
            if p.is_file() and re.fullmatch(pattern, str(p.relative_to(run.folder / "logs")))
        ]
        if len(found) != 1:
            return f"{len(found)} files match {pattern}"
        content = found[0].read_text()
        return None if re.fullmatch(text, content, re.DOTALL) else f"{found[0].name}: {content!r}"

    return check


def within(seconds):
    def check(run):
        return None if run.seconds < seconds else f"it took {run.seconds:.1f} s"

    return check
