"""The licences of what is linked in: a name for the SBOM, and one text for each source package.

A copyright file of Debian speaks of all files of a source package: also of its manual, tests and build scripts, which are in no program. A
text of ours keeps what speaks of linked code. Its first line is for scanners of licences. Below it come the licences that it refers to,
since an image need not have /usr/share/common-licenses.
"""

import dataclasses
import pathlib
import re
import sys

COMMON = pathlib.Path("/usr/share/common-licenses")

SYSTEM_CALLS = """\
NOTE! This copyright does *not* cover user programs that use kernel services by normal system calls - this is merely considered normal use
of the kernel, and does *not* fall under the heading of "derived work". Also note that the GPL below is copyrighted by the Free Software
Foundation, but the instance of code that it refers to (the Linux kernel) is copyrighted by me and others who actually wrote it.

Also note that the only valid version of the GPL as far as the kernel is concerned is _this_ particular version of the license (ie v2, not
v2.2 or v3.x or whatever), unless explicitly otherwise stated.

Linus Torvalds
"""


@dataclasses.dataclass(frozen=True)
class Licence:
    expression: str  # of SPDX, for what is in the program
    stanzas: str = ""  # the name by which a machine-readable copyright file calls it
    passages: str = ""  # of another copyright file: a regular expression for the passages that speak of linked code
    common: str = ""  # the file of COMMON that the text refers to
    exception: str = ""  # what the copyright file leaves out


# By source package. A new one needs a look at its copyright file, and a line.
LICENCES = {
    "boost1.81": Licence("BSL-1.0", stanzas="BSL-1.0"),
    "fmtlib": Licence("MIT", stanzas="Expat with embedded exception"),
    "gcc-12": Licence(
        "GPL-3.0-or-later WITH GCC-exception-3.1",
        passages=r"GCC is Copyright.*?any\nlater version\.\n|GCC RUNTIME LIBRARY EXCEPTION\n.*?\n(?=\n\n)",
        common="GPL-3",
    ),
    # All but the programs of the C library, which are under the GPL.
    "glibc": Licence(
        "LGPL-2.1-or-later", passages=r"\A.*?(?=\* The utilities)|\* All code incorporated.*", common="LGPL-2.1"
    ),
    "linux": Licence("GPL-2.0-only WITH Linux-syscall-note", stanzas="GPL-2", common="GPL-2", exception=SYSTEM_CALLS),
    "openssl": Licence("Apache-2.0", stanzas="Apache-2.0", common="Apache-2.0"),
    "spdlog": Licence("MIT", stanzas="Expat"),
    "yaml-cpp": Licence("MIT", stanzas="X11"),
    "zlib": Licence("Zlib", stanzas="Zlib"),
}


def name_of(package):
    """An SPDX expression."""
    if package.source not in LICENCES:
        sys.exit(f"{package.name} went into the program, and scripts/package.d/licences.py has no licence for it")
    return LICENCES[package.source].expression


def texts(packages):
    """One text for each source package: {name: text}."""
    copyrights = {package.source: package.copyright for package in reversed(packages)}
    return {source: text_of(source, copyrights[source].read_text()) for source in sorted(copyrights)}


def text_of(source, whole):
    licence = LICENCES[source]
    kept = stanzas_of(whole, licence.stanzas) if licence.stanzas else re.findall(licence.passages, whole, re.DOTALL)
    if not kept:
        sys.exit(f"the copyright file of {source} has changed, and scripts/package.d/licences.py finds no licence in it")
    parts = [licence.exception, *kept, (COMMON / licence.common).read_text() if licence.common else ""]
    return f"SPDX-License-Identifier: {licence.expression}\n\n" + "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def stanzas_of(whole, name):
    """Stanzas for all files of a package, and of the licence itself."""
    return [part for part in re.split(r"\n\n+", whole) if re.match(rf"Files: \*\n|License: {re.escape(name)}\n", part)]
