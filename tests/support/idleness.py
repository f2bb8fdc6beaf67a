"""Finds what wakes a process up without any input, as the kernel shows it: its timers, and the timeout of its wait."""

import math
import os
import re
from pathlib import Path

from .deadlines import wait_until
from .processes import context_switches_of

# By the number of the call, which of its arguments is its limit in milliseconds: poll, epoll_wait, epoll_pwait. That of ppoll is
# a pointer, and none where there is no limit.
_WAITS = {"x86_64": {7: 2, 232: 3, 281: 3}, "aarch64": {22: 3}}[os.uname().machine]
_PPOLL, _LIMIT_OF_PPOLL = {"x86_64": 271, "aarch64": 73}[os.uname().machine], 2
# Asio has one that ends after five minutes, and is set again, even where nothing waits for it.
ENDLESS = 60.0
_TIME_LEFT = re.compile(r"^it_value: \((\d+), (\d+)\)$", re.MULTILINE)


def sleeps_for(pid):
    """The seconds after which it wakes up by itself: 0 where it does something, and infinitely many where only others wake it."""
    try:
        return min(_limits_of_waits(pid) + _timers(pid))
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _limits_of_waits(pid):
    return [_limit_of_wait(file.read_text().split()) for file in Path(f"/proc/{pid}/task").glob("*/syscall")]


def _limit_of_wait(words):
    if not words or not words[0].isdigit():  # it runs
        return 0.0
    call, arguments = int(words[0]), [int(word, 16) for word in words[1:]]
    if call == _PPOLL:
        return 0.0 if arguments[_LIMIT_OF_PPOLL] else math.inf
    if call not in _WAITS:
        return 0.0
    limit = arguments[_WAITS[call]] & 0xFFFFFFFF
    return math.inf if limit >> 31 else limit / 1000


def _timers(pid):
    """The time that is left of each that runs."""
    infos = (file.read_text() for file in Path(f"/proc/{pid}/fdinfo").iterdir())
    times = (int(whole) + int(part) / 1e9 for info in infos for whole, part in _TIME_LEFT.findall(info))
    return [time for time in times if time > 0]


def wait_until_asleep(*pids, least=ENDLESS):
    """Until nothing wakes any of them for so many seconds, unless somebody else does."""

    def all_sleep():
        before = [context_switches_of(pid) for pid in pids]
        for _ in range(2):  # two looks with nothing in between hold for one moment
            if not all(sleeps_for(pid) >= least for pid in pids):
                return False
        return [context_switches_of(pid) for pid in pids] == before

    wait_until(all_sleep, lambda: f"processes to sleep; they wake up after { {pid: sleeps_for(pid) for pid in pids} } s")
