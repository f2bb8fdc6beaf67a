"""Jobs in a terminal: which worker gets the keys, and the effect of Ctrl-C and Ctrl-Z."""

import fcntl
import os
import re
import signal
import termios
import time

import pytest

from support import processes
from support.deadlines import wait_until
from support.muster import binary
from support.terminal import CTRL_BACKSLASH, CTRL_C, CTRL_S, CTRL_Z

READY = [
    "sh",
    "-c",
    "echo rea''dy; exec sleep 100",
]  # a shell that echoes the command says it otherwise


def test_a_single_worker_is_the_foreground_process_group(terminal, worker):
    one = terminal(binary(), "--", worker("describe_itself"))

    assert one.end() == 0
    assert "foreground yes" in one.screen.text


def test_a_single_worker_reads_the_terminal(terminal):
    one = terminal(binary(), "--", "sh", "-c", "printf 'who? '; read name; echo hello $name")
    one.screen.wait_for("who? ")

    one.press("rank\n")

    assert one.end() == 0
    assert "hello rank" in one.screen.text


@pytest.mark.kernel
def test_ctrl_c_reaches_one_worker_and_muster_ends_with_130(terminal):
    one = terminal(binary(), "--", *READY)
    one.screen.wait_for("ready")

    one.press(CTRL_C)

    assert one.end(2) == 130
    assert "stopped by muster: rank 0" in one.screen.text
    assert "failed" not in one.screen.text


def test_one_worker_may_handle_ctrl_c_itself_and_go_on(terminal, worker, muster):
    """As pdb does, and every interactive interpreter."""
    one = terminal(binary(), "--", worker("echo_signals"))
    one.screen.wait_for("ready")

    one.press(CTRL_C)
    one.screen.wait_for("got INT")
    one.press(CTRL_BACKSLASH)
    one.screen.wait_for("got QUIT")
    one.press(CTRL_C)
    one.screen.wait_for("got INT", times=2)

    os.killpg(one.foreground(), signal.SIGKILL)
    assert one.end(2) == 137


def test_ctrl_c_ends_several_workers_with_130(terminal, worker):
    one = terminal(binary(), "--nproc-per-node=3", "--", worker("echo_signals"), 0)
    one.screen.wait_for("ready", times=3)

    one.press(CTRL_C)

    assert one.end(2) == 130
    assert one.screen.text.count("got INT") == 3


def test_a_second_ctrl_c_ends_stubborn_workers_at_once(terminal, worker):
    one = terminal(binary(), "--nproc-per-node=2", "--", worker("echo_signals"))
    one.screen.wait_for("ready", times=2)
    one.press(CTRL_C)
    one.screen.wait_for("got INT", times=2)
    time.sleep(0.3)  # a person's second one

    one.press(CTRL_C)

    assert one.end(2) == 130


@pytest.mark.parametrize("count", [1, 2])
def test_workers_get_sigwinch_at_a_new_terminal_size(terminal, worker, count):
    one = terminal(binary(), f"--nproc-per-node={count}", "--", worker("echo_signals"), 0)
    one.screen.wait_for("ready", times=count)

    one.resize(rows=50, columns=132)

    one.screen.wait_for("got WINCH", times=count)
    os.kill(one.pid, signal.SIGTERM)
    assert one.end(2) == 143


def test_a_lost_terminal_ends_the_job(terminal, muster):
    one = terminal(binary(), "--nproc-per-node=2", "--", *READY)
    one.screen.wait_for("ready", times=2)

    os.kill(one.pid, signal.SIGHUP)  # what the kernel sends to the leader of the session

    assert one.end(2) == 129


def test_after_one_worker_the_terminal_belongs_to_its_former_user_again(terminal):
    """A shell without job control never takes the terminal back by itself."""
    one = terminal("sh", "-c", f"{binary()} -- true; read answer; echo read $answer")
    one.screen.wait_for("succeeded")

    one.press("back\n")

    assert one.end(2) == 0
    assert "read back" in one.screen.text


