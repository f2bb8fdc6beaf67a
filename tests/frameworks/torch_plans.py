"""Plans command lines by torchrun's own parser: run by a Python that has torch.

Reads JSON from standard input, a list of {module, argv, environment}, and prints a list of what each means, in
the words of test_public_command_lines.py; `refused` alone where torchrun ends with an error.
"""

import contextlib
import io
import json
import logging
import os
import re
import sys

from torch.distributed import launch, run
from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint

DYNAMIC_PORT = 29400  # torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py


class Planned(Exception):
    """Stands in the way of the start, and has all that would be started."""


class Recorder:
    def __init__(self, config, entrypoint):
        self.config, self.entrypoint = config, entrypoint

    def __call__(self, *arguments):
        raise Planned(self.config, self.entrypoint, arguments)


def captured(module, argv):
    """The configuration, the program and its arguments; a ValueError or SystemExit where they make no sense."""
    try:
        if module == "torch.distributed.launch":
            launch.launch(launch.parse_args(argv))
        else:
            run.run(run.parse_args(argv))
    except Planned as planned:
        return planned.args
    raise AssertionError("torchrun neither started nor refused")


def endpoint_of(config):
    """[host, port]; where one node needs none the host is left out, and port 0 is a free one."""
    is_static = config.rdzv_backend == "static"
    host, port = parse_rendezvous_endpoint(config.rdzv_endpoint, -1 if is_static else DYNAMIC_PORT)
    if port == -1:
        raise ValueError("a static endpoint needs a port")
    if config.max_nodes == 1:
        return [None, port if is_static else 0]
    return [host, port]


def program_of(entrypoint, arguments, config):
    """The arguments of each worker's program; [0] is Python's file name, or the program's."""
    name = "python" if entrypoint == sys.executable else entrypoint
    if callable(entrypoint):
        name = "python"
    rest = [argument for argument in arguments if argument != "-u"]
    return [
        [name, *(argument.replace("${local_rank}", str(rank)) for argument in rest)]
        for rank in range(config.nproc_per_node)
    ]


def meaning(module, argv):
    config, entrypoint, arguments = captured(module, argv)
    is_random = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", config.run_id)
    logs = config.logs_specs
    is_made_up = os.path.basename(logs.root_log_dir).startswith("torchelastic_")
    return {
        "nodes": [config.min_nodes, config.max_nodes],
        "workers": config.nproc_per_node,
        "node_rank": config.rdzv_configs.get("rank"),
        "endpoint": endpoint_of(config),
        "programs": program_of(entrypoint, arguments, config),
        "max_restarts": config.max_restarts,
        "run_id": "random" if is_random else config.run_id,
        "role": config.role,
        "log_dir": None if is_made_up else os.path.abspath(logs.root_log_dir),
    }


def plan(line):
    os.environ.clear()
    os.environ.update(line["environment"])
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # argparse's usage
            return meaning(line["module"], line["argv"])
    except (SystemExit, Exception) as error:  # noqa: B014 - torchrun ends by either
        return {"refused": str(error)}


def main():
    logging.disable(logging.CRITICAL)
    run.elastic_launch = Recorder
    json.dump([plan(line) for line in json.load(sys.stdin)], sys.stdout)


main()
