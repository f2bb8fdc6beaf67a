"""The number of repetitions in a test: a tenth by default, all of them with SOAK=1 in the environment."""

import os


def soaking():
    return os.environ.get("SOAK", "") not in ("", "0")


def default_or_soak(default, soak):
    return soak if soaking() else default
