"""Cases of error files, after PyTorch 2.13's test/distributed/elastic/multiprocessing/errors: api_test.py and error_handler_test.py."""

import json

from launcher_cases.case import Case, Differs, err, every, fails, file, no_file, ok
from launcher_cases.scripts import script

DEEP = "{'message': {'message': 'sad because I throw', 'extraInfo': {'timestamp': '1700000000', 'py_callstack': 'RuntimeError: sad because I throw'}}}"


def records(error, exit_code=1, rank="0"):
    """A worker that fails as one under torch's @record does: error.json first."""
    return script(
        f"if RANK == {rank!r}:\n"
        f"    with open(E['TORCHELASTIC_ERROR_FILE'], 'w') as file:\n"
        f"        file.write(json.dumps({error}) if {error!r} != 'torn' else '{{')\n"
        f"    sys.exit({exit_code})\n".replace("json.dumps(torn)", "''")
    )


REPLY = {"TORCHELASTIC_ERROR_FILE": "{folder}/out/reply"}


def reply(name, text):
    """The launcher's own error file has a value at a path of names."""

    def check(run):
        try:
            value = json.loads(run.texts()["reply"])
            for part in name.split("."):
                value = value[part]
        except (KeyError, ValueError, TypeError) as error:
            return f"{error!r}: {run.texts()}"
        return None if text in str(value) else f"{name} is {value!r}"

    return check


ERRORS = [
    Case(
        "the message of the error file is shown",
        "--nproc-per-node=2 w.py",
        [fails, err("sad because I throw")],
        records(DEEP),
    ),
    Case(
        "the launcher's error file has the message",
        "--nproc-per-node=2 w.py",
        [fails, reply("message.message", "sad because I throw")],
        records(DEEP),
        REPLY,
    ),
    Case(
        "the launcher's error file has the time",
        "w.py",
        [fails, reply("message.extraInfo.timestamp", "17")],
        records(DEEP),
        REPLY,
        is_default=False,
    ),
    Case(
        "the launcher's error file has the exit code",
        "w.py",
        [fails, reply("message.errorCode", "7")],
        records(DEEP, 7),
        REPLY,
    ),
    Case(
        "a message that is a text",
        "w.py",
        [fails, err("plain words"), reply("message", "plain words")],
        records("{'message': 'plain words', 'timestamp': 10}"),
        REPLY,
    ),
    Case(
        "the first failure's message",
        "--nproc-per-node=2 w.py",
        [fails, reply("message.message", "sad")],
        records(DEEP, rank="1"),
        REPLY,
        is_default=False,
    ),
    Case(
        "the launcher's error file has what the worker wrote",
        "w.py",
        [
            fails,
            file("reply", r'\{\s*"message":\s*\{.*"py_callstack":\s*"RuntimeError.*\}\s*,\s*"errorCode":\s*-9\s*\}\s*\}'),
        ],
        records(DEEP, 0).replace("sys.exit(0)", "os.kill(os.getpid(), 9)"),
        REPLY,
    ),
    Case(
        "an error file that is torn",
        "w.py",
        [fails],
        script("open(E['TORCHELASTIC_ERROR_FILE'], 'w').write('{')\nsys.exit(1)"),
        is_default=False,
    ),
    Case(
        "success leaves no error file", "w.py", [ok, no_file("reply")], script("note(RANK)"), REPLY
    ),
    Case(
        "a worker that wrote no error file",
        "w.py",
        [fails, no_file("reply")],
        script("sys.exit(3)"),
        REPLY,
        differs=Differs(
            "the launcher's error file when the worker wrote none",
            [fails, reply("message.message", "3")],
        ),
    ),
    Case(
        "an error file of a worker that succeeds",
        "w.py",
        [ok, no_file("reply")],
        script(f"open(E['TORCHELASTIC_ERROR_FILE'], 'w').write(json.dumps({DEEP}))"),
        REPLY,
        is_default=False,
    ),
    Case(
        "a worker's error file is not the launcher's",
        "w.py",
        [ok, file("0", "False")],
        script("note(RANK, E['TORCHELASTIC_ERROR_FILE'] == E['OUT'] + '/reply')"),
        REPLY,
    ),
    Case(
        "each rank has an error file of its own",
        "--nproc-per-node=2 w.py",
        [ok, every(".+"), lambda run: None if len(set(run.texts().values())) == 2 else "the same"],
        script("note(RANK, E['TORCHELASTIC_ERROR_FILE'])"),
    ),
    Case(
        "exit code and rank are shown",
        "--nproc-per-node=2 w.py",
        [fails, err("138"), err("rank *:? *1|rank 1")],
        script("if RANK == '1':\n    sys.exit(138)\n"),
    ),
    Case(
        "a traceback is shown",
        "w.py",
        [fails, err("RuntimeError: sad")],
        script("raise RuntimeError('sad')"),
    ),
]

CASES = [*ERRORS]
