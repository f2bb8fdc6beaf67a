"""Messages and exit codes for input that cannot be run: programs, options, scarce resources."""

import errno
import os
import signal

import pytest

from support.deadlines import promise, wait_until


def assert_refused(job, code, *words):
    """One sentence that holds these words, nothing else, and nothing was started."""
    assert job.code == code, job.words()
    assert len(job.said) == 1, job.err.text
    assert job.err.text == f"muster: {job.said[0]}\n"
    for word in words:
        assert str(word) in job.said[0]
    assert job.out.bytes == b""


JOB_NAMES = {
    "a tab": "a\tb",
    "a line end": "a\nb",
    "an escape": "a\x1b[31mb",
    "bytes that are not UTF-8": "a\udcffb",
    "256 bytes": "x" * 256,
}


class TestJobNames:
    @pytest.mark.parametrize("name", JOB_NAMES.values(), ids=JOB_NAMES.keys())
    def test_an_invalid_job_name_on_the_command_line_is_refused(self, muster, name):
        job = muster.run("--job-id", name, "--", "true")

        assert_refused(job, 64, "--job-id is '", "expected at most 255 bytes of UTF-8 without control")
        assert job.said[0].isprintable()

    @pytest.mark.parametrize("variable", ["MUSTER_JOB_ID", "PET_RDZV_ID"])
    def test_an_invalid_job_name_in_a_variable_is_refused(self, muster, variable):
        pet = {"PET_NNODES": "1", "PET_NPROC_PER_NODE": "1", "PET_NODE_RANK": "0"}
        job = muster.run("--", "true", env={**pet, variable: JOB_NAMES["an escape"]})

        assert_refused(job, 78, f"{variable} is '", "expected at most 255 bytes of UTF-8 without control")

    def test_the_longest_valid_job_name_is_accepted(self, muster):
        assert muster.run("--job-id", "\u00e4" * 127 + "x", "--", "true").code == 0


