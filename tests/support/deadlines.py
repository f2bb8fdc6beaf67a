"""Waiting for something to become true. Every wait has a deadline, and says what was missing."""

import time

LONG = 10.0  # seconds: far more than anything here takes, even with both cores busy


class Missed(AssertionError):
    """Something that a test waited for did not happen in time."""


def wait_until(happened, what, seconds=LONG):
    """Returns the first true value of `happened()`. `what` may be a function of no arguments."""
    deadline = time.monotonic() + seconds
    while True:
        value = happened()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Missed(f"waited {seconds:g} s for {what() if callable(what) else what}")
        time.sleep(0.002)
