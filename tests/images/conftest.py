"""Fixtures of the tests in root folders of images."""

import os
import tempfile
from pathlib import Path

import pytest
from image import Image, InImages, Programs, path_of_root

from support import processes


@pytest.fixture(scope="session", autouse=True)
def needs_root():
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts and changes the root folder")


@pytest.fixture(scope="session")
def programs(tmp_path_factory, worker):
    return Programs(tmp_path_factory.mktemp("programs"), worker)


@pytest.fixture
def image(programs):
    """Makes an image of that root: debian11, busybox or bare."""
    # An overlay's changes must not lie in another overlay, as /tmp does in many a container.
    with tempfile.TemporaryDirectory(prefix="muster-images-", dir="/dev/shm") as folder:
        numbers = iter(range(100))

        def make(name):
            own = Path(folder) / str(next(numbers))
            return Image(own, name, [programs.folder, path_of_root(name)])

        yield make


@pytest.fixture
def images(muster):
    return InImages(muster)


@pytest.fixture(scope="session")
def number_of_hosts():
    return 2


@pytest.fixture
def name_server(hosts, tmp_path):
    """Starts dnsmasq on host 0, with these lines as of /etc/hosts; returns its address."""
    started = []

    def start(*lines):
        names = tmp_path / "names"
        names.write_text("".join(f"{line}\n" for line in lines))
        apart = ["--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--local=/#/", "--user=root"]
        options = ["--keep-in-foreground", *apart, f"--addn-hosts={names}", "--log-facility=-"]
        command = hosts.command("exec", "0", "dnsmasq", *options)
        server = processes.start(command, stderr=-1, text=True)
        started.append(server)
        while "read " not in (line := server.stderr.readline()):
            assert line, f"dnsmasq ended with {server.wait()}"
        return hosts.address(0)

    yield start
    for server in started:
        server.kill()
        processes.wait_for_end(server, 10, "dnsmasq")
        server.stderr.close()
