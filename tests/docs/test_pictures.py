"""The pictures of terminals: each is there, is looked at, and says nothing of the machine on which it was taken."""

import re
import xml.etree.ElementTree as xml

import pytest

from pages import ROOT, page

PICTURES = ROOT / "docs" / "pictures"
PROGRAMS = ["tqdm", "rich", "pdb", "ipython"]
CASES = [
    f"{program}-{count}-{front}.svg"
    for program in PROGRAMS
    for count in (1, 2, 8)
    for front in ("torchrun", "muster")
]


def text_of(name):
    svg = "{http://www.w3.org/2000/svg}"
    return "\n".join(text.text for text in xml.parse(PICTURES / name).iter(f"{svg}text"))


def test_each_picture_is_linked_and_there_is_no_other():
    linked = set(re.findall(r"\(pictures/([^)]+)\)", page("logs.md")))

    assert linked == set(CASES)
    assert "(pictures/status-watch.svg)" in page("control.md")
    assert {*CASES, "status-watch.svg"} == {path.name for path in PICTURES.iterdir()}


def test_the_picture_of_a_job_shows_all_of_its_hosts():
    text = text_of("status-watch.svg")

    assert "3 nodes, 6 of 6 workers running" in text
    assert all(f"gpu-h{host}" in text for host in range(3))


@pytest.mark.parametrize("name", CASES)
def test_a_picture_shows_the_command_and_its_last_worker(name):
    program, count, front = name.removesuffix(".svg").split("-")
    text = text_of(name)

    assert f"--nproc-per-node {count}" in text
    assert f"{program}_program.py" in text
    assert ("muster torchrun" in text) == (front == "torchrun")
    last = 4 if program == "rich" and count == "8" else int(count) - 1  # there is no room for more
    assert count == "1" or f"[{last}]" in text


@pytest.mark.parametrize("name", CASES)
def test_a_picture_has_no_path_of_a_machine(name):
    assert not re.search(r"(?<![\w~])/(?!\w+/s\b)\w+/", text_of(name)), text_of(name)
