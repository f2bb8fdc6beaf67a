"""Workers write into pseudo-terminals where muster shows their lines on a terminal."""

import os
import re
import signal

import pytest

from support.muster import binary

WHAT_IT_HAS = """
for fd in 0 1 2; do [ -t $fd ] && echo "fd $fd is a terminal" || echo "fd $fd is none"; done"""


def of_two(*command):
    return [binary(), "--nproc-per-node=2", "--color=never", *command]


def test_both_streams_of_each_worker_are_a_terminal(terminal):
    one = terminal(*of_two("--", "sh", "-c", WHAT_IT_HAS))

    assert one.end() == 0
    for rank in range(2):
        assert f"[{rank}] fd 1 is a terminal" in one.screen.text
        assert f"[{rank}] fd 2 is a terminal" in one.screen.text


def test_a_stream_not_shown_on_the_terminal_is_no_terminal(terminal, muster):
    command = f"{binary()} -- sh -c '{WHAT_IT_HAS}' 2>{muster.folder}/errors"
    one = terminal("sh", "-c", command)

    assert one.end() == 0
    assert "fd 1 is a terminal" in one.screen.text
    assert "fd 2 is none" in one.screen.text


@pytest.mark.parametrize("options", [["--log-dir=logs"], ["--tty=never"]])
def test_streams_kept_in_files_or_hidden_are_pipes(terminal, muster, options):
    one = terminal("sh", "-c", 'cd "$0" && exec "$@"', muster.folder, *of_two(*options, "--", "sh", "-c", WHAT_IT_HAS))

    assert one.end() == 0
    assert one.screen.text.count("fd 1 is none") == 2
    assert one.screen.text.count("fd 2 is none") == 2


def test_where_the_console_is_no_terminal_workers_have_none(muster):
    job = muster.run("--nproc-per-node=2", "--", "sh", "-c", WHAT_IT_HAS)

    assert job.out.text.count("fd 1 is none") == 2


def test_tty_always_gives_24_by_80_terminals_and_passes_bytes_unchanged(muster):
    script = WHAT_IT_HAS + "; stty size <&1; printf 'one\\ntwo\\r\\n\\t\\004x'"
    job = muster.run("--", "sh", "-c", script, env={"MUSTER_TTY": "always"})

    assert job.out.bytes == (
        b"fd 0 is none\nfd 1 is a terminal\nfd 2 is a terminal\n24 80\none\ntwo\r\n\t\x04x"
    )


def test_a_workers_terminal_is_narrower_by_the_prefix(terminal):
    one = terminal(*of_two("--", "sh", "-c", "stty size <&1"))

    assert one.end() == 0
    assert sorted(re.findall(r"\[\d\] \d+ \d+", one.screen.text)) == ["[0] 40 196", "[1] 40 196"]


@pytest.mark.parametrize(("count", "columns"), [(1, 132), (2, 128)])
def test_a_new_size_of_the_console_is_that_of_the_workers_terminals(terminal, count, columns):
    """A single worker has the terminal: the kernel tells it, and not muster."""
    script = "trap 'stty size <&1' WINCH; echo rea''dy; while :; do sleep 100 & wait $!; done"
    one = terminal(binary(), f"--nproc-per-node={count}", "--", "sh", "-c", script)
    one.screen.wait_for("ready", times=count)

    one.resize(rows=50, columns=132)

    one.screen.wait_for(f"50 {columns}", times=count)
    os.kill(one.pid, signal.SIGTERM)
    assert one.end() == 143


def test_colours_and_progress_bars_reach_the_console(terminal):
    script = "printf '\\033[32mgreen\\033[0m\\n'; printf '10%%\\r20%%\\r30%%\\n'"
    one = terminal(*of_two("--", "sh", "-c", script))

    assert one.end() == 0
    assert one.screen.text.count("\x1b[32mgreen\x1b[0m") == 2
    assert all(f"[{rank}] 30%\r\n" in one.screen.text for rank in range(2))


def test_both_streams_keep_their_order(terminal):
    script = "i=0; while [ $i -lt 1000 ]; do echo $i; echo $((i + 1)) >&2; i=$((i + 2)); done"
    one = terminal(*of_two("--", "sh", "-c", script))

    assert one.end() == 0
    for rank in range(2):
        lines = re.findall(rf"\[{rank}\] (\d+)\r\n", one.screen.text)
        assert lines == [str(number) for number in range(1000)]


def test_nothing_of_a_large_output_is_lost(terminal):
    one = terminal(*of_two("--", "seq", "50000"))

    assert one.end() == 0
    for rank in range(2):
        lines = re.findall(rf"^\[{rank}\] (\d+)\r?$", one.screen.text, re.MULTILINE)
        assert lines == [str(number) for number in range(1, 50_001)]


def test_no_terminal_controls_a_worker(terminal):
    """A worker's TIOCSTI and its password prompt by /dev/tty do not reach muster's terminal."""
    script = "(: </dev/tty) 2>/dev/null && echo it has one || echo it has none"
    one = terminal(*of_two("--", "sh", "-c", script))

    assert one.end() == 0
    assert one.screen.text.count("it has none") == 2


def test_without_pseudo_terminals_workers_have_pipes(terminal, worker):
    filtered = [worker("refuse"), "pseudo-terminals"]
    one = terminal(*filtered, *of_two("--verbose", "--", "sh", "-c", WHAT_IT_HAS))

    assert one.end() == 0
    assert one.screen.text.count("fd 1 is none") == 2
    assert one.screen.text.count("write into pipes and not into terminals: ") == 1


@pytest.mark.parametrize(("tty", "said"), [("always", 1), ("auto", 0)])
def test_missing_pseudo_terminals_are_reported_with_the_tty_option(muster, worker, tty, said):
    job = muster.run(
        "--nproc-per-node=2",
        f"--tty={tty}",
        "--",
        "true",
        through=[worker("refuse"), "pseudo-terminals"],
    )

    assert job.code == 0
    warning = "the workers write into pipes and not into terminals: making a pseudo-terminal: "
    assert job.err.text.count(warning) == said
