"""Results of the parts of `scripts/test --full`, kept by the hash of what each part depends on: a part that was green on the same
inputs is not run again."""

import contextlib
import datetime
import functools
import hashlib
import json
import os
import pathlib
import subprocess
from dataclasses import dataclass

from suites import ROOT

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "muster" / "results"
_TABLE = pathlib.Path(__file__).with_name("parts.tsv")
# The program, what builds it, and what runs the tests.
_EVERY_PARTS = """src include python launcher templates CMakeLists.txt cmake tests/CMakeLists.txt scripts/build scripts/build.d
  scripts/common.bash scripts/venvs.bash requirements/zig.txt scripts/test scripts/test.d scripts/dev/pytest_no_skip.py pytest.ini
  tests/conftest.py tests/support tests/workers tests/hosts scripts/dev/hosts""".split()
# Files that no part reads, unless its row names them.
_NO_PARTS = """docs README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE .ci .gitignore .git-blame-ignore-revs .clang-format tests/unstable.tsv tests/seeds.txt tests/docs tests/scripts tests/unit
  tests/golden examples scripts/check scripts/check-layers scripts/check-words scripts/check-words.d scripts/format scripts/quickstart
  scripts/dev/bench scripts/dev/bench.d scripts/dev/pictures.d scripts/dev/sizes scripts/dev/soak scripts/dev/update-golden
  scripts/dev/update-pictures""".split()


@dataclass
class Part:
    """One row of parts.tsv."""

    name: str
    seconds: int
    by_default: bool
    packages: list
    inputs: list


def read_parts(table=_TABLE):
    parts = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, seconds, default, packages, inputs = (cell.strip() for cell in line.split("\t"))
            parts[name] = Part(name, int(seconds), default == "yes", packages.split(), inputs.split())
    return parts


def tracked_files(root=ROOT):
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sorted(name for name in set(listed.stdout.split("\0")) if name and (root / name).is_file())


def belongs(path, inputs):
    return any(path == one or path.startswith(one + "/") for one in inputs)


@functools.cache
def packages_of(groups):
    listed = subprocess.run([ROOT / "scripts/install-packages", "--list", *groups], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def versions_of(groups):
    """The versions of the Debian packages that the part uses."""
    if not groups:
        return ""
    command = ["dpkg-query", "--show", "--showformat=${Package} ${Version}\n", *packages_of(tuple(groups))]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def keys_of(chosen, parts, files=None, root=ROOT):
    """By the names of the parts, a hash of everything that a part's result depends on. Each file is read once for all of them."""
    digests = {
        path: hashlib.sha256((root / path).read_bytes()).digest()
        for path in (tracked_files(root) if files is None else files)
    }
    named = [one for other in parts.values() for one in other.inputs] + _NO_PARTS
    # Those that no row names are every part's, too, since nobody knows whose they are.
    everybodys = {path for path in digests if belongs(path, _EVERY_PARTS) or not belongs(path, named)}
    keys = {}
    for part in chosen:
        sums = hashlib.sha256(versions_of(part.packages).encode())
        for path in digests:
            if path in everybodys or belongs(path, part.inputs):
                sums.update(f"{path}\0".encode() + digests[path])
        keys[part.name] = sums.hexdigest()[:20]
    return keys


def key_of(part, parts, files=None, root=ROOT):
    return keys_of([part], parts, files, root)[part.name]


def store(part, key, verdict, seconds, commit):
    folder = CACHE / part.name
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    result = {"part": part.name, "verdict": verdict, "seconds": round(seconds), "commit": commit, "at": now}
    unfinished = folder / f".{key}.{os.getpid()}"
    unfinished.write_text(json.dumps(result), encoding="utf-8")
    unfinished.replace(folder / f"{key}.json")


def known(part):
    """{key: result} of all runs of the part on this machine."""
    found = {}
    for file in (CACHE / part.name).glob("*.json"):
        with contextlib.suppress(ValueError):  # a file of a disk that was full is no result
            found[file.stem] = json.loads(file.read_text(encoding="utf-8"))
    return found


def age_of(result):
    seconds = (datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(result["at"])).total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def state_of(part, key):
    """The known result of the part: on these inputs, else the last time that it was green."""
    results = known(part)
    if key in results:
        one = results[key]
        return f"{one['verdict']} on these inputs, {age_of(one)} ago"
    green = [one for one in results.values() if one["verdict"] == "green"]
    if not green:
        return "never green here"
    last = max(green, key=lambda one: one["at"])
    return f"green on other inputs, {age_of(last)} ago ({last['commit'][:10] or 'no commit'}{'+' if last['commit'].endswith('+') else ''})"


def is_green(part, key):
    return known(part).get(key, {}).get("verdict") == "green"
