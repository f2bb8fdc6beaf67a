"""Writes this process's environment and its arguments as JSON into $WRITE_INTO/<global rank>.json."""

import json
import os
import pathlib
import sys

rank = next(os.environ[name] for name in ("PADDLE_TRAINER_ID", "OMPI_COMM_WORLD_RANK", "RANK") if name in os.environ)
seen = {"arguments": sys.argv[1:], **os.environ}
(pathlib.Path(os.environ["WRITE_INTO"]) / f"{rank}.json").write_text(json.dumps(seen))
