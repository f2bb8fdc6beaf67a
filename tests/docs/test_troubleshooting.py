"""Every message of the program is explained, and every message that is explained exists."""

import errno
import os
import re

from pages import ROOT, name_of, page, tables

PAGES_OF_MESSAGES = ("messages.md", "messages-nodes.md", "messages-options.md")

# Files in which messages for users are composed.
SOURCES = [
    *sorted((ROOT / "src").rglob("*.cpp")),
    *sorted((ROOT / "launcher").glob("*.cpp")),
    ROOT / "src/options/settings.hpp",
]
# Help, manual page, a build tool, files of ssh: what they say is no message.
WITHOUT_MESSAGES = (
    "compat_help.cpp",
    "embed_pages.cpp",
    "embed_templates.cpp",
    "flight_recorder.cpp",  # a dump that cannot be read is left out
    "formats.cpp",  # docs/interfaces.md has what it writes
    "guarantees.cpp",  # docs/troubleshooting.md has them: test_guarantees.py
    "help_text.cpp",
    "option_table.cpp",
    "pickle.cpp",  # as flight_recorder.cpp
    "ssh_files.cpp",
)

# Texts of several words that are no part of a message that wants an explanation.
OTHER_TEXTS = {
    "the end of the allocation": "what a notice came from",
    "CLIENT PROTOCOL 2\nTIMEOUT 1\nSET FORMAT json": "a question to NCCL",
    "SET FORMAT json": "a question to NCCL",
    "bjobs -noheader -o time_left": "a command",
    "muster suspend --cancel": "what withdrew a notice",
    "muster needs no etcd": "help",
    "muster gives the script no --local-rank; LOCAL_RANK is always set.": "help",
    "(of this machine)": "what muster --version prints",
    ", in the place of": "the same",
    ", linked with the machine's C library": "the same",
    "- event: PodEvicted\n  action: RestartJob": "fields of a manifest",
    "ssh -oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null": "a remote shell",
    "default reduce-overhead max-autotune": "values of an option",
    "ao te msamp": "the same",
    "no eager aot_eager inductor aot_ts_nvfuser nvprims_nvfuser cudagraphs ofi fx2trt onnxrt tensorrt "
    "aot_torchxla_trace_once torhchxla_trace_once tvm": "the same",
    "whoever wanted the job to give way": "a reason to stay",
    "the file of --metrics": "the same",
    "the file of --bad-nodes": "the same",
    "# Nodes that failed by themselves, kept by muster (--bad-nodes): machine, end of the entry, time of the failure, reason": "a comment in that file",
    "out of memory": "looked for in a worker's output",
    "the worker's own": "a row of the exit codes",
    "Of one of them: muster status --job PID": "what muster status prints",
    "A job that does not answer ends by 'kill PID', also one that stands still": "the same",
    "What to do:": "what muster explain prints",
    "the job has ended; 'muster last' shows how": "what muster status --watch prints",
    "ago. A job has no report while it runs, or after a kill of muster itself.": "what muster last prints",
    "is the exit code:": "the same",
    "405 Method Not Allowed": "an answer of HTTP",
    "431 Request Header Fields Too Large": "the same",
    "\\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\\r\nContent-Length:": "the same",
    "the files of the services": "the same",
    "HAI's suspend command": "a source",
    "goodbye of the gang": "a reason to stay, for which those who are waited for are named",
    "LOCAL_RANK and LOCAL_WORLD_SIZE": "a source",
    "a free port, at start": "a source",
    ", by the host name": "a source",
    "the gang, at start": "a source",
    "assumed equal to ours": "a source",
    "default of torchrun": "a source",
    "default of msrun": "a source",
    "default of deepspeed": "a source",
    "torchrun's default of --nnodes": "a source",
    "muster --mode once --template-arguments never --": "a part of a line that was probably meant",
    "on this host)": "where a worker is, in the line of its start",
    "default of hai": "a source",
    ", and it has something better": "why explain's variable is not used",
    "is more specific": "the same",
    "nothing was decided": "the same",
    "says which nodes there are": "the same",
    ", and speaks of the job whose worker this is": "the same",
    ", and this mode asks for no list of tasks": "the same",
    "of no platform that muster knows": "the same",
    "alone it says nothing": "the same",
    "has names of its own for what it needs": "the same",
    "proves that it counts processes": "the same",
    "accelerators that are there count more": "the same",
    "each process is one worker already": "the same",
    "default of modelarts": "a source",
    "nodes.slots of the others": "a field",
    "all workers succeeded": "a reason in the report",
    "without a version (group_list with rank_id)": "a name",
    "what to check": "what a word of the command line is called",
    "the file to check": "the same",
    ", programs gain no rights (no_new_privs)": "what muster doctor prints of the system",
    "Print this text.": "help",
    "worker not started": "a reason in the report",
    "apply its policy": "advice in the report",
    "unchecked error:": "a bug",
    "exec sh -c 'if test -x \\\"": "a command",
    "zlib: no memory": "a bug, or no memory",
    "the parts of all nodes end in the middle of one": "a bug",
    "of all nodes cannot be read:": "a bug",
    "expected '+' and data, or '-' and a rank": "a bug, of which the node is named",
    "expected a summary or a server": "the same",
    "the table has no rank": "the same",
    ", expected less than": "the same",
    "there is no program '$needed'": "what a script says, with the program's name",
    "was one of too many that wait for a seat": "why a stranger's link is gone",
    "MASTER_ADDR and WORLD_SIZE": "what decided",
    "MS_ROLE and MS_LOCAL_WORKER": "what decided",
    "this host's instance group is the job": "why another value of explain is not used",
    "room for logs": "a fact, in a table of docs/preflight.md",
    "room for the run": "the same",
    "the same set": "how a fact is compared, in that table",
    ", or at least": "the same",
    "do not answer": "a fact of folders, in a message about nodes that differ",
    "Max locked memory": "a line of /proc",
}