@pytest.mark.kernel
def test_after_a_killed_agent_the_terminal_belongs_to_its_former_user_again(terminal):
    one = terminal(
        "sh",
        "-c",
        f"{binary()} -- sh -c 'echo rea\"\"dy; exec sleep 100'; read answer; echo read $answer",
    )
    one.screen.wait_for("ready")
    (guard,) = [p.pid for p in processes.children_of(one.pid)]
    (agent,) = [p.pid for p in processes.children_of(guard)]

    os.kill(agent, signal.SIGKILL)
    wait_until(lambda: not processes.is_alive(guard), "the end of muster", 2)
    one.press("back\n")

    assert one.end(2) == 0
    assert "read back" in one.screen.text


def test_in_the_background_one_worker_does_not_take_the_terminal(shell, worker):
    shell.press(f"{binary()} -- {worker('describe_itself')} & wait; echo 'en''ded'\n")
    shell.screen.wait_for("ended")

    assert "foreground no" in shell.screen.text
    shell.press("exit\n")
    assert shell.end(2) == 0


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.kernel
def test_ctrl_z_stops_the_job_and_fg_resumes_it(shell, count):
    shell.press(f"{binary()} --nproc-per-node={count} -- sh -c 'echo rea\"\"dy; exec sleep 100'\n")
    shell.screen.wait_for("ready", times=count)

    shell.press(CTRL_Z)
    shell.screen.wait_for("Stopped", seconds=3)
    shell.press("echo 'in be''tween'\n")
    shell.screen.wait_for("in between", seconds=3)
    shell.press("fg\n")
    wait_until(lambda: shell.foreground() != shell.pid, "the job to be in the foreground", 3)
    shell.press(CTRL_C)
    shell.screen.wait_for("prompt> ", times=4, seconds=3)
    shell.press("echo code $?\n")

    shell.screen.wait_for("code 130", seconds=3)
    shell.press("exit\n")
    shell.end(2)


def test_a_job_that_was_stopped_can_go_on_in_the_background(shell, tmp_path):
    waits = f"while ! [ -e {tmp_path}/go ]; do sleep 0.01; done"
    shell.press(
        f'{binary()} --nproc-per-node=2 -- sh -c \'echo rea""dy; {waits}; echo do""ne\'\n'
    )
    shell.screen.wait_for("ready", times=2)

    shell.press(CTRL_Z)
    shell.screen.wait_for("Stopped", seconds=3)
    shell.press("bg\n")
    (tmp_path / "go").touch()

    shell.screen.wait_for("done", times=2, seconds=3)
    shell.press("wait; exit\n")
    shell.end(3)


def test_a_worker_that_reads_in_the_background_gets_the_terminal_by_fg(shell):
    """As with any job, the shell says that it is stopped: else nobody would bring it back."""
    shell.press(f"{binary()} -- sh -c 'read line; echo \"read $line\"' &\n")
    shell.press("wait\n")
    shell.screen.wait_for("Stopped", seconds=5)

    shell.press("fg\n")
    wait_until(lambda: shell.foreground() != shell.pid, "the job to be in the foreground", 3)
    shell.press("something\n")

    shell.screen.wait_for("read something", seconds=3)
    shell.press("exit\n")
    shell.end(2)


def test_ctrl_c_in_a_shell_script_stops_the_script_too(terminal):
    """A shell gives up its script when the program ended by INT, and muster's 130 says so."""
    one = terminal(
        "bash",
        "-c",
        f"{binary()} --nproc-per-node=2 -- sh -c 'echo rea\"\"dy; exec sleep 100'; echo code $?",
    )
    one.screen.wait_for("ready", times=2)

    one.press(CTRL_C)

    one.end(2)
    assert "code 130" in one.screen.text or "code" not in one.screen.text


@pytest.mark.needs("pidfds")  # the order of two deaths
def test_a_worker_that_failed_before_ctrl_c_is_why_the_job_ended(terminal, tmp_path):
    """Muster finds both at once; the terminal tells the worker that reads it, and not muster."""
    fails = f"while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 3"
    script = f'[ $RANK = 1 ] || {{ echo rea""dy 0 $$; exec sleep 100; }}; echo rea""dy 1 $$; {fails}'
    one = terminal(binary(), "--nproc-per-node=2", "--stdin=0", "--", "sh", "-c", script)
    one.screen.wait_for("ready", times=2)
    pid_of = dict(re.findall(r"ready (\d) (\d+)", one.screen.text))
    (agent,) = processes.children_of(one.pid)

    os.kill(agent.pid, signal.SIGSTOP)
    (tmp_path / "go").touch()
    wait_until(lambda: not processes.is_alive(pid_of["1"]), "rank 1 to be dead")
    one.press(CTRL_C)
    wait_until(lambda: not processes.is_alive(pid_of["0"]), "rank 0 to be dead")
    os.kill(agent.pid, signal.SIGCONT)

    assert one.end() == 3, one.screen.text


