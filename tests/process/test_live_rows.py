"""Unfinished lines of several workers, each a row at the foot of the terminal."""

import re

import pytest

from support import processes
from support.deadlines import wait_until
from support.muster import binary
from support.screen import Screen
from support.terminal import CTRL_C, CTRL_Z

# As tqdm, tqdm within tqdm, and rich do it.
BARS = {
    "one bar": """
for step in range(201):
    write(f"\\r{step // 2:3}%")
write("\\n")
""",
    "a bar within a bar": """
for step in range(5):
    write(f"\\r{step * 25:3}%")
    for part in range(50):
        write("\\n")
        write(f"\\rpart {part}")
        write("\\x1b[A")
    write("\\n\\r       \\r\\x1b[A")
write(f"\\r{100:3}%")
write("\\n")
""",
    "a hidden cursor": """
write("\\x1b[?25l")
write("  0%")
for step in range(1, 101):
    write(f"\\r\\x1b[2K{step:3}%")
write("\\n\\x1b[?25h")
""",
}
WRITING = """
import os, sys, time
def write(text):
    os.write(1, text.encode())
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)
"""


def of_two(*command):
    return [binary(), "--nproc-per-node=2", "--color=never", "--", *command]


def of_four(*command):
    return [binary(), "--nproc-per-node=4", "--color=never", "--", *command]


def python(script):
    return ["/usr/bin/python3", "-c", WRITING + script]


@pytest.mark.parametrize("bar", BARS.values(), ids=BARS.keys())
def test_the_last_state_of_each_progress_bar_stays(muster, bar):
    command = of_two(*python('write("begin\\n")' + bar + 'write("end\\n")'))

    with Screen(muster.folder, command, muster.environment()) as screen:
        rows = screen.rows()

    for rank in range(2):
        lines = [row for row in rows if row.startswith(f"[{rank}]")]
        assert lines == [f"[{rank}] begin", f"[{rank}] 100%", f"[{rank}] end"], rows
    others = [row for row in rows if not row.startswith(("[", "muster: ", "Pane is dead"))]
    assert not others, rows


def test_progress_bars_of_several_workers_are_drawn_together(terminal, tmp_path):
    script = f"""
write(f"\\r {{int(os.environ['RANK']) + 1}}0%")
wait_for("{tmp_path}/go")
"""
    one = terminal(*of_two(*python(script)))

    one.screen.wait_for("[0]  10%\r\n[1]  20%\r\n")
    (tmp_path / "go").touch()

    assert one.end() == 0


def test_lines_are_printed_above_progress_bars(muster):
    script = """
for step in range(100):
    write(f"\\r\\x1b[Kline {step}\\n\\rbar {step}")
write("\\n")
"""
    with Screen(muster.folder, of_two(*python(script)), muster.environment()) as screen:
        rows = screen.rows()

    for rank in range(2):
        lines = [row.removeprefix(f"[{rank}] ") for row in rows if row.startswith(f"[{rank}]")]
        assert lines == [f"line {step}" for step in range(100)] + ["bar 99"], rows


def test_a_dumb_terminal_gets_lines(terminal):
    one = terminal(*of_two(*python(BARS["one bar"])), env={"TERM": "dumb"})

    assert one.end() == 0
    assert not re.search(r"\x1b\[\d*[AJ]", one.screen.text)
    assert one.screen.text.count("100%\r\n") == 2


def test_progress_bars_are_redrawn_after_fg(shell):
    script = """printf '\\rba%s' r; exec sleep 100"""
    shell.press(f'{binary()} --nproc-per-node=2 --color=never -- sh -c "{script}"\n')
    shell.screen.wait_for("[0] bar\r\n[1] bar\r\n")
    (agent,) = processes.children_of(shell.foreground())

    shell.press(CTRL_Z)
    shell.screen.wait_for("Stopped")
    # The shell has its terminal back as soon as the guard has stopped; the agent may hear of it later.
    wait_until(lambda: {one.state for one in processes.workers_of(agent.pid)} == {"T"}, "both workers to be stopped")
    before = shell.screen.text.count("[1] bar\r\n")
    shell.press("fg\n")
    shell.screen.wait_for("[1] bar\r\n", times=before + 1)
    assert not re.search(r"\x1b\[\d*[AJ]", shell.screen.text.split("Stopped")[1]), "the shell's lines stay"

    shell.press(CTRL_C)
    shell.screen.wait_for("prompt> ", times=3)
    shell.press("exit\n")
    assert shell.end() == 130


