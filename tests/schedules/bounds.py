"""Upper bounds of a job's duration by its options, whatever faults occur.

On an idle machine: a busy one is allowed for where it is waited.
"""

_START = 3.0
# Times of muster without an option: killing unkillable processes, the last bytes of files that hang.
_KILLING = 1.0
_LAST_WORDS = 2.0


def after_being_asked(schedule):
    """From a signal that asks for the end to the end: grace + 2 s are promised on one node."""
    return schedule.grace + _LAST_WORDS + _until_others_are_missed(schedule)


def _until_others_are_missed(schedule):
    """The leader waits for what the others say of their workers, and misses a silent one after a time-out."""
    return 0.0 if schedule.agents == 1 else schedule.heartbeat + _KILLING


def until_something_happens(schedule):
    """From the last fault and the last that any worker did, to the end or to what a worker does next."""
    attempts = range(schedule.restarts + 1)
    ends = schedule.grace + _KILLING + 2 * schedule.stall + _LAST_WORDS
    return _START + max(map(schedule.lasts_at_most, attempts)) + ends + _without_others(schedule)


def _without_others(schedule):
    """Silence, the fence, and the wait for who may come back."""
    if schedule.agents == 1:
        return 0.0
    return schedule.heartbeat + schedule.fence + schedule.gang_timeout
