"""--compat-hfai: scripts find muster's package hfai, and other programs see no new module."""

import json
import shutil

import pytest

from support.muster import ROOT, built

HAI = {"MARSV2_TASK_ID": "4711", "MARSV2_RANK": 0, "RANK": 0, "WORLD_SIZE": 1}
MODULES = "share/muster/python"


@pytest.fixture
def installed(tmp_path):
    """A program that lies as an installation has it, with its modules or without."""

    def install(with_modules):
        root = tmp_path / "root"
        (root / "bin").mkdir(parents=True)
        if with_modules:
            shutil.copytree(ROOT / "python", root / MODULES)
        return shutil.copy(built(), root / "bin")

    return install


def python_path(job):
    assert job.code == 0, job.words()
    return json.loads(job.out.text)["processes"][0]["env"].get("PYTHONPATH")


def plan(muster, program, *options, **variables):
    options = ("--nproc-per-node=1", "--json", *options, "--", "true")
    return muster.run("plan", *options, program=program, env=variables)


def test_compat_hfai_is_on_by_default_on_hai(muster, installed, tmp_path):
    program = installed(with_modules=True)
    modules = str(tmp_path / "root" / MODULES)

    assert python_path(plan(muster, program, **HAI)) == modules
    assert python_path(plan(muster, program, "--compat-hfai=never", **HAI)) is None
    assert python_path(plan(muster, program)) is None
    assert python_path(plan(muster, program, "--compat-hfai=always")) == modules


@pytest.mark.parametrize(("inherited", "behind"), [("", ""), ("/a:/b", ":/a:/b")])
def test_the_modules_come_first_in_pythonpath_without_empty_entries(
    muster, installed, tmp_path, inherited, behind
):
    program = installed(with_modules=True)

    found = python_path(plan(muster, program, "--compat-hfai=always", PYTHONPATH=inherited))

    assert found == str(tmp_path / "root" / MODULES) + behind


def test_a_script_can_import_hfai(muster, installed):
    program = installed(with_modules=True)
    script = "import hfai; print(hfai.distributed.get_world_size(), hfai.client.receive_suspend_command())"

    job = muster.run(
        *("--nproc-per-node=1", "--compat-hfai=always", "--", "python3", "-B", "-c", script),
        program=program,
    )

    assert job.code == 0, job.words()
    assert job.out.text == "1 False\n"


def test_missing_modules_are_refused_or_reported(muster, installed):
    program = installed(with_modules=False)

    refused = plan(muster, program, "--compat-hfai=always")
    assert refused.code == 64
    assert MODULES in refused.said_about("--compat-hfai is 'always'")

    job = muster.run("--nproc-per-node=1", "--no-python", "true", program=program, env=HAI)
    assert job.code == 0, job.words()
    assert MODULES in job.said_about("scripts do not find muster's package hfai")


def test_an_invalid_value_is_refused(muster):
    assert muster.run("--compat-hfai=yes", "true").code == 64
