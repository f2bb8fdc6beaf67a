"""Facts that are both on a page and in the program are compared, so that they cannot drift apart."""

import json
import re
import subprocess

import pytest
from pages import (
    CODE,
    DEADLINE,
    PAGES,
    ROOT,
    binary,
    free_port,
    name_of,
    one_line,
    page,
    plain,
    section,
    source,
    source_file,
    table,
    tables,
    without_blocks,
)

# --- Links ---------------------------------------------------------------------------------------


def anchors(text):
    """The anchors that a heading gets: lower case, blanks as dashes, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_link_leads_somewhere(path):
    broken = []
    for target in re.findall(r"\]\(([^)]+)\)", without_blocks(path.read_text())):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists() or (anchor and anchor not in anchors(there.read_text())):
            broken.append(target)

    assert broken == []


def test_every_page_is_on_the_map():
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", page("README.md")))
    docs = ROOT / "docs"
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")} - {"README.md"}

    assert pages - linked == set()


# --- The command line ----------------------------------------------------------------------------


def options_of_help(text):
    """The options that --help lists: (letter, name, argument) and the sentences, lines joined."""
    options = {}
    current = None
    for line in text[text.index("\nJob:") :].splitlines():
        match = re.match(r"  (?:-(\w), |    )--([a-z-]+)(?: ([A-Z=]+))?(?: {2,}(.*))?$", line)
        if match:
            letter, name, argument, words = match.groups()
            current = name
            options[name] = [letter, argument, words or ""]
        elif current and line.startswith(" " * 10):
            options[current][2] = f"{options[current][2]} {line.strip()}".strip()
        else:
            current = None
    return options


def row_of(name, letter, argument, words):
    option = (
        f"`-{letter}`, " if letter else ""
    ) + f"`--{name}{' ' + argument if argument else ''}`"
    return [option, f"`MUSTER_{name.upper().replace('-', '_')}`", words]


def test_the_options_are_those_of_help(desk):
    options = options_of_help(desk.run("muster --help").stdout)

    assert len(options) > 20
    assert table(page("options.md"), "Option") == [
        row_of(name, *values) for name, values in options.items()
    ]


def command_lines():
    return page("command-lines.md") + page("command-lines-more.md")


@pytest.mark.parametrize(
    "name",
    [
        *("torchrun", "msrun", "deepspeed", "mpirun", "accelerate launch"),
        *("paddle.distributed.launch", "colossalai run", "horovodrun"),
    ],
)
def test_the_tables_of_another_launcher_are_those_of_the_program(name, desk):
    printed = tables(desk.run(f"muster {name} --print-options").stdout)
    described = tables(section(command_lines(), name))

    assert len(printed[0]) > 10
    assert described == printed


def test_what_torch_distributed_launch_has_more_is_the_last_of_its_options(desk):
    printed = tables(desk.run("muster torch.distributed.launch --print-options").stdout)[0]
    described = tables(section(command_lines(), "torch.distributed.launch"))[0]

    assert described == [printed[0], printed[-1]]
    assert printed[1:-1] == tables(desk.run("muster torchrun --print-options").stdout)[0][1:]


# --- Exit codes ----------------------------------------------------------------------------------


def codes():
    return {int(row[0]) for row in table(page("interfaces.md"), "Code") if row[0].isdigit()}


def codes_of_errors():
    enum = re.search(r"enum class ErrorKind \{(.*?)\};", source("result.hpp"))
    return {name: int(code) for name, code in re.findall(r"(\w+) = (\d+),", enum.group(1))}


def ends():
    """The rows of the table of ends: exit code, or nothing where it is a worker's, and the advice."""
    text = source("job_end.cpp")
    values = {name: int(code) for name, code in re.findall(r"int (k\w+) = (\d+);", text)}
    for name, error in re.findall(r"int (k\w+) = static_cast<int>\(ErrorKind::(\w+)\);", text):
        values[name] = codes_of_errors()[error]
    rows = re.findall(r'\{EndKind::\w+, Verdict::\w+, "\w+", ([\w:]+), "([^"]+)",', text)
    assert len(rows) == len(re.findall(r"\{EndKind::\w+, Verdict", text)) > 5
    return [
        (values[code] if code in values else int(code) if code.isdigit() else None, advice)
        for code, advice in rows
    ]