def test_the_chosen_worker_of_several_reads_the_terminal(terminal):
    script = "if [ $RANK = 1 ]; then echo rea''dy; read line; echo got $line; fi"
    one = terminal(binary(), "--nproc-per-node=2", "--stdin=1", "--", "sh", "-c", script)
    one.screen.wait_for("ready")

    one.press("hello\n")

    assert one.end(2) == 0
    assert "got hello" in one.screen.text


BREAKPOINTS = {
    "breakpoint": "breakpoint()",
    # As torch.distributed.breakpoint(rank=) has it.
    "another stream": "sys.stdin = open('/dev/stdin'); breakpoint()",
}


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("way", BREAKPOINTS)
@pytest.mark.parametrize("front_end", ["torchrun", "none"])
def test_a_debugger_in_the_last_worker_reads_the_terminal(terminal, tmp_path, count, way, front_end):
    script = f"""import os, sys
answer = 42
if os.environ["RANK"] == "{count - 1}":
    {BREAKPOINTS[way]}
    print("goes on with", answer)
"""
    (tmp_path / "debugged.py").write_text(script)
    python = ["/usr/bin/python3", tmp_path / "debugged.py"]
    chosen = [f"--stdin={count - 1}"] if count > 1 else []
    lines = {
        "torchrun": ["torchrun", f"--nproc-per-node={count}", "--no-python", *python],
        "none": [f"--nproc-per-node={count}", *chosen, "--", *python],
    }
    one = terminal(binary(), *lines[front_end], env={"NO_COLOR": "1"})
    prefix = f"[{count - 1}] " if count > 1 else ""
    one.screen.wait_for(f"{prefix}(Pdb) ")

    one.press("p 'the answer is', ans\x7f\x7fnswer\n")
    one.screen.wait_for(f"{prefix}('the answer is', 42)")
    one.press("answer = 43\nc\n")

    assert one.end() == 0
    assert "goes on with 43" in one.screen.text  # behind two prompts, if the keys were faster


def test_pythons_input_prompts_in_one_of_several_workers(terminal):
    script = "import os; os.environ['RANK'] == '1' and print('hello', input('Name: '))"
    one = terminal(binary(), "torchrun", "--nproc-per-node=2", "--no-python", "/usr/bin/python3", "-c", script, env={"NO_COLOR": "1"})  # fmt: skip
    one.screen.wait_for("[1] Name: ")

    one.press("Eve\n")

    assert one.end() == 0
    assert "[1] hello Eve" in one.screen.text


UNFINISHED = """
[ $RANK = 0 ] || exec sleep 100
printf 'Name: '
while ! [ -e "$0" ]; do sleep 0.01; done
echo Eve"""


def test_an_unfinished_line_is_shown_and_continued(terminal, tmp_path):
    options = ["--nproc-per-node=2", "--color=never", "--grace=1"]
    one = terminal(binary(), *options, "--", "sh", "-c", UNFINISHED, tmp_path / "go")
    one.screen.wait_for("[0] Name:")

    (tmp_path / "go").touch()
    one.screen.wait_for("[0] Name: Eve\r\n")

    one.press(CTRL_C)
    assert one.end() == 130


@pytest.mark.parametrize("who", ["another worker", "muster"])
def test_an_unfinished_line_stays_below_other_output(terminal, tmp_path, who):
    speaks = "echo in between" if who == "another worker" else "exit 3"
    script = f"""
case $RANK in
0) printf 'Name: '; while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; echo Eve;;
1) while ! [ -e {tmp_path}/speak ]; do sleep 0.01; done; {speaks}; exec sleep 100;;
esac"""
    options = ["--nproc-per-node=2", "--color=never", "--grace=100"]
    one = terminal(binary(), *options, "--", "sh", "-c", f"trap '' TERM; {script}")
    one.screen.wait_for("[0] Name:")

    (tmp_path / "speak").touch()
    one.screen.wait_for("[1] in between\r\n" if who == "another worker" else "muster: rank 1 (pid ")
    (tmp_path / "go").touch()
    one.screen.wait_for("[0] Name: Eve\r\n")

    one.press(CTRL_C)
    one.press(CTRL_C)
    one.end()


