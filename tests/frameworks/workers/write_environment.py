"""Writes this process's environment as JSON into <folder given>/<global rank>.json, or single.json without one."""

import json
import os
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
(folder / f"{os.environ.get('RANK', 'single')}.json").write_text(json.dumps(dict(os.environ)))
