"""The .deb. CPack writes it from a tree that is laid out here; it depends on nothing, since the program is static."""

import gzip
import os
import shutil
import subprocess
import textwrap

import changelog
import tree

MAINTAINER = "muster maintainers <maintainers@muster.invalid>"

DESCRIPTION = """\
starts and watches the processes of distributed training jobs
muster reads the cluster's environment, works out who runs where, starts one process per accelerator
the way PyTorch's torchrun and MindSpore's msrun do, watches them, and says what happened.
On several nodes a platform starts it on each of them, and they start, fail and restart together."""

OVERRIDES = """\
# One file for images of every distribution; a security update of what is in it makes a new release.
muster: statically-linked-binary [usr/bin/muster]
muster: embedded-library zlib [usr/bin/muster]
"""


def write(release, parts, versions):
    stage = release.output / "tree"
    for name, content in files_of(release, parts, versions).items():
        path = stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(tree.mode_of(name.removeprefix("usr/")))
    for path in [stage, *stage.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (release.date, release.date))
    config = release.output / "CPackConfig.cmake"
    config.write_text(configuration(release, stage))
    subprocess.run(
        ["cpack", "-G", "DEB", "--config", config, "-B", release.output],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=release.output,
    )
    shutil.rmtree(stage)
    shutil.rmtree(release.output / "_CPack_Packages")
    config.unlink()


def files_of(release, parts, versions):
    files = {}
    for name, content in parts.installed.items():
        is_page = name.startswith("share/man/")
        files[f"usr/{name}.gz" if is_page else f"usr/{name}"] = packed(content) if is_page else content
    documents = "usr/share/doc/muster"
    files[f"{documents}/copyright"] = copyright_of(parts).encode()
    files |= {f"{documents}/licences/{name}": text for name, text in parts.licences().items() if name != "LICENSE"}
    files[f"{documents}/changelog.gz"] = packed(changelog.debian(versions, "muster", MAINTAINER, release.date).encode())
    files[f"{documents}/muster.cdx.json"] = parts.bill.encode()
    files["usr/share/lintian/overrides/muster"] = OVERRIDES.encode()
    return files


def packed(content):
    """As `gzip -9n` does it."""
    return gzip.compress(content, 9, mtime=0)


def copyright_of(parts):
    """In Debian's machine-readable form. Debian's packages may refer to /usr/share/common-licenses, and so does this one."""
    linked = "\n".join(f" /usr/share/doc/muster/licences/linked-in/{name}.txt" for name in parts.linked)
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: muster\n"
        "Comment: The program is linked statically. The licences of the libraries in it are in\n"
        f"{linked}\n\n"
        "Files: *\n"
        "Copyright: the muster contributors\n"
        "License: Apache-2.0\n\n"
        "License: Apache-2.0\n"
        " On Debian systems the Apache License, Version 2.0, is in\n"
        " /usr/share/common-licenses/Apache-2.0.\n"
    )


def configuration(release, stage):
    summary, text = DESCRIPTION.split("\n", 1)
    values = {
        "CPACK_PACKAGE_NAME": "muster",
        "CPACK_PACKAGE_VERSION": release.version,
        "CPACK_PACKAGE_FILE_NAME": "muster",
        "CPACK_PACKAGE_VENDOR": "muster",
        "CPACK_PACKAGE_DESCRIPTION_SUMMARY": summary,
        "CPACK_PACKAGE_DESCRIPTION": textwrap.fill(text, 78),
        "CPACK_PACKAGE_CONTACT": MAINTAINER,
        "CPACK_DEBIAN_PACKAGE_MAINTAINER": MAINTAINER,
        "CPACK_DEBIAN_PACKAGE_ARCHITECTURE": release.architecture.debian,
        "CPACK_DEBIAN_PACKAGE_SECTION": "admin",
        "CPACK_DEBIAN_PACKAGE_PRIORITY": "optional",
        "CPACK_DEBIAN_PACKAGE_SHLIBDEPS": "OFF",
        "CPACK_DEBIAN_FILE_NAME": "DEB-DEFAULT",
        "CPACK_DEBIAN_COMPRESSION_TYPE": "xz",
        "CPACK_STRIP_FILES": "OFF",
        "CPACK_PACKAGING_INSTALL_PREFIX": "/",
        "CPACK_INSTALLED_DIRECTORIES": f"{stage};/",
        "CPACK_INSTALL_CMAKE_PROJECTS": "",
        "CPACK_PACKAGE_DIRECTORY": str(release.output),
        "CPACK_THREADS": "1",
    }
    return "".join(f"set({name} [==[{value}]==])\n" for name, value in values.items())
