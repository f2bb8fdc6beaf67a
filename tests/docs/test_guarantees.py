"""The guarantees on their page are those of the program, in its words."""

import re

from pages import page, source, tables

ROW = re.compile(
    r'\{\s*"([^"]+)",\s+"([^"]+)",\s+&SystemCapabilities::\w+,\s+Support::(\w+),\s+'
    r'((?:"[^"]*"\s*)+),\s+"[^"]+"(?:,\s+"[^"]+")?\}'
)
SUPPORT = {"InPart": "in part", "Not": "no"}


def test_each_guarantee_is_on_the_page_with_what_its_loss_means():
    rows = ROW.findall(source("guarantees.cpp"))
    known = {
        (name, f"`{call}`", SUPPORT[support], "".join(re.findall('"([^"]*)"', means)))
        for name, call, support, means in rows
    }
    (table,) = [rows for rows in tables(page("troubleshooting.md")) if rows[0][0] == "Guarantee"]
    described = {tuple(row) for row in table[1:]}
    of_more_than_a_call = {
        row for row in described if row[1].startswith(("`/proc`", "`pipe2`", "an event loop"))
    }

    assert len(known) == 9
    assert described - of_more_than_a_call == known
    for *_, means in of_more_than_a_call:
        assert means in re.sub(r'"\s+"', "", source("guarantees.cpp"))
