"""Where packages come from, as an in-toto statement with SLSA's provenance, version 1: which commit, made by which tools into which bytes.

It has no time of the build and no name of the machine, so that a second build makes the same statement.
"""

import hashlib
import json
import pathlib
import re

import origins


def document(release, paths):
    compiler = release.build.variable("CMAKE_CXX_COMPILER")
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": sha256_of(path)}} for path in sorted(paths)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://muster.invalid/scripts/package/v1",
                "externalParameters": {
                    "command": f"scripts/package --target {release.architecture.name}",
                    "SOURCE_DATE_EPOCH": str(release.date),
                },
                "internalParameters": {},
                "resolvedDependencies": sources_of(release),
            },
            "runDetails": {
                "builder": {
                    "id": f"https://muster.invalid/builders/{release.distribution}",
                    "version": {
                        "debian": pathlib.Path("/etc/debian_version").read_text().strip(),
                        **{
                            pathlib.Path(tool).name: origins.output_of(tool, "--version").splitlines()[0]
                            for tool in (compiler, release.build.variable("CMAKE_LINKER"), "cmake", "ninja")
                        },
                    },
                },
            },
        },
    }
    return json.dumps(statement, indent=2) + "\n"


def sources_of(release):
    """The commit of the program, as scripts/build wrote it down; none where git knew none."""
    commit = re.fullmatch(r"(\w+)( with changes)?", release.build.variable("MUSTER_COMMIT"))
    if commit is None:
        return []
    source = {"name": "source", "digest": {"gitCommit": commit[1]}}
    return [source | {"annotations": {"uncommitted changes": True}} if commit[2] else source]


def sha256_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