def test_a_prompt_of_the_stdin_worker_ends_before_other_output(terminal, tmp_path):
    """The terminal shows what is typed, behind the prompt: it cannot be drawn again."""
    script = f"""
case $RANK in
0) printf 'Name: '; read name; echo "it is $name";;
1) while ! [ -e {tmp_path}/speak ]; do sleep 0.01; done; echo in between;;
esac"""
    options = ["--nproc-per-node=2", "--color=never", "--stdin=0"]
    one = terminal(binary(), *options, "--", "sh", "-c", script)
    one.screen.wait_for("[0] Name: ")

    (tmp_path / "speak").touch()
    one.screen.wait_for("[0] Name: \r\n[1] in between\r\n")
    one.press("Eve\n")

    assert one.end() == 0
    assert "[0] it is Eve\r\n" in one.screen.text


def test_a_password_prompt_works(terminal):
    script = "if [ $RANK = 1 ]; then stty -echo; printf 'Password: '; read line; stty echo; echo; echo got $line; fi"
    options = ["--nproc-per-node=2", "--stdin=1", "--color=never"]
    one = terminal(binary(), *options, "--", "sh", "-c", script)
    one.screen.wait_for("[1] Password:")

    one.press("secret\n")

    assert one.end() == 0
    assert "[1] Password: \r\n[1] got secret\r\n" in one.screen.text


def test_input_to_one_of_several_workers_is_echoed_and_edited(terminal):
    script = "[ -t 1 ] && echo $RANK draws; [ $RANK = 0 ] || { read line; echo \"read $line\"; }"
    options = ["--nproc-per-node=2", "--stdin=1", "--color=never"]
    one = terminal(binary(), *options, "--", "sh", "-c", script)
    one.screen.wait_for("[0] 0 draws")
    one.screen.wait_for("[1] 1 draws")

    one.press("abx\x7f")
    one.screen.wait_for("abx\b \b", seconds=2)
    one.press("c\n")

    assert one.end() == 0
    assert "read abc" in one.screen.text


def test_ctrl_c_reaches_all_workers_that_share_the_terminal(terminal, worker):
    options = ["--nproc-per-node=3", "--stdin=all"]
    one = terminal(binary(), *options, "--", worker("echo_signals"), 0)
    one.screen.wait_for("ready", times=3)

    one.press(CTRL_C)

    assert one.end(2) == 130
    assert one.screen.text.count("got INT") == 3


def test_a_terminal_paused_by_ctrl_s_does_not_delay_the_job(terminal, worker, muster):
    fill = worker("fill_the_pipe")
    script = f"while ! [ -e {muster.folder}/go ]; do sleep 0.01; done; exec {fill} 1000000"
    one = terminal(binary(), "--nproc-per-node=2", "--console-stall=0.3", "--", "sh", "-c", script)
    one.screen.wait_for("muster: ")

    one.press(CTRL_S)
    (muster.folder / "go").touch()

    assert processes.wait_for_end(one.process, 5, "muster") == 0


def test_a_terminal_that_goes_away_ends_the_job(muster, worker, tmp_path):
    """A lost connection: the kernel sends HUP, and writing and reading fail from then on."""
    keyboard, screen = os.openpty()
    script = f"touch {tmp_path}/ready.$RANK; while :; do echo noise; sleep 0.01; done"
    process = processes.start(
        [binary(), "--nproc-per-node=2", "--grace=0.5", "--", "sh", "-c", script],
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env=muster.environment(),
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(screen)
    wait_until(lambda: len(list(tmp_path.glob("ready.*"))) == 2, "both workers")

    os.close(keyboard)

    assert processes.wait_for_end(process, 3, "muster") == 129
    muster.assert_no_survivors()
