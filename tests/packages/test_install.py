"""Each package is installed, runs a job of two workers, and is removed without a trace."""

import os
import pathlib
import subprocess

JOB = "muster --nproc-per-node 2 -- sh -c 'echo rank $RANK of $WORLD_SIZE'"
LISTING = "find / -xdev '(' -path /packages -o -path /var/lib/dpkg ')' -prune -o -type f -print | sort"


def assert_two_workers(output, times=1):
    assert output.count("[0] rank 0 of 2") == times, output
    assert output.count("[1] rank 1 of 2") == times, output
    assert output.count("muster: 2 workers succeeded") == times, output


def files_below(folder):
    return {path.relative_to(folder) for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def test_the_wheel_in_a_virtual_environment(native, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", venv], check=True)
    environment = {"PATH": f"{venv}/bin:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*command):
        return subprocess.run(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
        ).stdout

    before = files_below(venv)
    run("pip", "install", "--no-index", "--disable-pip-version-check", native.wheel)
    assert_two_workers(run("sh", "-c", JOB))
    assert (venv / "share/man/man1/muster.1").read_text().startswith(".TH MUSTER 1")
    assert run("sh", "-c", "command -v muster").strip() == f"{venv}/bin/muster"
    assert run("python", "-c", "import muster; print(muster.receive_suspend_command())") == "False\n"
    assert run("python", "-c", "import importlib.util as i; print(i.find_spec('hfai'))") == "None\n"
    run("pip", "uninstall", "--yes", "muster-launcher")
    assert files_below(venv) == before


def test_the_wheel_in_debian_11(native, debian11):
    output = debian11(
        f"""
        {LISTING} >/mnt/before
        pip3 install --no-index /packages/*.whl
        {JOB}
        head -n 1 /usr/local/share/man/man1/muster.1
        pip3 uninstall --yes muster-launcher
        {LISTING} >/mnt/after
        diff /mnt/before /mnt/after
        """,
        native.folder,
    )
    assert_two_workers(output)
    assert ".TH MUSTER 1" in output


def test_the_package_in_debian_11(native, debian11):
    output = debian11(
        f"""
        {LISTING} >/mnt/before
        dpkg -i /packages/*.deb
        {JOB}
        dpkg --verify muster
        test -f /usr/share/man/man1/muster.1.gz
        dpkg --purge muster
        {LISTING} >/mnt/after
        diff /mnt/before /mnt/after
        ! dpkg-query --show muster
        """,
        native.folder,
    )
    assert_two_workers(output)


def test_the_archive_in_debian_11(native, debian11):
    output = debian11(f"tar -xzf /packages/*.tar.gz -C /usr/local --strip-components 1; {JOB}", native.folder)
    assert_two_workers(output)