class TestPrograms:
    @pytest.mark.parametrize("count", [1, 4])
    def test_a_program_that_does_not_exist_is_127(self, muster, count):
        job = muster.run(f"--nproc-per-node={count}", "--", "no-such-program")

        assert job.code == 127
        assert job.said_about("cannot run 'no-such-program'", "not found")

    def test_a_missing_program_is_127_despite_an_inaccessible_path_folder(self, muster):
        (muster.folder / "closed").mkdir(mode=0)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

        job = muster.run(
            "--",
            "no-such-program",
            through=as_nobody,
            cwd="/",
            env={"PATH": f"{muster.folder}/closed/inner:/usr/bin:/bin", "TMPDIR": "/tmp"},
        )

        assert job.code == 127
        assert job.said_about("cannot run 'no-such-program'", "not found")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["\u2013nproc-per-node=2", "true"], "unknown option '\u2013nproc-per-node'; its '\u2013' is U+2013"),
            (["--nproc-per-node\u00a02", "true"], "unknown option '--nproc-per-node\\u00a02', with a blank as pages have it: type a space; did you mean"),
            (["--nproc-per-node", "\u201c2\u201d", "true"], "only looks like '\"'"),
            (["hostfile=hosts", "true"], "'hostfile=hosts' is taken for the program; for the option"),
            (["torchrun", "python3", "x.py"], "torchrun takes 'python3' for the script"),
            (["--nnodes=2", "no-such-program"], "cannot run 'no-such-program': not found in PATH; and --nnodes is"),
            (["torchrun", "--nnodes=2", "x.py"], "no file 'x.py' in "),
        ],
    )
    def test_a_word_that_is_meant_otherwise_than_it_is_taken_is_named(self, muster, words, message):
        assert_refused(muster.run(*words), 64, message)

    def test_a_program_that_is_there_leaves_the_blame_to_the_nodes(self, muster):
        job = muster.run("--nnodes=2", "true")

        assert_refused(job, 64, "--nnodes is '2', but nothing says where the leader is")
        assert "cannot run" not in job.said[0]

    def test_a_word_behind_the_two_dashes_is_the_program(self, muster):
        job = muster.run("--", "hostfile=hosts")

        assert job.code == 127
        assert job.said_about("cannot run 'hostfile=hosts': not found in PATH")

    def test_a_path_that_does_not_exist_is_127(self, muster):
        job = muster.run("--", "./no/such/program")

        assert job.code == 127
        assert job.said_about("cannot run './no/such/program'", "not found")

    @pytest.mark.parametrize("name", ["./a\nmuster: exit code 0", "a\nmuster: exit code 0"])
    def test_a_newline_in_a_programs_name_is_escaped(self, muster, name):
        job = muster.run("--", name)

        assert job.code == 127
        assert job.said_about("\\nmuster: exit code 0'")
        assert "muster: exit code 0" not in job.err.lines

    def test_a_newline_in_an_orphans_name_is_escaped(self, muster):
        sleeper = muster.folder / "s\nmuster: x"
        sleeper.symlink_to("/bin/sleep")
        job = muster.run("--", "sh", "-c", f"setsid '{sleeper}' 600 & exec true")

        assert job.code == 0
        assert "(s\\nmuster: x)" in job.said_about("left behind")

    def test_a_python_script_that_does_not_exist_is_127(self, muster):
        """Python itself would end with 2, which says nothing to a scheduler."""
        job = muster.run("no_such_script.py")

        assert job.code == 127
        assert job.said_about("no file 'no_such_script.py' in ")

    def test_a_missing_python_is_127(self, muster, tmp_path):
        (tmp_path / "train.py").write_text("")

        job = muster.run("train.py", env={"PYTHON_EXEC": "/no/such/python"})

        assert job.code == 127
        assert job.said_about("/no/such/python", "not found")

    def test_a_directory_is_126(self, muster, tmp_path):
        job = muster.run("--", tmp_path)

        assert job.code == 126
        assert job.said_about(f"cannot run '{tmp_path}'", "is a directory")

    def test_a_python_script_that_is_a_directory_is_126(self, muster, tmp_path):
        (tmp_path / "train.py").mkdir()

        job = muster.run("train.py")

        assert job.code == 126
        assert job.said_about("train.py", "is a directory")

    def test_a_file_without_permission_to_execute_is_126(self, muster, tmp_path):
        (tmp_path / "data").write_text("#!/bin/sh\n")

        job = muster.run("--", "./data")

        assert job.code == 126
        assert job.said_about("cannot run './data'", "is not executable")

    def test_a_file_that_the_kernel_cannot_execute_is_126(self, muster, tmp_path):
        (tmp_path / "garbage").write_bytes(bytes(range(256)))
        (tmp_path / "garbage").chmod(0o755)

        job = muster.run("--", "./garbage")

        assert job.code == 126
        assert job.said_about("cannot run './garbage'")

    def test_a_missing_script_interpreter_is_reported(self, muster, tmp_path):
        (tmp_path / "script").write_text("#!/no/such/interpreter\n")
        (tmp_path / "script").chmod(0o755)

        job = muster.run("--", "./script")

        assert job.code in (126, 127)
        assert job.said_about("cannot run './script'")

    def test_an_empty_name_is_no_program(self, muster):
        assert_refused(muster.run("--", ""), 64, "program")

    def test_no_program_at_all_is_64(self, muster):
        assert_refused(muster.run(), 64, "program")
        assert_refused(muster.run("--"), 64, "program")
        assert_refused(muster.run("--nproc-per-node=2"), 64, "program")

    @pytest.mark.full
    def test_an_environment_too_large_for_the_workers_is_reported(self, muster):
        """Muster itself just starts; with the variables that it adds the kernel refuses."""
        job = start_with_the_largest_environment(muster, "--nproc-per-node=2", "--", "true")

        assert job.end() in (71, 126)
        assert job.said_about("cannot run 'true'", "too long")


def start_with_the_largest_environment(muster, *arguments):
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(19)}
    for size in range(131_000, 0, -250):
        try:
            return muster.start(
                *arguments, env={**large, "FILLER_1": "x" * size, "FILLER_2": "x" * size}
            )
        except OSError as error:
            assert error.errno == errno.E2BIG
    raise AssertionError("no environment is small enough")