def test_the_exit_codes_are_those_of_the_program():
    fixed = {code for code, _ in ends() if code is not None}

    assert codes() == set(codes_of_errors().values()) | fixed | {70}
    assert "return 70;" in source("main.cpp")


def test_what_a_scheduler_should_do_is_what_the_table_of_ends_says():
    rows = table(page("interfaces.md"), "Code")
    described = {int(row[0]) if row[0].isdigit() else None: row[2] for row in rows}

    assert [(code, described[code]) for code, _ in ends()] == ends()


def test_the_exit_codes_are_those_of_help(desk):
    text = desk.run("muster --help").stdout
    paragraph = re.sub(r"128 \+", "", text[text.index("Exit codes:") :])

    assert {int(code) for code in re.findall(r"\b\d+\b", paragraph) if code != "128"} == codes()


def test_the_verdicts_of_the_report_are_those_of_the_table_of_ends():
    known = set(re.findall(r'Verdict::\w+, "(\w+)"', source("job_end.cpp")))
    (row,) = [row for row in table(section(page("interfaces.md"), "The report"), "Field") if row[0] == "`verdict`"]

    assert set(CODE.findall(row[2])) == known


def test_help_names_every_command(desk):
    others = set(re.findall(r'std::pair\("(\w+)", Command::', source("requests.cpp")))
    known = others | set(re.findall(r'\{Command::\w+, "(\w+)"', source("option_table.cpp")))
    usage = desk.run("muster --help").stdout.partition("\n\n")[0]
    named = set(re.findall(r"(?<=muster )[a-z|]+", usage))

    assert len(known) > 10
    assert known - {word for words in named for word in words.split("|")} == set()


# Each source that waits for clients, and how SECURITY.md names its port. Those of MPI's services are a section there.
LISTENERS = {
    "gang/net/listener.cpp": "`--master-port`",  # the store, too: it shares the class
    "agent/control_server.cpp": "`control`",
    "agent/metrics_server.cpp": "`--metrics`",
}


def test_the_ports_of_the_program_are_in_the_table_of_ports():
    ports = section((ROOT / "SECURITY.md").read_text(), "Ports")
    listening = re.compile(r"acceptor_\.listen\(|::listen\(\w+, ")
    found = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.cpp") if listening.search(path.read_text())}
    asks_nccl = '"NCCL_RAS_ADDR"' in source("launch_plan.hpp")

    assert found == set(LISTENERS)
    assert [port for port in LISTENERS.values() if port not in ports] == []
    assert not asks_nccl or "`--hang-ask`" in ports


def test_the_time_of_the_full_test_is_the_sum_of_its_parts():
    parts = [line.split("\t") for line in (ROOT / "scripts/test.d/parts.tsv").read_text().splitlines() if line[:1] not in "#"]
    seconds = sum(int(part[1]) for part in parts if part[2] == "yes")
    (row,) = [row for row in table(section(page("contributing.md"), "Build and test"), "Tier") if row[0] == "`test --full`"]

    assert row[2].startswith("an hour") and 45 * 60 < seconds < 75 * 60


# --- Platforms -----------------------------------------------------------------------------------


def platforms():
    return page("platforms.md") + page("platforms-clouds.md")


def test_the_platforms_are_those_of_the_program(desk):
    refused = desk.run("muster plan --platform x true").stdout
    names = re.search(r"expected one of (.*)$", refused, re.MULTILINE).group(1).split(", ")

    for name in names:
        assert section(platforms(), name)
    listed = [signs_of(name) for name in names if name not in ("flags", "single")]
    rows = [[plain(cell) for cell in row] for row in table(platforms(), "Platform")]
    assert rows == listed, "names, signs and order"
    assert f"reads {len(rows)} platforms" in (ROOT / "README.md").read_text()


