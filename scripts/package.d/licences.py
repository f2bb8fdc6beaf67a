"""The licences of what is linked in: a name for the SBOM, and the texts for the packages.

The texts are the copyright files of the Debian packages. What these only refer to, as they may on
Debian, is added from /usr/share/common-licenses, since an image need not have it.
"""

import pathlib
import re
import sys

COMMON = pathlib.Path("/usr/share/common-licenses")

LONGEST = 1_000_000  # characters of a copyright file

# By source package, for what of it is in the program. A new one needs a look at its copyright file, and a line.
NAMES = {
    "boost1.81": "BSL-1.0",
    "fmtlib": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "openssl": "Apache-2.0",
    "spdlog": "MIT",
    "yaml-cpp": "MIT",
    "zlib": "Zlib",
}


def name_of(package):
    """An SPDX expression."""
    if package.source not in NAMES:
        sys.exit(f"{package.name} went into the program, and scripts/package.d/licences.py has no licence for it")
    return NAMES[package.source]


def texts(packages):
    """Copyright files by source package, one each: {name: text}."""
    found = {}
    for package in packages:
        if package.source not in found:
            text = package.copyright.read_text()
            found[package.source] = text if len(text) < LONGEST else only_licences(text)
    return found


def only_licences(text):
    """Without the paragraphs that say which of thousands of files is whose: Boost's are two megabytes, and
    its licence asks for none of them beside compiled code."""
    kept = [part for part in text.split("\n\n") if part.lstrip().startswith("License:")]
    return "\n\n".join(kept).strip() + "\n"


def common_texts(copyrights):
    """The licences that copyright files refer to: {name: text}."""
    names = set()
    for text in copyrights.values():
        names |= set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9]+(?:-[0-9.]*[0-9])?)", text))
    return {name: (COMMON / name).read_text() for name in sorted(names)}
