"""Bytes by which a worker or a peer would draw on the terminal, and what a terminal then shows."""

import json
import os
import re

import pytest

from support.muster import binary
from support.screen import Screen

FORGED = b"muster: 9 workers succeeded in 0.01 s"
ATTACKS = {
    "a return": b"\r" + FORGED,
    "backspaces": b"\b" * 300 + FORGED,
    "a cursor that goes up": b"\x1b[3A\r\x1b[2K" + FORGED,
    "a cursor that goes home": b"\x1b[H" + FORGED,
    "an empty screen": b"\x1b[2J\x1b[3J",
    "an empty screen by a control of Latin 1": b"\xc2\x9b2J\xc2\x9bH" + FORGED,
    "an empty screen by a bare byte": b"\x9b2J\x9bH" + FORGED,
    "a next line": b"\xc2\x85" + FORGED,
    "a vertical tab and a return": b"\v\r" + FORGED,
    "a form feed": b"\f\r" + FORGED,
    "another screen": b"\x1b[?1049h",
    "a title without an end": b"\x1b]0;",
    "a device string without an end": b"\x1bP",
    "a control without an end": b"\x1b[31",
    "invisible letters": b"\x1b[8m",
    "black on black": b"\x1b[30;40m",
    "letters for drawing": b"\x1b(0",
    "another set of letters": b"\x0e",
    "a region of two lines": b"\x1b[1;2r",
    "insertion": b"\x1b[4h",
    "no wrapping": b"\x1b[?7l",
    "a reset": b"\x1bc",
    "text from right to left": "\N{RIGHT-TO-LEFT OVERRIDE}".encode() + FORGED[::-1],
    "an isolate": "\N{RIGHT-TO-LEFT ISOLATE}".encode() + FORGED,
    "a line separator": "\N{LINE SEPARATOR}".encode() + FORGED,
    "tags": "\N{TAG LATIN SMALL LETTER A}".encode(),
    "no UTF-8": b"\xff\xfe\xc0\xaf",
}
each_attack = pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
# What no text of muster may hold: controls but line ends and tabs, and what is invisible or turns text around.
HARMFUL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff"
    "\\U000e0000-\\U000e007f]"
)


def printing(*texts):
    """A script that writes these bytes to standard error, each as a line, and fails."""
    octal = "".join("".join(f"\\{byte:03o}" for byte in text) + "\\n" for text in texts)
    return ["sh", "-c", f"printf '{octal}' >&2; exit 3"]


def assert_harmless(job):
    assert job.err.bytes.decode() == job.err.text, "what muster says is UTF-8"
    assert not HARMFUL.search(job.err.text), job.err.text
    for line in job.err.lines:
        assert line.startswith("muster: "), line
        assert not line.startswith(FORGED.decode()), line


def out_of_sight(muster):
    """Options by which the lines of workers go to files alone."""
    return ["--redirects=3", f"--log-dir={muster.folder}/logs"]


def test_last_lines_are_shown_escaped(muster):
    job = muster.run(*out_of_sight(muster), "--", *printing(*ATTACKS.values()))

    assert job.code == 3
    assert_harmless(job)
    assert job.said_about("\\u202e")


def test_an_error_file_is_shown_escaped(muster):
    text = b" ".join(ATTACKS.values()).decode(errors="replace")
    (muster.folder / "error").write_text(json.dumps({"message": {"message": text}}))

    job = muster.run("--", "sh", "-c", "cp error $TORCHELASTIC_ERROR_FILE; exit 3")

    assert job.code == 3
    assert_harmless(job)
    assert "\\x0dmuster: 9 workers" in job.said_about("its error file says")


@each_attack
def test_a_value_is_shown_escaped(muster, attack):
    job = muster.run("--", "true", env={"MUSTER_NNODES": os.fsdecode(attack)})

    assert job.code == 78
    assert_harmless(job)


@each_attack
def test_a_program_is_shown_escaped(muster, attack):
    job = muster.run("--", "no-such-program" + os.fsdecode(attack))

    assert job.code == 127
    assert_harmless(job)


def test_what_explain_prints_is_shown_escaped(muster):
    address = b"host\xc2\x9b2J" + ATTACKS["text from right to left"]

    job = muster.run(
        "explain", env={"MASTER_ADDR": os.fsdecode(address), "RANK": 0, "WORLD_SIZE": 1}
    )

    assert "host\\u009b2J\\u202e" in job.out.text
    assert not HARMFUL.search(job.out.text), job.out.text


def shown(muster, *arguments, columns=120):
    """The rows of a terminal in which muster has run."""
    with Screen(muster.folder, [binary(), *arguments], muster.environment(), columns) as screen:
        return screen.rows()


@each_attack
def test_a_terminal_shows_last_lines_as_text(muster, attack):
    rows = shown(muster, *out_of_sight(muster), "--", *printing(b"evil" + attack + b"end"))

    assert not [row for row in rows if row.startswith(FORGED.decode())], "\n".join(rows)
    (failure,) = [row for row in rows if "failed first" in row]
    assert failure.startswith("muster: rank 0 failed first: ")
    assert [row for row in rows if row.startswith("muster:   | ")], "\n".join(rows)
    assert "muster: exit code 3" in rows
