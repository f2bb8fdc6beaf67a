"""The wheel: `pip install` puts the program and its pages on PATH and MANPATH, and the module `muster` among Python's."""

import time
import zipfile

from wheel.wheelfile import WheelFile

import tree

NAME = "muster_launcher"
REQUIRED_PYTHON = ">=3.7"
MODULE = "share/muster/python/muster/"  # as it is installed; hfai stays there, and is imported only where muster says so

METADATA = """\
Metadata-Version: 2.4
Name: muster-launcher
Version: {version}
Summary: {summary}
License-Expression: Apache-2.0
{licence_files}
Keywords: distributed,training,launcher,torchrun,msrun
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Distributed Computing
Requires-Python: {python}
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: muster scripts/package
Root-Is-Purelib: false
"""


def tags_of(architecture):
    # A static program needs nothing of the system's C library, whichever it is.
    return [f"manylinux_2_17_{architecture}", f"manylinux2014_{architecture}", f"musllinux_1_1_{architecture}"]


def write(release, parts, description):
    tags = tags_of(release.architecture.name)
    stem = f"{NAME}-{release.version}"
    info = f"{stem}.dist-info"
    licences = {f"licenses/{name}": text for name, text in parts.licences().items()}
    metadata = METADATA.format(
        version=release.version,
        summary=release.summary,
        python=REQUIRED_PYTHON,
        licence_files="\n".join(f"License-File: {name.removeprefix('licenses/')}" for name in licences),
        description=description,
    )
    files = {f"{stem}.data/{place_of(name)}": content for name, content in parts.installed.items()}
    files |= {f"muster/{name.removeprefix(MODULE)}": content for name, content in parts.installed.items() if name.startswith(MODULE)}
    files |= {f"{info}/{name}": content for name, content in licences.items()}
    files[f"{info}/sboms/muster.cdx.json"] = parts.bill.encode()
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = (WHEEL + "".join(f"Tag: py3-none-{tag}\n" for tag in tags)).encode()

    # WheelFile takes the time of the files and of RECORD from SOURCE_DATE_EPOCH, too.
    with WheelFile(release.output / f"{stem}-py3-none-{'.'.join(tags)}.whl", "w") as wheel:
        for name, content in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            entry = zipfile.ZipInfo(name, time.gmtime(release.date)[:6])
            entry.external_attr = (0o100000 | (0o755 if "/scripts/" in name else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)


def place_of(name):
    """Programs are "scripts" to pip; what lies beside them comes below the environment's prefix."""
    return f"scripts/{name.removeprefix('bin/')}" if tree.mode_of(name) == 0o755 else f"data/{name}"
