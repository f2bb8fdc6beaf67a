"""Fixtures of the tests of packages: those that scripts/package made, and systems to install them on."""

import dataclasses
import functools
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
    def provenance(self):
        return self.one("*.provenance.json")

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


SIGNATURES = {"SHA256SUMS.asc", "InRelease", "Release.gpg", "muster-release-key.gpg"}


@pytest.fixture(scope="session")
def hosted():
    """The release that scripts/package made, without signatures."""
    return FOLDERS[0].parent / "release"


@pytest.fixture(scope="session")
def signed(tmp_path_factory):
    """The same release, signed with a key that is gone afterwards."""
    home = tmp_path_factory.mktemp("key")
    home.chmod(0o700)
    environment = {**os.environ, "GNUPGHOME": str(home), "SOURCE_DATE_EPOCH": str(int(date_of_packages()))}
    make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "throw-away <key@muster.invalid>"]
    subprocess.run([*make, "ed25519", "sign", "never"], env=environment, check=True, stderr=subprocess.DEVNULL)
    folder = home / "release"
    index = [ROOT / "scripts/package.d/index.py", "--output", folder, "--sign-with", "key@muster.invalid", *FOLDERS]
    subprocess.run(["/usr/bin/python3", "-B", *index], env=environment, check=True)
    yield Packages(folder)
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment, check=True)


def date_of_packages():
    with tarfile.open(Packages(FOLDERS[0]).tar) as archive:
        return archive.next().mtime


@pytest.fixture(scope="session")
def machine():
    """Runs a shell script on an empty machine: a root of scripts/dev/root, on an overlay that is gone afterwards. A folder is in /packages,
    and a web server of the other side has it at http://127.0.0.1:8000/; there is no other network. Returns what the script printed."""

    def run(name, script, folder):
        made = subprocess.run([ROOT / "scripts/dev/root", name], check=True, text=True, stdout=subprocess.PIPE)
        # Whatever is mounted, and whatever runs, ends with these namespaces.
        outer = f"""
            ip link set lo up
            coproc {{ exec /usr/bin/python3 -u -m http.server --bind 127.0.0.1 --directory {folder} 8000 2>/dev/null; }}
            read -r <&"${{COPROC[0]}}"
            mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work /mnt/root
            mount -t overlay -o lowerdir={made.stdout.strip()},upperdir=/mnt/upper,workdir=/mnt/work none /mnt/root
            mkdir /mnt/root/packages && mount --bind {folder} /mnt/root/packages
            mount -t proc none /mnt/root/proc && mkdir -p /mnt/root/mnt && mount -t tmpfs none /mnt/root/mnt
            exec chroot /mnt/root env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
              PYTHONDONTWRITEBYTECODE=1 DEBIAN_FRONTEND=noninteractive sh -euc "$0"
        """
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "bash", "-euc", outer, script],
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


@pytest.fixture(scope="session")
def debian11(machine):
    return functools.partial(machine, "debian11")
