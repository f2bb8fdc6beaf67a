"""Random schedules: jobs with injected faults, and the outcomes that they may have.

`draw` makes a schedule of a seed, `course` carries it out with the real program, `oracle` judges what was seen.
A schedule's command line is `python3 -m schedules --seed N`, with tests/ in PYTHONPATH.
"""