# Of each kind of mistake one: the unit tests have all of them. What is given, and words of the one sentence.
ON_THE_LINE = {
    "a count": (["--nproc-per-node=4x"], ["--nproc-per-node", "'4x'"]),
    "nothing": (["--nproc-per-node="], ["--nproc-per-node", "value"]),
    "seconds": (["--grace=1s"], ["--grace", "'1s'"]),
    "a choice": (["--prefix=sometimes"], ["--prefix", "'sometimes'"]),
    "a port": (["--master-port=65536"], ["--master-port", "'65536'"]),
    "a rank": (["--nnodes=2", "--node-rank=2", "--master-addr=127.0.0.1"], ["--node-rank", "--nnodes", "'2'"]),
    "a long name": (["--nproc_per_mode=4"], ["'--nproc-per-mode'", "did you mean '--nproc-per-node'"]),
    "an abbreviation": (["--nproc", "4"], ["'--nproc'"]),
    "a short name": (["-z"], ["-z"]),
    "a switch with a value": (["--no-python=maybe"], ["--no-python"]),
}
IN_THE_ENVIRONMENT = {
    "a count": ({"MUSTER_NPROC_PER_NODE": "4x"}, ["MUSTER_NPROC_PER_NODE", "'4x'", "expected"]),
    "a name": ({"MUSTER_NPROC_PER_NOD": "4"}, ["MUSTER_NPROC_PER_NOD", "MUSTER_NPROC_PER_NODE"]),
    "a rank": (
        {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "RANK": "3", "WORLD_SIZE": "2"},
        ["RANK", "'3'", "WORLD_SIZE", "'2'"],
    ),
}


class TestOptions:
    @pytest.mark.parametrize(("given", "words"), ON_THE_LINE.values(), ids=ON_THE_LINE.keys())
    def test_a_mistake_on_the_command_line_is_64(self, muster, given, words):
        assert_refused(muster.run(*given, "--", "true"), 64, *words)

    @pytest.mark.parametrize(
        ("given", "words"), IN_THE_ENVIRONMENT.values(), ids=IN_THE_ENVIRONMENT.keys()
    )
    def test_a_mistake_in_the_environment_is_78(self, muster, given, words):
        assert_refused(muster.run("--", "true", env=given), 78, *words)

    def test_an_option_without_similar_names_is_64_without_a_suggestion(self, muster):
        job = muster.run("--xyzzy-quux-frobnicate", "--", "true")

        assert_refused(job, 64, "'--xyzzy-quux-frobnicate'")
        assert "did you mean" not in job.said[0]

    def test_an_option_without_its_value_is_64(self, muster):
        assert_refused(muster.run("--log-dir"), 64, "--log-dir")

    def test_an_unknown_subcommand_is_a_program(self, muster):
        job = muster.run("plann")

        assert job.code == 127


