"""Runs each program as a person would, and draws what that person sees at the best moment."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import svg
from terminal import Terminal

HERE = Path(__file__).resolve().parent
PICTURES = HERE.parents[2] / "docs" / "pictures"
COUNTS = [1, 2, 8]
FRONTS = ["torchrun", "muster"]
ROWS, COLUMNS = 24, 80

# Programs, and the keys typed to each: a key is sent once the text before it has been seen.
PROGRAMS = {
    "tqdm": [],
    "rich": [],
    "pdb": [("(Pdb)", "p losses\n"), ("[0.5, 0.25]", "n\n")],
    "ipython": [("In [1]:", "min(losses)\n"), ("Out[1]: 0.25", "losses[")],
}
SEEN = {"tqdm": "50%", "rich": "50%", "pdb": "-> ", "ipython": "In [2]: losses["}
MOST_SEEN = {"tqdm": 8, "rich": 5}  # as many ranks as there is room for
LAST_KEYS = {"pdb": "c\n", "ipython": "0]\nexit\n"}


def command(name, front, count):
    if front == "torchrun":
        return f"muster torchrun --nproc-per-node {count} {name}_program.py"
    reads = f" --stdin {count - 1}" if name in LAST_KEYS and count > 1 else ""
    return f"muster --nproc-per-node {count}{reads} -- python3 {name}_program.py"


def environment(muster, folder):
    kept = {"HOME": str(folder), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    path = [str(muster.parent), str(Path(sys.executable).parent), "/usr/bin", "/bin"]
    quiet = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **quiet, "PATH": os.pathsep.join(path)}


def is_drawn(name, count, text):
    """Every rank of those that draw; the others wait for one that is talked to."""
    if name in LAST_KEYS:
        return SEEN[name] in text
    return text.count(SEEN[name]) >= min(count, MOST_SEEN[name])


def take(name, front, count, muster, folder):
    line = command(name, front, count)
    terminal = Terminal(
        line.split(),
        ROWS,
        COLUMNS,
        hide=(f"{folder}/", "~/"),
        cwd=folder,
        env=environment(muster, folder),
    )
    terminal.show(f"$ {line}\r\n")
    for text, keys in PROGRAMS[name]:
        terminal.wait_for(lambda shown, text=text: text in shown, f"'{text}'")
        terminal.press(keys)
    terminal.wait_for(lambda text: is_drawn(name, count, text), f"{count} times '{SEEN[name]}'")
    picture = svg.draw(terminal.screen)
    (folder / "taken").touch()  # the programs go on
    if name in LAST_KEYS:
        terminal.press(LAST_KEYS[name])
    if code := terminal.end():
        raise RuntimeError(f"'{line}' ended with {code}; the terminal shows\n{terminal.text()}")
    return picture


def main(muster, names):
    for name in names or PROGRAMS:
        for front in FRONTS:
            for count in COUNTS:
                with tempfile.TemporaryDirectory(dir="/tmp") as folder:
                    folder = Path(folder)
                    shutil.copytree(HERE / "programs", folder, dirs_exist_ok=True)
                    picture = take(name, front, count, muster, folder)
                path = PICTURES / f"{name}-{count}-{front}.svg"
                path.write_text(picture)
                print(path.relative_to(PICTURES.parent.parent))


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
