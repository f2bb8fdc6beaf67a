"""Failed tests run once more, alone. One that fails twice is red; one that passes then is unstable, and kept
in the ledger tests/unstable.tsv until the commit that mends it takes its line out."""

import datetime
import os
import pathlib
import re

from suites import ROOT, run_command

LEDGER = ROOT / "tests" / "unstable.tsv"
MOST_AGAIN = 10  # failures of one run that may be chance; where there are more, it is the commit
MOST_IN_A_RUN = 3
MOST_TIMES = 3  # that the ledger may see one test


def read_ledger(path=LEDGER):
    """{test: [first seen, times, commit, what was seen]}"""
    if not path.exists():
        return {}
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")
        if line.startswith("#") or not line.strip():
            continue
        if len(cells) != 5 or not cells[2].isdigit() or cells[0] in rows:
            raise ValueError(f"{path} has the line '{line}', expected a test, a date, how often, a commit, what was seen; each test once")
        rows[cells[0]] = cells[1:]
    return rows


def write_ledger(rows, path=LEDGER):
    head = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")] if path.exists() else []
    lines = ["\t".join([test, *row]) for test, row in sorted(rows.items())]
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


def note(test, seen, commit, path=LEDGER):
    """Counts the test up in the ledger. Returns how often it has been seen."""
    rows = read_ledger(path)
    today = datetime.date.today().isoformat()
    first, times = rows[test][:2] if test in rows else (today, "0")
    rows[test] = [first, str(int(times) + 1), commit, seen.replace("\t", " ")[:120]]
    write_ledger(rows, path)
    return int(times) + 1


def machine(lag_file):
    """The state of the machine, to judge an unstable test by."""
    parts = {"load": "/proc/loadavg", "pressure of the cores": "/proc/pressure/cpu", "lag": lag_file}
    texts = []
    for name, path in parts.items():
        try:
            texts.append(f"== {name}\n{pathlib.Path(path).read_text(encoding='utf-8')[-4000:]}")
        except OSError:
            continue
    return "\n".join(texts)


def first_complaint(log, test):
    """The line of the log that says what was wrong, for the ledger."""
    text = log.read_text(encoding="utf-8", errors="replace")
    name = test.rpartition("::")[2]
    found = re.search(rf"^(?:FAILED|ERROR) \S*{re.escape(name)}\S* - (.*)$", text, re.MULTILINE)
    return found.group(1) if found else "see its output"


def run_again(outcomes, folder, env, commit, ledger=LEDGER):
    """Runs each failed test once more. Returns (red, unstable): ids, with what is to be said of each."""
    failed = [(one, test) for one in outcomes for test in one.failed]
    red = [f"{one.suite.name}: {one.broken}; see {one.log}" for one in outcomes if one.broken]
    if len(failed) > MOST_AGAIN:
        return [*red, *(test for _, test in failed)], []
    unstable = []
    for outcome, test in failed:
        place = folder / "unstable" / re.sub(r"[^\w.\[\]-]+", "_", test)[:150]
        place.mkdir(parents=True, exist_ok=True)
        (place / "first.txt").write_bytes(outcome.log.read_bytes())
        (place / "machine.txt").write_text(machine(env.get("LAG_FILE", os.devnull)), encoding="utf-8")
        status = run_command(
            outcome.suite.again(test, place), place / "again.txt", {**env, **outcome.suite.environment(place)}, outcome.suite.limit
        )
        again = outcome.suite.outcome(status, place)
        if status != 0 or again.failed or again.broken:
            red.append(f"{test}: failed twice; see {outcome.log} and {place / 'again.txt'}")
            continue
        try:
            times = note(test, first_complaint(outcome.log, test), commit, ledger)
        except ValueError as error:
            red.append(f"{test}: unstable, and cannot be noted: {error}")
            continue
        unstable.append(f"{test}: seen {times} times; see {place}")
        if times >= MOST_TIMES:
            red.append(f"{test}: unstable for the {times}. time; mend it")
    if len(unstable) > MOST_IN_A_RUN:
        red.append(f"{len(unstable)} unstable tests in one run, and more than {MOST_IN_A_RUN} are no chance")
    return red, unstable
