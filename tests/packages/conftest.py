"""Fixtures of the tests of packages: those that scripts/package made, and systems to install them on."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import subprocess
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass(frozen=True)
class Packages:
    folder: pathlib.Path

    def one(self, pattern):
        (found,) = self.folder.glob(pattern)
        return found

    @property
    def wheel(self):
        return self.one("*.whl")

    @property
    def deb(self):
        return self.one("*.deb")

    @property
    def tar(self):
        return self.one("*.tar.gz")

    @property
    def bill(self):
        return self.one("*.cdx.json")

    @property
    def architecture(self):
        return re.search(r"-linux-(\w+)\.cdx\.json", self.bill.name)[1]

    @property
    def program(self):
        return self.folder.parent / "muster"

    def run_program(self, *arguments):
        """The output of the program, run by QEMU where it is not for this machine."""
        is_foreign = self.architecture != platform.machine()
        emulator = [f"qemu-{self.architecture}-static"] if is_foreign else []
        return subprocess.check_output([*emulator, self.program, *arguments], text=True)

    @property
    def version(self):
        return re.search(r"project\(muster VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]

    def files_of_wheel(self):
        """{name: (mode, content)}; so below."""
        with zipfile.ZipFile(self.wheel) as wheel:
            return {
                entry.filename: (entry.external_attr >> 16 & 0o777, wheel.read(entry))
                for entry in wheel.infolist()
            }

    def files_of_tar(self):
        return files_in(tarfile.open(self.tar))

    def files_of_deb(self):
        tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", self.deb], stdout=subprocess.PIPE)
        with tar:
            return files_in(tarfile.open(fileobj=tar.stdout, mode="r|"))

    def components(self):
        return json.loads(self.bill.read_text())["components"]


def files_in(archive):
    with archive:
        return {
            entry.name.removeprefix("./"): (entry.mode, archive.extractfile(entry).read())
            for entry in archive
            if entry.isfile()
        }


# The first is this machine's; the others are of other architectures, and looked at only.
FOLDERS = [pathlib.Path(folder) for folder in os.environ["PACKAGES"].split(":")]


@pytest.fixture(scope="session", params=FOLDERS, ids=lambda folder: folder.parent.name)
def packages(request):
    return Packages(request.param)


@pytest.fixture(scope="session")
def native():
    """The packages that can be installed here."""
    return Packages(FOLDERS[0])


@pytest.fixture(scope="session")
def tools():
    """The folder of the programs of requirements/packages.txt."""
    return pathlib.Path(os.environ["PACKAGES_VENV"]) / "bin"


@pytest.fixture(scope="session")
def debian11():
    """Runs a shell script in Debian 11, on an overlay of its own that is gone afterwards; the packages
    are in /packages. Returns what it printed."""
    done = subprocess.run([ROOT / "scripts/dev/root", "debian11"], check=True, text=True, stdout=subprocess.PIPE)
    lower = done.stdout.strip()

    def run(script, folder):
        # Whatever is mounted, and whatever runs, ends with these namespaces.
        outer = f"""
            mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work /mnt/root
            mount -t overlay -o lowerdir={lower},upperdir=/mnt/upper,workdir=/mnt/work none /mnt/root
            mkdir /mnt/root/packages && mount --bind {folder} /mnt/root/packages
            mount -t proc none /mnt/root/proc && mount -t tmpfs none /mnt/root/mnt
            exec chroot /mnt/root env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
              PYTHONDONTWRITEBYTECODE=1 DEBIAN_FRONTEND=noninteractive sh -euc "$0"
        """
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "bash", "-euc", outer, script],
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run
