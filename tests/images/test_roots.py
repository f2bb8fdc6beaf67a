"""scripts/dev/root: a root under its name is complete, and no partial one is left."""

import os
import subprocess
from pathlib import Path

from support.muster import ROOT

SCRIPT = ROOT / "scripts" / "dev" / "root"


def start(name, cache):
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen([SCRIPT, name], stdout=subprocess.PIPE, env=environment, text=True)


def test_an_interrupted_root_is_rebuilt_once(tmp_path):
    left = tmp_path / "muster" / "roots" / ".making-bare"
    (left / "half").mkdir(parents=True)

    paths = {run.communicate(timeout=60)[0] for run in [start("bare", tmp_path) for _ in range(3)]}

    (path,) = paths
    made = Path(path.strip())
    assert sorted(found.name for found in made.rglob("*")) == ["dev", "null"]
    visible = [entry for entry in made.parent.iterdir() if entry.name != ".lock-bare"]
    assert visible == [made]
