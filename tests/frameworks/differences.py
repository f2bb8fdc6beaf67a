"""Reads the pages that list in which variables a worker under muster differs, as expectations of the tests."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class Section:
    """The section of one launcher on the page of differences, read as if it were a page."""

    def __init__(self, launcher):
        self.launcher = launcher

    def __str__(self):
        return f"docs/launcher-differences.md, {self.launcher},"

    def read_text(self):
        text = (REPOSITORY / "docs" / "launcher-differences.md").read_text()
        section = text.partition(f"\n## {self.launcher}\n")[2].partition("\n## ")[0]
        return section.replace("\n### ", "\n## ")


def listed_differences(page):
    """Variable -> (the other launcher's cell, muster's cell), from the table of a page."""
    rows = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"\| `[A-Z_]+`", line) and len(cells) == 4:
            for name in cells[0].split(", "):  # a row may be of several
                rows[name.strip("`")] = (cells[1], cells[2])
    assert rows, f"{page} has no table"
    return rows


def listed_behaviours(page):
    """The names of the rows of the table under "Behaviour", as they stand in its first column."""
    section = page.read_text().partition("\n## Behaviour\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    names = [cells[0].strip() for cells in rows[1:]]  # the first is the heading
    assert names, f"{page} has no table of behaviours"
    return names


def fits(cell, value):
    """True if a value (None: not set) is what a cell of the table says."""
    if cell == "not set":
        return value is None
    exact = re.fullmatch(r"`([^`]*)`", cell)
    return value == exact[1] if exact else True


def between(theirs, ours):
    """{(process, variable): (their value, our value)} for all that differ; None is not set."""
    assert sorted(theirs) == sorted(ours), "not the same processes"
    return {
        (process, name): (environment.get(name), ours[process].get(name))
        for process, environment in theirs.items()
        for name in sorted(environment.keys() | ours[process].keys())
        if environment.get(name) != ours[process].get(name)
    }


def surprises(page, launcher, jobs):
    """The differences in {job: differences} that are not on the page, a line each."""
    listed = listed_differences(page)
    return [
        f"{job}: {process}: {name} is {theirs!r} under {launcher} and {ours!r} under muster"
        for job, differences in jobs.items()
        for (process, name), (theirs, ours) in differences.items()
        if name not in listed or not (fits(listed[name][0], theirs) and fits(listed[name][1], ours))
    ]


def not_occurring(page, jobs):
    """Variables of the page in which nothing differs."""
    occurring = {name for differences in jobs.values() for _, name in differences}
    return sorted(listed_differences(page).keys() - occurring)
