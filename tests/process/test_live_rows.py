"""Progress bars of several workers, each in a separate row at the end of the terminal."""

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
write("\\n")
""",
    "a hidden cursor": """
write("\\x1b[?25l")
write("one\\n  0%")
for step in range(1, 101):
    write(f"\\r\\x1b[2K\\x1b[1A\\x1b[2Kone\\n{step:3}%")
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


def python(script):
    return ["/usr/bin/python3", "-c", WRITING + script]


@pytest.mark.parametrize("bar", BARS.values(), ids=BARS.keys())
def test_the_last_state_of_each_progress_bar_stays(muster, bar):
    command = of_two(*python('write("begin\\n")' + bar + 'write("end\\n")'))

    with Screen(muster.folder, command, muster.environment()) as screen:
        rows = screen.rows()

    for rank in range(2):
        lines = [row for row in rows if row.startswith(f"[{rank}]")]
        above = [f"[{rank}] one"] if "one" in bar else []
        assert lines == [f"[{rank}] begin", *above, f"[{rank}] 100%", f"[{rank}] end"], rows
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


def test_progress_bars_take_at_most_half_of_the_terminal(terminal, tmp_path):
    script = f"""
write("\\rbar")
wait_for("{tmp_path}/go")
"""
    command = [binary(), "--nproc-per-node=8", "--color=never", "--", *python(script)]
    one = terminal(*command)
    one.screen.wait_for("[7] bar\r\n")

    one.resize(rows=8, columns=200)
    one.screen.wait_for("[2] bar\r\n... 5 more rows\r\n")
    (tmp_path / "go").touch()

    assert one.end() == 0