def signs_of(name):
    """The name and the signs, which the platform has as a text or as names of variables."""
    code = platform_code(name)
    text = re.search(r'\.sign_text = ((?:"[^"]*"\s*)+)', code)
    if text:
        return [name, "".join(re.findall(r'"([^"]*)"', text.group(1)))]
    names = re.findall(r'"(\w+)"', re.search(r"\.any = \{(.*?)\}", code[code.rindex("const Platform") :]).group(1))
    return [name, " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))]


def platform_code(name):
    """The code of one platform: its definition, and what stands before it and behind the platform before it."""
    start = re.compile(rf'const Platform \w+ = \{{\s*(?:\.name = )?"{name}"')
    for path in (ROOT / "src/platforms").glob("*.cpp"):
        code, end = "", "};\n"
        for piece in re.split(r"^(?=const Platform )", path.read_text(), flags=re.MULTILINE):
            is_definition = piece.startswith("const Platform ")
            definition, _, rest = piece.partition(end) if is_definition else ("", "", piece)
            if start.match(definition):
                return one_line(code + definition + end)
            code = rest
    raise AssertionError(f"no platform {name}")


@pytest.mark.parametrize("name", [plain(row[0]) for row in table(platforms(), "Platform")])
def test_the_variables_of_a_platform_are_those_that_are_read(name):
    """A name with a part of its own, such as VC_<TASK>_HOSTS, is read by its other parts."""
    sign = next(row[1] for row in table(platforms(), "Platform") if plain(row[0]) == name)
    text = sign + section(platforms(), name)
    cells = " ".join(row[0] for rows in tables(section(platforms(), name)) for row in rows)
    named = {word for word in CODE.findall(cells) if re.fullmatch(r"[A-Z][A-Z0-9_<>*]*", word)}
    own = platform_code(name)
    shared = "".join(source(path) for path in SHARED_READERS)
    read = set(re.findall(r'"([A-Z][A-Z0-9]*_[A-Z0-9_]*|RANK|NNODES)"', own)) - {"BATCH_CUSTOM"}

    for word in named:
        for part in re.split(r"<\w+>|\*", word):
            assert part.strip("_") in own + shared, word
    assert {word for word in read if word.strip("_") not in text} == set()


SHARED_READERS = [
    f"{file}.cpp" for file in ("platform", "describe_cluster", "host_lists", "slots", "kubeflow")
]


def test_every_variable_that_hides_devices_is_named():
    read = set(re.findall(r'"([A-Z]+_VISIBLE_DEVICES|[A-Z]+_RT_VISIBLE_DEVICES)"',
                          source("accelerators.cpp")))  # fmt: skip
    named = set(
        re.findall(r"`(\w+_VISIBLE_DEVICES)`", section(page("options.md"), "How many workers"))
    )

    assert read == named


def test_the_variables_that_go_along_to_other_hosts_are_those_of_the_program():
    lists = re.findall(r"constexpr auto k(?:Usual|OwnOfHost) = .*?;", source("remote_agents.cpp"))
    code = "".join(lists)
    text = page("hosts.md").partition("**Variables.**")[2].partition("**The token.**")[0]
    examples = {"--forward-env MY_KEY,MY_APP_*", "none", "none,PATH", "CUDA_VISIBLE_DEVICES", "*"}

    named = set(re.findall(r"`([^`]+)`", text)) - examples - {"MUSTER_*"}

    assert named == set(re.findall(r'"([A-Z][A-Z0-9_*]+)"', code))


def test_the_options_that_ssh_is_given_are_those_of_the_program():
    code = source("remote_agents.cpp").partition("kSshOptions")[2].partition(";")[0]

    options = " ".join(re.findall(r'"([^"]+)"', code))

    assert f"`{options}`" in page("hosts.md").replace("\n", " ")


# --- Templates -----------------------------------------------------------------------------------


def placeholders():
    return [plain(row[0]).strip("{}") for row in table(page("modes.md"), "Placeholder")]


def test_the_placeholders_are_those_of_the_program():
    names = re.search(r"placeholder_names\(\) \{.*? names = \{(.*?)\};", source("mode_template.cpp"))

    assert placeholders() == re.findall(r'"(\w+)"', names.group(1))


def test_every_placeholder_is_filled(desk):
    lines = "".join(f'      A_{name}: "<{{{name}}}>"\n' for name in placeholders())
    role = "  - name: w\n    listens: true\n    error_file: e\n"
    template = f"mode: all\nroles:\n{role}    environment:\n{lines}"
    (desk.folder / "all.yaml").write_text(template)

    seen = desk.run("muster --template all.yaml -- env")

    assert seen.returncode == 0
    values = dict(re.findall(r"^A_(\w+)=<([^>]*)>$", seen.stdout, re.MULTILINE))
    assert sorted(values) == sorted(placeholders())
    # On one node nobody else has to reach it, and it has no rank table.
    empty = [name for name, value in values.items() if value in ("", f"{{{name}}}")]
    assert sorted(empty) == [
        *("interfaces", "networks", "neuron_cores", "neuron_rank", "neuron_root", "oversubscribed"),
        *("own_address", "own_interface", "own_rank_table"),
    ]


def test_the_fields_are_those_of_the_program():
    files = ("expand_template", "read_template", "mode_template")
    text = "".join(source(f"{file}.cpp") for file in files)
    lists = re.findall(r"(?:check_fields\(\s*\w+,\s*|fields = )\{([^}]*)\}", text)
    known = [sorted(re.findall(r'"(\w+)"', names)) for names in lists]
    tables = re.findall(r"FieldRow<\w+>>\(\{(.*?)\}\);", text)
    known += [sorted(re.findall(r'\{"(\w+)",', rows)) for rows in tables]
    fields = section(page("modes.md"), "Fields")
    described = [
        sorted(plain(row[0]) for row in table(part, "Field"))
        for part in re.split(r"^Of (?:a|an|`until`).*:$", fields, flags=re.MULTILINE)
    ]

    assert sorted(described) == sorted(known)


# --- Documents -----------------------------------------------------------------------------------


def paths_of(document, leaves, before=""):
    """The fields of a JSON document as a page writes them: "a", "a.b", "a[].b"."""
    for name, value in document.items():
        path = before + name
        yield path
        if path in leaves:
            continue
        if isinstance(value, dict):
            yield from paths_of(value, leaves, path + ".")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from paths_of(value[0], leaves, path + "[].")


def fields_of(heading):
    return [plain(row[0]) for row in table(section(page("interfaces.md"), heading), "Field")]


def test_the_fields_of_the_report_are_those_of_a_report(desk):
    """Of three nodes, one of which differs and one has a broken device, that fail, start again and fail again."""
    script = "echo oh >&2; echo {} > $TORCHELASTIC_ERROR_FILE; test $RANK = 1 && until grep -q \"differs from 2\" n1; do sleep 0.01; done && echo CUDA error: uncorrectable ECC error encountered >&2 && exit 3; exec sleep 60"
    nodes = "--nnodes 3 --master-addr 127.0.0.1 --master-port {} --max-restarts 1".format(free_port())
    seen = desk.run(
        f"muster {nodes} --node-rank 1 -- sh -c '{script}' 2> n1 & "
        f"(ulimit -n 900; muster {nodes} --node-rank 2 -- sh -c '{script}') & "
        f"muster --report r.json {nodes} --node-rank 0 -- sh -c '{script}'"
    )

    assert seen.returncode == 3
    report = json.loads((desk.folder / "r.json").read_text())
    assert sorted(paths_of(report, leaves=())) == sorted(fields_of("The report"))


def test_the_fields_of_the_plan_are_those_of_a_plan(desk):
    seen = desk.run(
        "SOME_NNODES=1 "
        "muster plan --json --template templates/modes/torchrun.yaml --numa-binding node -- true"
    )

    leaves = ("files", "processes[].env", "rendezvous", "nodes")
    plan = json.loads(seen.stdout)
    paths = set(paths_of(plan, leaves)) - {"rendezvous", "nodes"}
    paths |= {f"{outer}.{inner}" for outer in ("rendezvous", "nodes") for inner in plan[outer]}
    assert paths == set(fields_of("The plan"))


# --- States and signals --------------------------------------------------------------------------


def first_words(text, heading):
    """The code words in the first column of a table."""
    return {CODE.findall(row[0])[0] for row in table(text, heading) if CODE.findall(row[0])}


def test_the_states_of_the_supervisor_are_those_of_the_program():
    header = source("supervisor.hpp")
    text = section(page("architecture.md"), "The supervisor")
    for heading, pattern in {
        "State": r"enum class State \{(.*?)\}",
        "Event": r"using Event = std::variant ?<(.*?)>",
        "Action": r"using Action = std::variant ?<(.*?)>",
    }.items():
        names = re.search(pattern, header).group(1)
        assert first_words(text, heading) == set(re.findall(r"\w+", names)), heading

    end = source("job_end.hpp")
    verdicts = re.search(r"enum class Verdict \{(.*?)\}", end).group(1)
    assert first_words(text, "Verdict") == set(re.findall(r"\w+", verdicts.lower()))


def test_the_states_of_a_sink_are_those_of_the_program():
    names = re.search(r"enum class State \{(.*?)\}", source("output_queue.hpp"))
    text = section(page("architecture.md"), "A sink")

    assert first_words(text, "State") == set(re.findall(r"\w+", names.group(1)))


def test_the_signals_are_those_that_the_program_handles():
    text = source("inherited.cpp")
    lists = re.findall(r"for \(const int signal :\s*\{([^}]*)\}", text)
    handled = {name for names in lists for name in re.findall(r"SIG\w+", names)}
    rows = table(section(page("processes.md"), "Signals"), "Signal to muster")
    described = {name for row in rows for name in re.findall(r"SIG\w+", row[0])}

    assert described == handled | {"SIGKILL"}


def test_the_limits_of_a_sink_are_those_of_the_program():
    """1 MiB and 256 KiB are in prose on two pages."""
    header = source("output_queue.hpp")

    assert "kMost = std::size_t{1} << 20U" in header
    assert "kWritableBelow = std::size_t{1} << 18U" in header
    assert "kLongestLine = std::size_t{16} << 20U" in source("drawn_rows.hpp")


def test_nothing_else_is_needed_to_run_the_program():
    """README promises: nothing of the image, not even a C library. A sanitized one needs what its tools need."""
    dynamic = subprocess.run(
        ["readelf", "--wide", "--dynamic", binary()],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    ).stdout
    libraries = set(re.findall(r"Shared library: \[lib(\w+)", dynamic))

    assert libraries <= ({"asan", "ubsan", "c", "m"} if "asan" in libraries else set())


def test_the_pauses_of_the_gang_are_those_of_the_code():
    code = source_file("restart_decider.hpp").read_text()

    def of(name):
        return int(re.search(rf"{name}{{([\d']+)}}", code)[1].replace("'", ""))

    text = " ".join(page("gang.md").split())
    assert of("kLongestBackoff") == 60
    assert "doubled each time up to a minute" in text
    assert f"{of('kFirstDialPause')} ms after the first one, by half longer each time" in text
    assert of("kLongestDialPause") == 1000
    assert "at most 1 s; no two agents the same" in text
