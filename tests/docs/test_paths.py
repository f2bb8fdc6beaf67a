"""Every path of the repository that a page or a comment names exists: who follows one must not search."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
KNOWN = {*FILES, *(str(folder) for file in FILES for folder in pathlib.PurePath(file).parents)}
STAGES = {file.split("/")[1] for file in FILES if file.startswith("src/") and file.count("/") > 1}
FIRST = {"src", "launcher", "include", "tests", "scripts", "docs", "templates", "requirements", "examples", *STAGES}
FROM = ("", "src/", "tests/", "tests/unit/", "docs/")  # where a reader would look
PATH = re.compile(r"(?<![\w/.$<{*~-])((?:[a-z_0-9]+/)+(?:[\w.-]+\.(?:cpp|hpp|h|c|py|md|yaml|txt|tsv|bash|cmake|toml))?)(?![\w<{*$-])")
INVENTED = {"templates/modes/mine.yaml", "requirements/NAME.txt"}  # a reader's own, and a pattern


def texts(file):
    """The spans of code and links of a page, and the comments of a source."""
    text = (ROOT / file).read_text()
    if file.endswith(".md"):
        return re.findall(r"`([^`\n]+)`|\]\(([^)#\s:]+)\)", text)
    mark = "//" if file.endswith((".cpp", ".hpp", ".h", ".c")) else "# "
    return [(comment, "") for comment in re.findall(mark + r"[^\n]*", text)]


def is_read(file):
    return file.endswith((".md", ".cpp", ".hpp", ".h", ".c", ".py", ".bash", "CMakeLists.txt")) and file != "CHANGELOG.md"


def missing(file):
    places = [*FROM, str(pathlib.PurePath(file).parent) + "/"]
    for code, link in texts(file):
        for path in PATH.findall(code or link):
            is_ours = path.split("/")[0] in FIRST and path not in INVENTED
            if is_ours and not any((place + path).rstrip("/") in KNOWN for place in places):
                yield f"{file}: {path}"


def test_paths_in_pages_and_comments_exist():
    assert [line for file in FILES if is_read(file) for line in missing(file)] == []


def test_a_path_that_is_gone_is_found(tmp_path, monkeypatch):
    (tmp_path / "a.cpp").write_text("// The rest is in agent/gone.cpp, and torch/agent/api.py is another's.\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)

    assert list(missing("a.cpp")) == ["a.cpp: agent/gone.cpp"]