def test_eight_bars_are_drawn_and_half_of_a_low_terminal(terminal, tmp_path):
    script = f"""
write("\\rbar")
wait_for("{tmp_path}/go")
"""
    command = [binary(), "--nproc-per-node=10", "--color=never", "--", *python(script)]
    one = terminal(*command)
    one.screen.wait_for("[7] bar\r\n... 2 more\r\n")

    one.resize(rows=8, columns=200)
    one.screen.wait_for("[2] bar\r\n... 7 more\r\n")
    (tmp_path / "go").touch()

    assert one.end() == 0


def test_a_narrower_terminal_draws_the_rows_anew(terminal, tmp_path):
    """As tqdm draws, which asks for the width once: a row is cut, and the broken ones are erased."""
    script = f"""
write("\\r" + "#" * 150 + " first")
wait_for("{tmp_path}/narrow")
write("\\r" + "#" * 150 + " second")
wait_for("{tmp_path}/go")
write("\\n")
"""
    one = terminal(binary(), "--nproc-per-node=4", "--color=never", "--", *python(script))
    one.screen.wait_for("[3] " + "#" * 150 + " first\r\n")

    one.resize(rows=40, columns=60)
    broken = 4 * 3  # rows of 160 columns in 60
    one.screen.wait_for(f"\x1b[{broken}A\x1b[J")
    cut = "".join(f"[{rank}] {'#' * 56}\r\n" for rank in range(4))
    one.screen.wait_for(cut)
    one.resize(rows=40, columns=200)
    one.screen.wait_for("\x1b[4A\x1b[J")
    (tmp_path / "narrow").touch()
    one.screen.wait_for("[3] " + "#" * 150 + " second\r\n")
    (tmp_path / "go").touch()

    assert one.end() == 0


def test_a_resized_terminal_shows_each_bar_once_at_the_end(muster):
    """In a terminal that breaks rows anew, as most do. tmux tells the new size to the program some time after it has
    broken the rows: what a program draws in between is erased by the old size. So nothing is drawn in between."""
    tmux = f"tmux -S {muster.folder}/tmux"
    script = f"""
import subprocess
def output_of(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
def wait_until(condition):
    while not condition():
        time.sleep(0.05)
write("begin\\n")
for step in range(101):
    write(f"\\r{{'#' * 90}} {{step:3}}%")
    if step == 50 and os.environ["RANK"] == "0":
        wait_until(lambda: output_of("{tmux} capture-pane -p").count(" 50%") == 4)
        pane = output_of("{tmux} display -p '#{{pane_tty}}'").strip()
        output_of("{tmux} resize-window -x 60 -y 40")
        wait_until(lambda: os.get_terminal_size(os.open(pane, os.O_RDONLY | os.O_NOCTTY)).columns == 60)
        open("{muster.folder}/narrow", "w").close()
    if step == 50:
        wait_for("{muster.folder}/narrow")
write("\\n")
"""
    command = of_four(*python(script))
    with Screen(muster.folder, command, muster.environment()) as screen:
        rows = screen.rows()

    text = "".join(rows)
    assert re.findall(r"\d+%", text) == ["100%"] * 4, rows
    assert text.count("begin") == 4, rows


def test_a_single_worker_writes_to_the_terminal_itself(terminal):
    script = "printf 'a\\r\\033[?25l\\033[2Ab\\033]0;t\\007\\033[3C\\bc\\n'"
    one = terminal(binary(), "--", "sh", "-c", script)

    assert one.end() == 0
    assert "a\r\x1b[?25l\x1b[2Ab\x1b]0;t\a\x1b[3C\bc\r\n" in one.screen.text
