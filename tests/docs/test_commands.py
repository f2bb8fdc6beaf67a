"""Commands on the pages work, and have the output that is shown."""

import re

import pytest
from pages import (
    CODE,
    PAGES,
    ROOT,
    all_blocks,
    blocks,
    free_port,
    name_of,
    page,
    section,
    without_blocks,
)

# Parts of outputs that differ from run to run, or from machine to machine.
CHANGING = [
    # Said by an agent that is there before its leader.
    (r"^muster: cannot reach the leader yet: connection refused .*\n", ""),
    (r'\bFile "/\S+/(\w+\.py)"', r'File "FOLDER/\1"'),
    (r"\bpid \d+", "pid N"),
    (r"\b\d+\.\d+ s\b", "N s"),
    (r"\bnode (\d+) \([\w.-]+\)", r"node \1 (HOST)"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"OMP_NUM_THREADS=\d+ \(\d+ allowed cores?", "OMP_NUM_THREADS=N (N allowed cores"),
    (r"^OMP_NUM_THREADS +\d+ +.*", "OMP_NUM_THREADS N SOURCE"),
    (r", core dumped\b", ""),
    (r" +$", ""),
]


def settled(lines):
    """Lines without what changes, in an order that does not depend on who was first."""
    text = "\n".join(lines)
    for pattern, replacement in CHANGING:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return sorted(line for line in text.splitlines() if line)


@pytest.mark.parametrize("path", sorted({block.page for block in all_blocks("console")}), ids=name_of)
def test_what_a_page_shows_is_what_a_reader_sees(path, desk):
    """The blocks run in one folder, from the first to the last, as a reader types them."""
    for block in blocks(path):
        if block.word:  # a file that the page shows
            (desk.folder / block.word).write_text(block.text)
        if block.language != "console":
            continue
        lines = block.text.splitlines()
        commands = [line[2:] for line in lines if line.startswith("$ ")]
        shown = [line for line in lines if not line.startswith("$ ")]
        assert commands, f"{block} shows no command: it must begin with '$ '"

        script = re.sub(r"--master-port \d+", f"--master-port {free_port()}", "\n".join(commands))
        seen = desk.run(script)

        assert settled(seen.stdout.splitlines()) == settled(shown), f"{block} shows something else"


def shell_lines(block):
    """The commands of a block with their comments, broken lines joined."""
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def commands_of(first_word):
    """The commands in sh blocks that begin with this word, assignments before it aside."""
    found = []
    for block in all_blocks("sh"):
        for line in shell_lines(block):
            if re.match(rf"(\w+=\S* )*{first_word}", line):
                found.append(pytest.param(line, id=f"{block}: {line[:50]}"))
    return found


@pytest.mark.parametrize("line", commands_of("muster "))
def test_a_command_of_muster_is_accepted(line, desk):
    command = re.split(r"\s[>|#]\s?", line)[0]
    if not re.search(r"\bmuster (plan|explain|render)\b|--print-|--help|--version", command):
        command = re.sub(r"\bmuster (run )?", "muster plan ", command, count=1)

    of_acme = {"ACME_MACHINES": "2", "ACME_INDEX": "1", "ACME_FIRST": "node-a"}  # alone it would be refused
    variables = of_acme if "$ACME" in command else {}
    seen = desk.run(command, CUDA_VISIBLE_DEVICES="0,1", **variables)

    assert seen.returncode == 0, f"{command}: {seen.stdout}"


@pytest.mark.parametrize("line", commands_of(r"\./scripts/"))
def test_a_script_exists_and_knows_its_options(line, desk):
    script = re.search(r"\./scripts/(dev/)?[\w-]+", line).group(0)

    help_text = desk.run(f"{script} --help")

    assert help_text.returncode == 0, help_text.stdout
    for option in re.findall(r"--[a-z-]+", line):
        assert option in help_text.stdout, f"{script} has no {option}"


def test_every_script_is_on_the_page_for_contributors():
    folders = (ROOT / "scripts", ROOT / "scripts" / "dev")
    scripts = {path.name for folder in folders for path in folder.iterdir() if path.is_file() and "." not in path.name}
    named = set(re.findall(r"`(?:dev/)?([a-z-]+)`", section(page("contributing.md"), "Build and test")))

    assert scripts - named == set()


PATHS = re.compile(
    r"(?:\.?/)?((?:src|include|tests|docs|scripts|templates|launcher|examples|requirements)/[\w./-]+)"
)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_path_that_is_named_exists(path):
    missing = []
    for code in CODE.findall(without_blocks(path.read_text())):
        match = PATHS.fullmatch(code)
        if match and not re.search(r"\.\.\.|mine", code) and not (ROOT / match.group(1)).exists():
            missing.append(code)

    assert missing == []


# Options of other programs that the pages name.
OTHERS = {
    "--admindir", "--all-filters", "--allow-downgrades", "--api-token", "--check", "--constraint", "--directory", "--dynamic", "--env", "--exclusive", "--find-links", "--foreground", "--full", "--gloo", "--grace-period", "--index-url", "--install", "--its-own-options", "--local-rank", "--lr", "--measure",
    "--mount-proc", "--mpi-rank", "--name", "--no-index", "--no-tests", "--num-machines", "--pid", "--pty", "--release", "--reproduce", "--sanitize", "--schedules", "--search", "--seed", "--shm-size",
    "--sign-with", "--signal", "--single-child", "--start-order", "--target", "--ulimit",
    "--no-werror", "--init-method", "--job-name", "--join", "--ps-hosts", "--rank", "--sim-level",
    "--task-index", "--worker-hosts", "--world-size",
}  # fmt: skip


def options_of_torchrun_that_are_missing():
    text = section(page("options.md"), "What the table leaves out")
    return set(re.findall(r"`(--[a-z*-]+)`", text[text.index("Of torchrun's options") :]))


def test_torchruns_options_that_are_said_to_be_missing_are(desk):
    for option in options_of_torchrun_that_are_missing() - {"--grace"}:
        name = option.replace("*", "x")
        assert "unknown option" in desk.run(f"muster plan {name} true").stdout, option


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_option_that_is_named_exists(path, desk):
    known = set(
        re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", desk.run("muster --help").stdout, re.MULTILINE)
    )
    launchers = ["torch.distributed.launch", "msrun", "deepspeed", "mpirun", "accelerate launch"]
    launchers += ["paddle.distributed.launch", "colossalai run", "horovodrun"]
    for launcher in launchers:
        printed = desk.run(f"muster {launcher} --print-options").stdout
        known |= {name.replace("_", "-") for name in re.findall(r"`(?:-\w, )?(--[a-z_-]+)", printed)}
    for command in ("status", "stacks", "stop", "suspend"):
        known |= set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", desk.run(f"muster {command} --help").stdout, re.MULTILINE))
    rendering = desk.run("muster render --help").stdout
    known |= set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", rendering, re.MULTILINE))
    for manifest in (ROOT / "templates" / "manifests").iterdir():
        known |= set(re.findall(r"(?<![\w-])--[a-z-]+", manifest.read_text()))
    known |= OTHERS | {name.split("*")[0] for name in options_of_torchrun_that_are_missing()}
    named = set()
    for code in CODE.findall(without_blocks(path.read_text())):
        if not path.name.startswith(("troubleshooting", "messages")):  # they quote mistakes
            named |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", code.replace("_", "-")))

    assert named - known == set()
