"""Reads the pages of the documentation: their tables, their code blocks, their links."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from support.gang import free_port  # noqa: F401  # for those that run commands of pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DEADLINE = 120  # seconds after which what a page runs is taken to hang

FENCE = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


def page(name):
    return (ROOT / "docs" / name).read_text()


def source_file(name):
    """The path of a file of the program; its name is enough, since each name stands for one file."""
    (path,) = [path for folder in ("src", "launcher") for path in (ROOT / folder).rglob(name)]
    return path


def source(name):
    """The code of a file of the program, however it is broken into lines; without comments."""
    return one_line(source_file(name).read_text())


def one_line(code):
    code = re.sub(r"//.*", "", code)
    return re.sub(r"(::|[({]) ", r"\1", re.sub(r"\s+", " ", code))


def binary():
    """The program under test: $BINARY or $MUSTER, else build/muster."""
    given = os.environ.get("BINARY") or os.environ.get("MUSTER")
    return Path(given or ROOT / "build" / "muster").absolute()


def name_of(path):
    return str(path.relative_to(ROOT))


@dataclass
class Block:
    """A fenced block: its language, the word behind that, its lines, and where it stands."""

    page: Path
    line: int
    language: str
    word: str
    text: str

    def __str__(self):
        return f"{name_of(self.page)}:{self.line}"


def blocks(path):
    text = path.read_text()
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(path, line, *match.groups())


def all_blocks(language):
    return [block for path in PAGES for block in blocks(path) if block.language == language]


def without_blocks(text):
    return FENCE.sub("", text)


def section(text, heading):
    """The text under a heading, up to the next one of its level or above."""
    match = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert match, f"no heading '{heading}'"
    rest = text[match.end() :]
    end = re.search(rf"^#{{1,{len(match.group(1))}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables(text):
    """Each table as a list of rows, the first one its heading."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            rows.append([cell.strip().replace("\\|", "|").replace("\\<", "<") for cell in cells])
        elif rows:
            found.append([row for row in rows if not set("".join(row)) <= set("-: ")])
            rows = []
    return found


def table(text, first_heading):
    """The rows, without the heading, of the one table whose first column has this heading."""
    matching = [rows for rows in tables(text) if rows[0][0] == first_heading]
    assert len(matching) == 1, f"expected one table that begins with '{first_heading}'"
    return matching[0][1:]


def plain(cell):
    return cell.replace("`", "")


@dataclass
class Desk:
    """A folder in which commands of a page run: `muster` is on its PATH, nothing else is set."""

    folder: Path
    environment: dict = field(default_factory=dict)

    def __post_init__(self):
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "muster").symlink_to(binary())
        for shared in ("examples", "scripts", "templates"):
            (self.folder / shared).symlink_to(ROOT / shared)
        (self.folder / "hosts.txt").write_text("node-a slots=8\nnode-b slots=8\n")
        self.environment = {
            "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "MUSTER_CONSOLE_TIME": "off",  # as on a terminal
            **{name: os.environ[name] for name in ("ASAN_OPTIONS",) if name in os.environ},
        }

    def run(self, command, **more_environment):
        """Runs a shell command; its two outputs are one, as on a terminal."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**self.environment, **more_environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
