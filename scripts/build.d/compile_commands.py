#!/usr/bin/env python3
"""Prints the compile commands of a build as editors and clang-tidy want them: one for each source, although several are compiled at
once, and without headers that GCC has precompiled, which clang cannot read.

usage: compile_commands.py build/compile_commands.json
"""

import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRECOMPILED = re.compile(r" -Winvalid-pch -include [^ ]*cmake_pch\.hxx")
INCLUDE = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def sources_of(file):
    """Sources that this file of CMake's compiles; the file itself, unless it only includes others."""
    if pathlib.Path(file).parent.name != "Unity":
        return [file]
    paths = INCLUDE.findall(pathlib.Path(file).read_text(encoding="utf-8"))
    return [path for path in (str(ROOT / path) for path in paths) if os.path.exists(path)]  # from the root, or absolute


def main():
    commands = []
    for entry in json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")):
        for source in sources_of(os.path.join(entry["directory"], entry["file"])):
            command = PRECOMPILED.sub("", entry["command"]).replace(entry["file"], source)
            commands.append({"directory": entry["directory"], "command": command, "file": source})
    print(json.dumps(commands, indent=1))


if __name__ == "__main__":
    main()
