"""Random schedules: jobs that something happens to, and what they may come to.

`draw` makes a schedule of a seed, `course` carries it out with the real program, `oracle` judges what was seen.
A schedule's command line is `python3 -m schedules --seed N`, with tests/ in PYTHONPATH.
"""