class TestScarceResources:
    @pytest.mark.parametrize("limit", [6, 8, 12, 16, 24])
    def test_no_free_descriptors_is_71_and_leaves_no_process(self, muster, worker, limit):
        job = muster.run(
            "--nproc-per-node=32",
            "--grace=0.2",
            "--",
            worker("ignore_term"),
            through=["prlimit", f"--nofile={limit}:{limit}"],
        )

        assert job.code == 71, job.words()
        assert any("Too many open files" in line or "descriptor" in line for line in job.said)
        muster.assert_no_survivors()

    def test_just_enough_descriptors_are_enough(self, muster):
        job = muster.run("--nproc-per-node=8", "--", "true", through=["prlimit", "--nofile=56:56"])

        assert job.code == 0, job.words()

    @pytest.mark.parametrize("files", [False, True])
    def test_the_descriptor_limit_named_in_the_refusal_is_sufficient(
        self, muster, worker, tmp_path, files
    ):
        line = [
            *["--nproc-per-node=4", "--max-restarts=1", f"--report={tmp_path / 'report'}"],
            *([f"--log-dir={tmp_path}", "--duplicate-stdout-filters=a"] if files else []),
            *["--progress-file", str(tmp_path / "progress"), "--", worker("fail_on_rank"), "1", "2"],
        ]
        too_few = muster.run(*line, through=["prlimit", "--nofile=43:43"])
        enough = muster.run(*line, through=["prlimit", "--nofile=44:44"])

        assert_refused(too_few, 71, "4 workers", "takes 44")
        assert enough.code == 2, enough.words()
        assert not [said for said in enough.said if "descriptor" in said or "open files" in said]

    def test_reserved_ports_are_counted(self, muster):
        line = ["--mode=ps", "--roles=worker=2,ps=8", "--", "true"]
        too_few = muster.run(*line, through=["prlimit", "--nofile=71:71"])
        enough = muster.run(*line, through=["prlimit", "--nofile=72:72"])

        assert_refused(too_few, 71, "10 processes with 10 ports", "takes 72")
        assert enough.code == 0, enough.words()

    def test_descriptors_for_node_links_are_counted(self, muster):
        job = muster.run(
            *["msrun", "--worker_num=400", "--local_worker_num=2", "--master_addr=127.0.0.1"],
            *["--master_port=8118", "true"],
            through=["prlimit", "--nofile=64:64"],
        )

        assert_refused(job, 71, "lead 200 nodes", "273")

    @pytest.mark.parametrize("limit", [3, 4, 10])
    def test_a_refused_fork_is_71_and_nothing_is_left(self, muster, limit):
        user = 100_000 + os.getpid()  # nobody else runs anything as this one
        limited = [
            "setpriv",
            f"--reuid={user}",
            "--clear-groups",
            "prlimit",
            f"--nproc={limit}:{limit}",
        ]

        job = muster.run(
            "--nproc-per-node=32",
            "--",
            "sleep",
            "100",
            through=limited,
            cwd="/",
            env={"TMPDIR": "/tmp"},
        )

        assert job.code == 71, job.words()
        assert any(
            "Resource temporarily unavailable" in line or "process" in line for line in job.said
        )
        muster.assert_no_survivors()

    def test_no_temporary_directory_breaks_nothing(self, muster):
        job = muster.run(
            "--nproc-per-node=2", "--", "sh", "-c", "exit 3", env={"TMPDIR": "/no/such/directory"}
        )

        assert job.code == 3, job.words()
        assert "/no/such/directory" not in job.err.text


class TestWorkers:
    def test_a_worker_that_runs_on_after_closing_its_pipes_is_reported(self, muster, worker, tmp_path):
        job = muster.start("--nproc-per-node=2", "--", worker("close_its_pipes"), tmp_path / "go")
        job.err.wait_for("runs on", times=2, seconds=3)

        (tmp_path / "go").touch()

        assert job.end(2) == 0
        assert job.said_about("rank 1 closed its standard output and error and runs on")

    def test_a_worker_that_exits_soon_after_closing_its_pipes_is_not_reported(
        self, muster, worker, tmp_path
    ):
        (tmp_path / "go").touch()

        job = muster.run("--nproc-per-node=2", "--", worker("close_its_pipes"), tmp_path / "go")

        assert job.code == 0
        # Between the two muster waits for so long.
        promise("the end of who has closed its pipes", 1, 2 if "runs on" in job.err.text else 0)

    def test_a_worker_that_closed_its_pipes_is_ended_by_sigterm(self, muster, worker, tmp_path):
        job = muster.start(
            "--nproc-per-node=2", "--", worker("close_its_pipes"), tmp_path / "never"
        )
        job.out.wait_for("closing", times=2)

        job.signal(signal.SIGTERM)

        assert job.end(2) == 143

    def test_a_worker_may_delete_its_working_directory(self, muster, tmp_path):
        (tmp_path / "here").mkdir()

        job = muster.run(
            "--log-dir",
            tmp_path / "logs",
            "--",
            "sh",
            "-c",
            "rmdir ../here; echo gone",
            cwd=tmp_path / "here",
        )

        assert job.code == 0
        assert "gone" in job.out.text

    def test_200_simultaneous_exits_are_all_reaped(self, muster):
        job = muster.run("--nproc-per-node=200", "--", "true", seconds=20)

        assert job.code == 0
        assert job.said_about("200 workers succeeded")

    def test_a_worker_killed_from_outside_has_failed(self, muster):
        job = muster.start("--nproc-per-node=2", "--", "sh", "-c", "echo pid $$; exec sleep 100")
        job.out.wait_for("pid ", times=2)
        line = job.out.lines[0]
        rank, pid = line[1 : line.index("]")], int(line.split()[-1])

        os.kill(pid, signal.SIGKILL)

        assert job.end(2) == 137
        assert "SIGKILL" in job.said_about("failed first", f"rank {rank} ")
        wait_until(lambda: not muster.survivors(), "the end of all", 1)
