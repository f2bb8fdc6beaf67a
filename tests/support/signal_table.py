"""The table of docs/processes.md that says who of a worker gets which signal, made of real processes.

With UPDATE_SIGNAL_TABLE=1 the rows that a test makes are written into the page: scripts/dev/update-signal-table.
"""

import os
import re
import signal
import sys
import time
from pathlib import Path

from . import processes
from .deadlines import wait_until
from .muster import ROOT

PAGE = ROOT / "docs" / "processes.md"
UPDATES = bool(os.environ.get("UPDATE_SIGNAL_TABLE"))
REQUESTS = ("TERM", "HUP", "INT")
TO_THE_GROUP = ("WINCH", "TSTP", "CONT")
# What is done to a job, by the columns of the table.
COLUMNS = (REQUESTS, ("another rank fails",), ("USR1", "USR2"), ("notice by USR1", "notice by TERM"), TO_THE_GROUP)

# Notes each signal, and what the test was doing then. Asked to end, it saves, which takes until a file is there. With the name of a helper
# it has one, as a trainer has data loaders, and fails if that ends first.
NOTE = r"""
import os, signal, subprocess, sys, time
folder, name, *helper = sys.argv[1:]
file = os.open(folder + "/notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
asked = []
def note(*words):
    with open(folder + "/../phase") as phase:
        os.write(file, f"{name} {' '.join(words)} {phase.read()}\n".encode())
def on_signal(number, frame):
    note("got", signal.Signals(number).name[3:])
    asked.extend([number] if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT) else [])
for one in "TERM HUP INT USR1 USR2 WINCH TSTP CONT".split():
    signal.signal(getattr(signal, "SIG" + one), on_signal)
child = subprocess.Popen([sys.executable, "-S", __file__, folder, *helper]) if helper else None
note("is", str(os.getpid()))
while not asked or not os.path.exists(folder + "/../go"):
    time.sleep(0.005)
    if child and child.poll() is not None:
        sys.exit("a helper ended before its program")
if child:
    child.kill()
"""
# Runners that are no programs of Debian; they start the rest of their command line.
RUNNERS = {
    "waits": "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()",
    "passes-term-on": """
import signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
child.wait()
""",
    "signals-its-group": """
import os, signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
def pass_on(number, _):
    signal.signal(number, signal.SIG_IGN)
    os.killpg(0, number)
    signal.signal(number, pass_on)
for name in ("TERM", "HUP", "INT", "USR1", "USR2"):
    signal.signal(getattr(signal, "SIG" + name), pass_on)
child.wait()
""",
}


class Rank:
    """One worker of a job in which each is of another kind."""

    def __init__(self, row, command, count, folder):
        self.row = row
        self.command = command.replace("FOLDER", str(folder))
        self.count = count  # of processes that note
        self.folder = folder
        folder.mkdir()
        self.others = {}  # {pid: name} of those that note nothing

    def notes(self):
        """[[name, "is" or "got", pid or signal, what the test was doing]...]"""
        file = self.folder / "notes"
        return [line.split(maxsplit=3) for line in file.read_text().splitlines()] if file.exists() else []

    def pids(self):
        return [int(pid) for _, what, pid, _ in self.notes() if what == "is"]

    def got(self, phase):
        """{name: how often} of what notes."""
        wanted = "TERM" if phase == "another rank fails" else phase.split()[-1]
        got = [name for name, what, one, when in self.notes() if (what, one) == ("got", wanted) and (when == phase or one == "TSTP")]
        return {name: 1 if phase in TO_THE_GROUP else got.count(name) for name in got}

    def ended(self):
        """{name: 1} of what notes nothing, and is gone."""
        return {name: 1 for pid, name in self.others.items() if not processes.is_alive(pid)}

    def has_pending(self):
        return any(_has_pending(pid) for pid in (*self.others, *self.pids()))


