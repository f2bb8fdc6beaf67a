"""The manifests of examples/ are those that the commands of its page print, and their pods train."""

import re
import shlex
from pathlib import Path

import pytest
from clusters import without_advice

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMANDS = re.findall(r"^(muster render .*) > examples/(.*)$", (EXAMPLES / "README.md").read_text(), re.M)


def test_the_page_has_a_command_for_each_manifest():
    made = {file.name for file in EXAMPLES.iterdir() if file.suffix in (".sbatch", ".yaml")}

    assert made == {file for _, file in COMMANDS} and made


@pytest.mark.parametrize("command, file", COMMANDS, ids=[file for _, file in COMMANDS])
def test_a_manifest_is_what_its_command_prints(command, file, muster):
    done = muster(*shlex.split(command)[1:])

    assert (done.returncode, without_advice(done.stderr)) == (0, "")
    assert (EXAMPLES / file).read_text() == done.stdout
