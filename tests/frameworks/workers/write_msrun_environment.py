"""Writes what a process of msrun was given as JSON into <folder>/<role>-<its number on the node>.json.

The environment is as the process found it: nothing of MindSpore is imported.
"""

import json
import os
import pathlib
import sys

folder, *arguments = sys.argv[1:]
environment = dict(os.environ)
role = environment.get("MS_ROLE", "simulated").removeprefix("MS_").lower()
place = environment.get("DEVICE_ID", "") if role != "sched" else ""
found = {
    **environment,
    "(cores)": str(sorted(os.sched_getaffinity(0))),
    "(arguments)": str(arguments),
    "(folder)": os.getcwd(),
}
name = "-".join(part for part in (os.uname().nodename[-2:], role, place) if part)
(pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(found))