def _has_pending(pid):
    """True if the process is yet to act on a signal that it has got."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return processes.is_alive(pid) and any(int(one, 16) for one in re.findall(r"^S\w+Pnd:\s*(\w+)", status, re.MULTILINE))


def text_of(got):
    """What the table says of one signal."""
    names = sorted(got, key=lambda name: (name in ("train", "other", "helper"), name == "helper", name == "other"))
    return ", ".join(name if got[name] == 1 else f"{name} {got[name]} times" for name in names) or "nobody"


class Table:
    """The rows that one test makes."""

    def __init__(self, muster, folder, kinds, noting=0):
        """`kinds`: {row: command}, in which "train" stands for a program with a helper, "other" for one without, and "log" for a file.
        `noting`: processes of each that note signals besides these."""
        self.muster = muster
        self.folder = folder
        self.kinds = kinds
        self.noting = noting
        self.made = {row: {} for row in kinds}
        self.of_page = {row[0]: row[1:] for row in rows_of_page()}
        (folder / "note.py").write_text(NOTE)
        note = f"{sys.executable} -S {folder}/note.py FOLDER"
        self.words = {"train": f"{note} train helper", "other": f"{note} other", "log": "FOLDER/log"}
        for name, text in RUNNERS.items():
            (folder / f"{name}.py").write_text(text)
            self.words[name] = f"{sys.executable} -S {folder}/{name}.py"

    def look_at_all(self, goes_on, ends):
        """Does everything to ranks that go on at a signal which informs, and to those that end by it."""
        self.look([*goes_on, *ends], *TO_THE_GROUP, "TERM")
        for phase in (*REQUESTS[1:], "another rank fails"):
            self.look([*goes_on, *ends], phase)
        self.look(goes_on, "USR1", "USR2", "notice by USR1", options=["--tell-workers-by=USR1"])
        self.look(goes_on, "notice by TERM", options=["--tell-workers-by=TERM"])
        for phase in ("USR1", "USR2", "notice by USR1", "notice by TERM") if ends else ():
            self.look(ends, phase, options=[f"--tell-workers-by={phase[-4:]}"])

    def look(self, rows, *phases, options=()):
        """Starts one job with a rank for each of these rows, does one thing to it after the other, and ends it."""
        home = self.folder / f"{len(list(self.folder.iterdir()))}"
        home.mkdir()
        _now_comes(home, "start")
        ranks = [self._rank(row, home / str(number)) for number, row in enumerate(rows)]
        cases = [f"{number}) exec {rank.command} ;;" for number, rank in enumerate(ranks)]
        fails = f"*) trap '' USR1 USR2; until [ -e {home}/fail ]; do sleep 0.02; done; exit 7 ;;"
        job = self.muster.start(
            f"--nproc-per-node={len(ranks) + 1}", *options, "--", "sh", "-c", "\n".join(["case $RANK in", *cases, fails, "esac"])
        )
        wait_until(lambda: self._are_ready(job, ranks), "all programs")
        self._find_others(ranks)
        ended = {}
        for phase in phases:
            _now_comes(home, phase)
            self._act(job, phase, home)
            self._wait_for_effect(ranks, phase)
            ended[phase] = [{} if phase in TO_THE_GROUP else rank.ended() for rank in ranks]
        _now_comes(home, "end")
        (home / "go").touch()
        job.signal(signal.SIGTERM)
        job.end()
        for phase in phases:
            for rank, gone in zip(ranks, ended[phase], strict=True):
                self.made[rank.row][phase] = self._seen(rank.row, phase, text_of(rank.got(phase) | gone))

    def _seen(self, row, phase, text):
        """What was noted. A process that gets no CPU in the 100 ms between TSTP and STOP notes no TSTP: CONT discards one that is
        pending (signal(7)). So fewer may have noted that than the page says, and nobody else."""
        said = self.said_of(row, phase)
        is_less = text == "nobody" or set(text.split(", ")) < set(said.split(", "))
        return said if phase == "TSTP" and is_less and not UPDATES else text

    @staticmethod
    def _are_ready(job, ranks):
        assert "failed" not in job.err.text, job.err.text
        return all(len(rank.pids()) == rank.count for rank in ranks)

    def _rank(self, row, folder):
        kind = self.kinds[row]
        command = re.sub(r"[\w-]+", lambda word: self.words.get(word[0], word[0]), kind)
        count = self.noting + 2 * len(re.findall(r"\btrain\b", kind)) + len(re.findall(r"\bother\b", kind))
        return Rank(row, command, count, folder)

    def _find_others(self, ranks):
        for process in processes.belonging_to(self.muster.tag):
            number = processes.environment_of(process.pid).get("RANK", "")
            if number.isdigit() and int(number) < len(ranks) and process.pid not in ranks[int(number)].pids():
                ranks[int(number)].others[process.pid] = "runner" if process.name.startswith("python") else process.name

    def _act(self, job, phase, home):
        if phase == "another rank fails":
            (home / "fail").touch()
        elif phase.startswith("notice"):
            asked = self.muster.run("suspend", f"--job={job.guard()}")
            assert asked.code == 0, asked.words()
        else:
            job.signal(getattr(signal, f"SIG{phase}"))
        if phase == "TSTP":  # programs that are stopped too soon note it when they go on
            wait_until(lambda: processes.look_at(job.guard()).state == "T", "muster to stop")

    def _wait_for_effect(self, ranks, phase):
        """Returns when each has got what the page says. What comes beyond it is noted, too."""

        def now():
            return [text_of(rank.got(phase) | ({} if phase in TO_THE_GROUP else rank.ended())) for rank in ranks]

        if UPDATES:
            seen = None
            while seen != (seen := now()):
                time.sleep(1)
        elif phase != "TSTP":
            said = [self.said_of(rank.row, phase) for rank in ranks]
            wait_until(
                lambda: now() == said and not any(rank.has_pending() for rank in ranks),
                lambda: f"{phase}:\n" + "\n".join(map(str, zip([rank.row for rank in ranks], said, now(), strict=True))),
            )

    def said_of(self, row, phase):
        """The page's words for one signal."""
        (cell,) = [cell for column, cell in zip(COLUMNS, self.of_page.get(row, [""] * len(COLUMNS)), strict=True) if phase in column]
        named = [part.split(": ") for part in cell.split("; ") if ": " in part]
        return next((text for names, text in named if phase.split()[-1] in names.split(", ")), cell)

    def compare(self):
        """With the page, or writes it."""
        made = {row: [_cell(by_phase, column) for column in COLUMNS] for row, by_phase in self.made.items()}
        if UPDATES:
            write_rows(made)
        else:
            others = {row: (self.of_page.get(row), cells) for row, cells in made.items() if self.of_page.get(row) != cells}
            assert not others, f"row: (on the page, made): {others}"


def _now_comes(home, phase):
    """Tells all that note; the file is whole at any time."""
    (home / "next").write_text(phase)
    (home / "next").rename(home / "phase")


def _cell(by_phase, column):
    names = {}  # {text: signals of which it is true}
    for phase in column:
        names.setdefault(by_phase[phase], []).append(phase.split()[-1])
    return next(iter(names)) if len(names) == 1 else "; ".join(f"{', '.join(of)}: {text}" for text, of in names.items())


def _lines_of_table(text):
    """Where the rows of the table are among the lines of the page."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| Worker |")) + 2
    last = next(number for number in range(first, len(lines) + 1) if number == len(lines) or not lines[number].startswith("|"))
    return lines, first, last


def rows_of_page():
    lines, first, last = _lines_of_table(PAGE.read_text())
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines[first:last]]


def write_rows(made):
    """Replaces the rows that are there by name, and adds the others."""
    lines, first, last = _lines_of_table(PAGE.read_text())
    rows = {row[0]: row[1:] for row in rows_of_page()} | made
    lines[first:last] = ["| " + " | ".join(cell.replace("|", "\\|") for cell in (name, *cells)) + " |" for name, cells in rows.items()]
    PAGE.write_text("\n".join(lines) + "\n")
