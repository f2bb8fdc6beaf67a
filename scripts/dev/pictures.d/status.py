"""A job of three hosts as `muster status --watch` shows it. Needs root, for the hosts."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import svg
from terminal import Terminal

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PICTURE = ROOT / "docs" / "pictures" / "status-watch.svg"
HOSTS = [ROOT / "scripts" / "dev" / "hosts", "--name", "gpu", "--net", "10.79.0"]
COUNT = 3
ROWS, COLUMNS = 14, 112


def on_host(number, *command):
    return [str(word) for word in (*HOSTS, "exec", number, *command)]


def agent(number, muster, folder, environment):
    options = [f"--nnodes={COUNT}", f"--node-rank={number}", "--master-addr=gpu-h0", "--nproc-per-node=2", "--job-id=llama-7b"]
    command = on_host(number, muster, *options, "--", "python3", "status_program.py")
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def take(muster, folder):
    environment = {
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PATH": os.pathsep.join([str(muster.parent), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]),
        "PYTHONPATH": str(ROOT / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    agents = [agent(number, muster, folder, environment) for number in range(COUNT)]
    line = "muster status --job llama-7b --watch"
    terminal = Terminal(
        ["sh", "-c", f"sleep 4; exec {' '.join(on_host(1, muster, *line.split()[1:]))}"],
        ROWS,
        COLUMNS,
        hide=(f"{folder}/", "~/"),
        cwd=folder,
        env=environment,
    )
    terminal.show(f"$ {line}\r\n")
    terminal.wait_for(lambda text: text.count("running") >= 2 * COUNT, "all workers")
    picture = svg.draw(terminal.screen)
    (folder / "taken").touch()
    for one in agents:
        one.wait()
    terminal.end()
    return picture


def main(muster):
    subprocess.run([*HOSTS, "up", str(COUNT)], check=True)
    try:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            shutil.copy(HERE / "programs" / "status_program.py", folder)
            PICTURE.write_text(take(muster, Path(folder)))
            print(PICTURE.relative_to(ROOT))
    finally:
        subprocess.run([*HOSTS, "down"], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
