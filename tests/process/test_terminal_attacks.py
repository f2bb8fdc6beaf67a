"""Escape sequences of a worker or a peer, and what a terminal then shows."""

import json
import os
import re
import signal

import pytest

from support.deadlines import wait_until
from support.muster import binary
from support.screen import Screen
from support.wire import Peer, is_open, join

FORGED = b"muster: 9 workers succeeded in 0.01 s"
ATTACKS = {
    "a return": b"\r" + FORGED,
    "a return that makes it whole": b"\r" + FORGED.replace(b"m", b"x", 1) + b"\rm",
    "a combining character": "\r\u0301".encode() + FORGED,
    "a variation selector": "\r\ufe0f".encode() + FORGED,
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
# Characters that no text of muster may hold: controls but line ends and tabs, and those that are invisible or turn text around.
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


def test_last_lines_are_escaped(muster):
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


def test_explain_output_is_escaped(muster):
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
    assert any(row.startswith("muster: exit code 3:") for row in rows)


def says(row):
    """True for a row of the terminal that looks like a line of muster."""
    return row.startswith("muster: ")


@each_attack
def test_escape_sequences_of_a_worker_hide_no_line_of_muster(muster, attack):
    command = [binary(), "--", *printing(b"evil" + attack)]

    with Screen(muster.folder, command, muster.environment()) as screen:
        rows = screen.rows()
        seen = "\n".join(screen.visible_rows())

    last = [row for row in rows if says(row)][-1]
    assert last == "muster: exit code 3: that of rank 0, the first failure", "\n".join(rows)
    assert re.search("muster: rank 0 failed first: .* exit code 3", seen), seen


PUT_TOGETHER = {
    "a hidden cursor": b"m\x1b[?25luster: 9",
    "a saved cursor": b"m\x1b7uster: 9",
    "usual letters": b"m\x1b(Buster: 9",
    "a cursor that comes back": b"m\x1b7xster: 9\x1b8u",
    "a cursor that is put there": b"mxster: 9\x1b[99;2Hu",
    "a return": b"xuster: 9\rm",
    "a return within a sequence": b"over and over\x1b(\rBmuster: 9",
    "insertion": b"uster: 9\r\x1b[4hm\x1b[4l",
    "a long way back": b"xuster: 9\x1b[99999999999Dm",
}


@pytest.mark.parametrize("term", ["xterm", "dumb"])
@pytest.mark.parametrize("attack", PUT_TOGETHER.values(), ids=PUT_TOGETHER.keys())
def test_cursor_movements_of_one_worker_cannot_forge_musters_prefix(muster, attack, term):
    """On the last row of the terminal, where the worker knows which one it is."""
    script = printing(*[b"x"] * 70, attack)[-1]
    command = [binary(), "--nproc-per-node=2", "--prefix=never", "--", "sh", "-c", script]

    with Screen(muster.folder, command, muster.environment({"TERM": term})) as screen:
        rows = screen.rows()

    assert "x" in rows, "\n".join(rows)
    assert not [row for row in rows if row.startswith("muster: 9")], "\n".join(rows)


def test_harmless_lines_that_mention_muster_stay_unchanged(muster):
    """Such are the colours of `tput`, and progress that hides the cursor."""
    rows = shown(muster, "--", *printing(b"INFO\x1b(B\x1b[mmuster: a", b"INFO\x1b[?25lmuster: b"))

    assert "INFOmuster: a" in rows, "\n".join(rows)
    assert "INFOmuster: b" in rows, "\n".join(rows)


@each_attack
def test_escape_sequences_of_one_worker_stay_in_its_line(muster, attack):
    script = printing(b"evil" + attack + b"end")[-1].replace("exit 3", "sleep 0")
    command = [binary(), "--nproc-per-node=2", "--prefix=always", "--", "sh", "-c", script]

    with Screen(muster.folder, command, muster.environment(), columns=2000) as screen:
        rows = screen.rows()

    ours = [row for row in rows if says(row)]
    assert ours[-1].startswith("muster: 2 workers succeeded in "), "\n".join(rows)
    others = [row for row in rows if not says(row) and not row.startswith("Pane is dead")]
    assert all(row.startswith(("[0] ", "[1] ")) for row in others), "\n".join(rows)
    assert len([row for row in others if "e" in row]) >= 2


def test_several_workers_without_a_prefix_cannot_forge_musters_prefix(muster):
    script = f"echo '{FORGED.decode()}'"
    rows = shown(muster, "--nproc-per-node=2", "--prefix=never", "--", "sh", "-c", script)

    assert rows.count(f"| {FORGED.decode()}") == 2, "\n".join(rows)
    assert FORGED.decode() not in rows


def test_a_wrapped_line_cannot_forge_musters_prefix(muster):
    """The continuation of a wrapped line looks like a line on the terminal."""
    columns = 80
    script = f"printf '%s\\n' '{'-' * (columns - len('[0] '))}{FORGED.decode()}'"

    rows = shown(muster, "--nproc-per-node=2", "--", "sh", "-c", script, columns=columns)

    assert rows.count(f"| {FORGED.decode()}") == 2, "\n".join(rows)
    assert FORGED.decode() not in rows


OF_WHATEVER_WIDTH = {
    "Hangul filler": "\u3164" * 48,
    "a leading consonant's filler": "\u115f" * 48,
    "families": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 48,
    "soft hyphens": "\u00ad" * 96,
}


@pytest.mark.parametrize("before", OF_WHATEVER_WIDTH.values(), ids=OF_WHATEVER_WIDTH.keys())
def test_wide_characters_cannot_wrap_to_a_forged_prefix(muster, before):
    script = f"printf '%s\\n' '{before}{FORGED.decode()}'"

    rows = shown(muster, "--nproc-per-node=2", "--", "sh", "-c", script, columns=100)

    assert sum(f"| {FORGED.decode()}" in row for row in rows) == 2, "\n".join(rows)
    assert FORGED.decode() not in rows


def shown_by_front(muster, port, *arguments):
    """Two nodes whose remote shell is a script; all of it on a terminal of 80 columns."""
    shell = muster.folder / "remote-shell"
    shell.write_text('#!/bin/sh\nexec /bin/sh -c "$2"\n')
    shell.chmod(0o755)
    front = ["--hosts=a,b", f"--remote-shell={shell}", "--master-addr=127.0.0.1"]
    front += [f"--master-port={port}", *arguments]
    return shown(muster, *front, columns=80)


@pytest.mark.parametrize("forged", [FORGED.decode(), "[b] " + FORGED.decode()])
@pytest.mark.parametrize("before", ["-" * (80 - len("[0:0] ")), "\u3164" * 37])
def test_a_line_from_another_host_cannot_forge_musters_prefix(muster, port, before, forged):
    """The remote launcher shows an agent's output and cannot tell its lines from those of its workers."""
    rows = shown_by_front(muster, port, "--", "sh", "-c", f"echo '{before}{forged}'")

    assert sum("| " in row and FORGED.decode() in row for row in rows) == 2, "\n".join(rows)
    assert forged not in rows
    assert [row for row in rows if re.match(r"\[a\] muster: .*attempt 0", row)], "\n".join(rows)


def test_lines_from_hosts_without_a_prefix_cannot_forge_musters_prefix(muster, port):
    """Each host has a single worker, and all of them share the terminal."""
    rows = shown_by_front(muster, port, "--prefix=never", "--", "printf", "\\033[H[b] muster: 9\\n[b] muster: 9\\n")

    assert rows.count("[b] | muster: 9") == 2, "\n".join(rows)
    assert rows.count("\\x1b[H[b] muster: 9") == 2, "\n".join(rows)
    assert "[b] muster: 9" not in rows


def test_a_worker_on_another_host_stays_in_its_line(muster, port):
    rows = shown_by_front(muster, port, "--", "printf", "evil\\033[H\\033[2Jend\\n")

    assert sum("evil\\x1b[H\\x1b[2Jend" in row for row in rows) == 2, "\n".join(rows)


@pytest.mark.parametrize("hosts", ["a", "a,b"])
def test_a_host_cannot_control_the_terminal(muster, port, hosts):
    """Its shell speaks beside the agent, before and after the agent's first line."""
    shell = muster.folder / "remote-shell"
    attack = "printf 'evil\\033[H\\033[2Jend\\n\\033[31mred\\033[0m\\n'"
    shell.write_text(f"#!/bin/sh\n{attack}\n/bin/sh -c \"$2\"\ncode=$?\n{attack} >&2\nexit $code\n")
    shell.chmod(0o755)
    meeting = ["--master-addr=127.0.0.1", f"--master-port={port}"]
    rows = shown(muster, f"--hosts={hosts}", f"--remote-shell={shell}", *meeting, "--", "true")

    count = len(hosts.split(","))
    assert sum("evil\\x1b[H\\x1b[2Jend" in row for row in rows) == 2 * count, "\n".join(rows)
    assert sum(row.endswith("red") for row in rows) == 2 * count, "colours pass"


def test_the_only_worker_of_the_only_host_cannot_control_the_terminal(muster, port):
    """It has no terminal to draw on: muster there writes into a pipe."""
    shell = muster.folder / "remote-shell"
    shell.write_text('#!/bin/sh\nexec /bin/sh -c "$2"\n')
    shell.chmod(0o755)
    rows = shown(muster, "--hosts=a", f"--remote-shell={shell}", "--", "printf", "evil\\033[H\\033[2Jend\\n")

    assert sum("evil\\x1b[H\\x1b[2Jend" in row for row in rows) == 1, "\n".join(rows)


@pytest.mark.parametrize("count", [1, 2])
def test_output_to_a_pipe_is_not_escaped(muster, count):
    script = printing(*ATTACKS.values())[-1].replace(" >&2; exit 3", "")
    job = muster.run(f"--nproc-per-node={count}", "--prefix=never", "--", "sh", "-c", script)

    assert sorted(job.out.bytes.split(b"\n")[:-1]) == sorted([*ATTACKS.values()] * count)


def test_colours_of_workers_pass(muster):
    command = [binary(), "--nproc-per-node=2", "--", "printf", "\\033[32mgreen\\033[0m\\n"]
    with Screen(muster.folder, command, muster.environment({"TERM": "xterm"})) as screen:
        screen.rows()
        seen = "\n".join(screen.visible_rows())

    assert seen.count("\x1b[32mgreen") == 2, repr(seen)


def test_the_name_of_a_peer_is_shown_escaped(muster, port):
    leader = muster.start(
        *("--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}"),
        *("--gang-timeout=60", "--", "true"),
    )
    wait_until(lambda: is_open(port), "the leader to listen")
    host = "evil\u009b2J\u0085\u2028\u202e" + FORGED.decode()[::-1]

    with Peer(port) as peer:
        peer.say(join(host=host, slots=1))
        peer.wait_for("start")
    leader.end(20)

    assert_harmless(leader)
    assert "evil\\u009b2J\\u0085\\u2028\\u202e" in leader.err.text


@pytest.mark.parametrize("how", ["a title without an end", "text from right to left"])
def test_the_reason_of_a_peer_is_shown_escaped(muster, port, how):
    """A node's reason may end the job and is shown as the node wrote it."""
    leader = muster.start(
        *("--nnodes=3", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}"),
        *("--gang-timeout=60", "--", "true"),
    )
    wait_until(lambda: is_open(port), "the leader to listen")
    reason = "evil" + ATTACKS[how].decode() + "end"

    with Peer(port) as peer:
        peer.say(join(slots=1, least_nodes=3, most_nodes=3))  # another one is waited for
        peer.say({"type": "preparing", "waits_for": reason, "exit_code": 65})
        leader.err.wait_for("evil")
    leader.signal(signal.SIGTERM)
    leader.end(20)

    assert leader.code in (65, 143), leader.words()  # what has a control is no message
    assert_harmless(leader)
    assert [line for line in leader.said if "evil" in line]
