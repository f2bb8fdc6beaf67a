"""Waits for a condition with a deadline, which only bounds a hang: a test does not depend on the speed of the machine.

What the product promises in seconds is noted when it takes longer, and judged only where STRICT_TIME is set (scripts/dev/soak, on a quiet
machine): there it fails the test.
"""

import json
import os
import time

from . import lag

HANG = 120.0  # seconds after which something is taken to hang, on the slowest machine
STRICT = bool(os.environ.get("STRICT_TIME"))


class Missed(AssertionError):
    """Something that a test waited for did not happen in time."""


def limit_of(promised):
    """The seconds to wait for what is promised within `promised` seconds."""
    return promised if STRICT else max(promised, HANG)


def promise(what, promised, seconds):
    """States that `what` took `seconds`, and that it should take `promised` at most."""
    if seconds <= promised:
        return
    late = {
        "test": os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0],
        "what": str(what)[:200],
        "promised": promised,
        "seconds": round(seconds, 3),
        "lag": round(lag.worst_since(time.monotonic() - seconds), 3),
    }
    if os.environ.get("LATE_FILE"):
        with open(os.environ["LATE_FILE"], "a", encoding="utf-8") as file:
            file.write(json.dumps(late) + "\n")
    if STRICT:
        raise Missed(f"{what} took {seconds:.3f} s and is promised within {promised:g} s; {late}")


def wait_until(happened, what, seconds=HANG):
    """Returns the first true value of `happened()`. `what` may be a function of no arguments. `seconds` is what is promised."""
    began = looked = time.monotonic()
    pause = 0.002
    while True:
        value = happened()
        took = looked - began  # a look itself may take long, such as one through all of /proc
        if value:
            promise("waiting" if callable(what) else what, seconds, took)
            return value
        if took > limit_of(seconds):
            raise Missed(f"waited {took:.3g} s for {what() if callable(what) else what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
        looked = time.monotonic()