# A table of options, and the texts that stand before it and are used in it: help.
HELP = re.compile(r"(?:\A.*?)?^constexpr auto k\w+ =\s+std::to_array<\w*Option>\(\{.*?^\}\);$", re.MULTILINE | re.DOTALL)
STRING = r'"((?:[^"\\\n]|\\.)*)"'


def texts_of(path, help=True):
    """The strings of a source file, those that follow each other joined, parted where a value stands for %."""
    text = path.read_text() if help else HELP.sub("", path.read_text())
    text = re.sub(r"^\s*//.*$|\s//[^\"\n]*$|^#.*$", "", text, flags=re.MULTILINE)
    for match in re.finditer(rf"{STRING}(?:\s*{STRING})*", text):
        joined = "".join(re.findall(STRING, match.group(0))).replace("\\n", "\n")
        yield from (part.strip() for part in re.split(r"%(?!\w)", joined))


def words(text):
    return [word for word in text.split() if re.search(r"[A-Za-z]{2}", word)]


def is_sentence_part(text):
    return len(words(text)) >= 3


def messages():
    """The messages in the first column of the pages; a row may have several."""
    for name in PAGES_OF_MESSAGES:
        for rows in tables(page(name)):
            if rows[0][0] == "Message":
                for row in rows[1:]:
                    yield from (message.strip("`") for message in row[0].split("<br>"))


def test_every_message_is_explained():
    plain = "\n".join(messages())
    explained = plain + plain.replace('"', '\\"')
    missing = [
        f"{name_of(path)}: {text}"
        for path in SOURCES
        if path.name not in WITHOUT_MESSAGES
        for text in texts_of(path, help=False)
        if is_sentence_part(text) and text not in OTHER_TEXTS and text not in explained
    ]

    assert not missing, "docs/messages*.md lack:\n" + "\n".join(missing)


def test_every_message_that_is_explained_exists():
    parts = {text for path in SOURCES for text in texts_of(path) if words(text)}
    of_standbys = re.findall(STRING, (ROOT / "python/standby/sitecustomize.py").read_text())
    parts |= {part.strip() for text in of_standbys for part in re.split("%[sd]", text) if words(part)}
    parts |= {os.strerror(number) for number in errno.errorcode}
    by_length = sorted(parts, key=len, reverse=True)
    unknown = []
    for message in messages():
        rest = message
        for part in by_length:
            rest = rest.replace(part, "\0")
        if any(is_sentence_part(piece) for piece in rest.split("\0")):
            unknown.append(message)

    assert not unknown, "the program does not say:\n" + "\n".join(unknown)
