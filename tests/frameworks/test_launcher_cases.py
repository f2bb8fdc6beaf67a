"""PyTorch's own launcher, agent and multiprocessing tests as command lines, under torchrun and under muster.

A case is alike, or differs by a row of docs/launcher-differences.md, or is not yet done: then it must fail still. Two
thirds of them run by default; with LAUNCHER_CASES=all (scripts/test --full --all-cases frameworks) all do.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import differences
import test_public_command_lines
from launcher_cases import CASES
from launcher_cases.case import unmet
from launcher_cases.launchers import Muster, Play, Torchrun

pytestmark = pytest.mark.framework
PAGE = differences.Section("torchrun")
AT_ONCE = 3
CHOSEN = [case for case in CASES if case.is_default or os.environ.get("LAUNCHER_CASES") == "all"]


class Played:
    """All chosen cases, each under both launchers: {(launcher, case): its Run}."""

    def __init__(self, launchers, path, scratch):
        self.runs = {}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = {
                (name, case.name): pool.submit(
                    Play(case, launcher, path, scratch / f"{number}-{name}").run
                )
                for number, case in enumerate(CHOSEN)
                for name, launcher in launchers.items()
            }
            self.runs = {key: future.result() for key, future in waiting.items()}

    def unmet(self, launcher, case, checks=None):
        return unmet(checks or case.checks, self.runs[launcher, case.name])

    def score(self, launcher):
        return sum(not self.unmet(launcher, case) for case in CHOSEN)


@pytest.fixture(scope="module")
def played(muster, torch_venv, tmp_path_factory):
    torchrun = Torchrun(torch_venv / "python3")
    try:
        launchers = {"torchrun": torchrun, "muster": Muster(muster)}
        yield Played(launchers, torch_venv, tmp_path_factory.mktemp("cases"))
    finally:
        torchrun.close()


@pytest.mark.parametrize("case", CHOSEN, ids=[case.name for case in CHOSEN])
def test_a_case(case, played):
    by_torchrun = played.unmet("torchrun", case)
    assert not by_torchrun or case.torchrun_may_fail, f"torchrun: {by_torchrun}"
    by_muster = played.unmet("muster", case)
    if case.not_yet:
        assert by_muster, f"{case.not_yet} is there: the case is listed as not yet done"
    elif case.differs:
        assert by_muster, f"muster does as torchrun: {case.differs.row}"
        assert not played.unmet("muster", case, case.differs.checks)
    else:
        assert not by_muster


def test_the_scores(played):
    """Muster does at least as many of them as torchrun, but for the differences that are meant."""
    scores = {name: played.score(name) for name in ("torchrun", "muster")}
    meant = sum(case.differs is not None for case in CHOSEN)
    missing = sum(bool(case.not_yet) for case in CHOSEN)
    sys.stdout.write(
        f"of {len(CHOSEN)} cases torchrun does {scores['torchrun']} and muster {scores['muster']}; "
        f"{meant} differ as the page says, {missing} are not yet done\n"
    )
    assert scores["muster"] + meant + missing >= scores["torchrun"]


def test_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)


def test_each_row_of_the_page_is_shown_by_a_case():
    shown = {case.differs.row for case in CASES if case.differs}
    shown |= set(test_public_command_lines.DIFFERENT.values())

    assert shown == set(differences.listed_behaviours(PAGE))


def test_two_thirds_of_the_cases_run_by_default():
    assert 3 * sum(case.is_default for case in CASES) >= 2 * len(CASES)
