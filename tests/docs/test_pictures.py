"""The picture of a terminal: it is there, is looked at, and says nothing of the machine on which it was taken."""

import re
import xml.etree.ElementTree as xml

from pages import ROOT, page

PICTURES = ROOT / "docs" / "pictures"


def text_of(name):
    svg = "{http://www.w3.org/2000/svg}"
    return "\n".join(text.text for text in xml.parse(PICTURES / name).iter(f"{svg}text"))


def test_the_picture_is_linked_and_there_is_no_other():
    assert "(pictures/status-watch.svg)" in page("control.md")
    assert ["status-watch.svg"] == [path.name for path in PICTURES.iterdir()]


def test_the_picture_of_a_job_shows_all_of_its_hosts():
    text = text_of("status-watch.svg")

    assert "3 nodes, 6 of 6 workers running" in text
    assert all(f"gpu-h{host}" in text for host in range(3))


def test_the_picture_has_no_path_of_a_machine():
    text = text_of("status-watch.svg")

    assert not re.search(r"(?<![\w~])/(?!\w+/s\b)\w+/", text), text
