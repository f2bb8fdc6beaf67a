#!/usr/bin/env python3
"""Runs clang-tidy over files, and only over those that changed since it last found nothing in them.

usage: tidy.py FILE.cpp...

How a file is compiled is read from compile_commands.json. What is remembered of a clean file is in
${XDG_CACHE_HOME:-~/.cache}/muster/tidy: a hash of its text, its flags, the checks and the tool's version
names the record, and that holds a hash of everything it includes. Findings are never remembered.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = HOME / "muster" / "tidy"
TIDY, CLANG = "clang-tidy-14", "clang++-14"
KEPT = ("-I", "-D", "-std", "-isystem")


@functools.cache
def content(path):
    """A hash of a file; paths count from the root of the repository."""
    try:
        return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
    except OSError:
        return ""


def flags_by_file():
    """Compiler options that change the meaning of a file: definitions, folders, language. Warnings, optimisation and headers
    that GCC has precompiled are nothing for clang."""
    flags = {}
    for entry in json.loads((ROOT / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        flags[path] = [word for word in words if word.startswith(KEPT)]
    return flags


def record_of(path, flags, tool):
    text = "\n".join([tool, content(".clang-tidy"), path, content(path), *flags])
    return CACHE / hashlib.sha256(text.replace(str(ROOT), "").encode()).hexdigest()


def is_known_clean(record):
    try:
        remembered = json.loads(record.read_text())
    except (OSError, ValueError):
        return False
    return all(content(path) == known for path, known in remembered.items())


def remember(record, path, flags):
    listed = subprocess.run(
        [CLANG, *flags, "-M", path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        return
    includes = listed.stdout.replace("\\\n", " ").split(":", 1)[1].split()
    relative = [name.removeprefix(f"{ROOT}/") for name in includes]
    record.parent.mkdir(parents=True, exist_ok=True)
    unfinished = record.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps({name: content(name) for name in relative}))
    unfinished.replace(record)


def without_counts(text):
    """Warnings are counted for headers of others, too, and not shown."""
    return "".join(
        line for line in text.splitlines(keepends=True) if not line.endswith("generated.\n")
    )


def tidy(path, flags, tool):
    """True if the file is clean; findings are printed."""
    record = record_of(path, flags, tool)
    if is_known_clean(record):
        return True, False
    done = subprocess.run(
        [TIDY, "--quiet", path, "--", *flags], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        remember(record, path, flags)
    else:
        print(done.stdout + without_counts(done.stderr), end="", flush=True)
    return done.returncode == 0, True


def main():
    tool = subprocess.check_output([TIDY, "--version"], text=True)
    flags = flags_by_file()
    files = sys.argv[1:]
    unknown = [path for path in files if path not in flags]
    if unknown:
        sys.exit(f"not in compile_commands.json: {' '.join(unknown)}; run scripts/build")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        ends = list(pool.map(lambda path: tidy(path, flags[path], tool), files))
    read = sum(was_read for _, was_read in ends)
    print(f"   {read} files were read, {len(files) - read} are as they were when they were clean")
    return 0 if all(is_clean for is_clean, _ in ends) else 1


if __name__ == "__main__":
    sys.exit(main())
