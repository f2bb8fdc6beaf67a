"""The command line: forms of an option, the end of the options, and the texts generated from the option table."""

import json
import re
import shutil
import signal
import subprocess

import pytest


def ranks(job):
    return sorted(line for line in job.out.lines)


TWO = ["[0] hi", "[1] hi"]


@pytest.mark.parametrize(
    "form",
    [
        ["--nproc-per-node", "2"],
        ["--nproc-per-node=2"],
        ["--nproc_per_node", "2"],
        ["--nproc_per_node=2"],
        ["--nproc-per_node=2"],
        ["run", "--nproc-per-node=2"],
    ],
)
def test_an_option_has_several_forms(muster, form):
    assert ranks(muster.run(*form, "--", "echo", "hi")) == TWO


def test_new_nodes_at_once_and_only_fit_ones_are_refused_together(muster):
    job = muster.run("--nnodes=1:2", "--preflight=strict", "--scale-up=now", "--", "echo", "started")

    assert job.code == 64
    assert "--scale-up is 'now' but --preflight is 'strict': " in job.err.text
    assert "leave --scale-up out" in job.err.text
    assert "started" not in job.out.text


@pytest.mark.parametrize("option", ["--hang-timeout", "--gang-timeout", "--max-restarts", "--master-port"])
def test_an_option_without_its_value_does_not_take_the_program_in_silence(muster, option):
    job = muster.run(option, "train.py")

    assert job.code == 64
    assert f"{option} is 'train.py', expected " in job.err.text


def test_an_option_can_be_a_variable(muster):
    assert ranks(muster.run("--", "echo", "hi", env={"MUSTER_NPROC_PER_NODE": 2})) == TWO


def test_a_flag_is_stronger_than_the_variable(muster):
    job = muster.run("--nproc-per-node=2", "--", "echo", "hi", env={"MUSTER_NPROC_PER_NODE": 3})

    assert ranks(job) == TWO


def test_torchruns_own_variable_is_honoured(muster):
    job = muster.run("--", "echo", "hi", env={"PET_NPROC_PER_NODE": 2})

    assert ranks(job) == TWO


def test_the_two_dashes_are_not_needed(muster):
    assert ranks(muster.run("--nproc-per-node=2", "echo", "hi")) == TWO


def test_nothing_after_the_program_is_an_option(muster):
    arguments = ["--nproc-per-node", "3", "--help", "--version", "--", "-m", "--no-such-option"]

    assert muster.run("echo", *arguments).out.text == " ".join(arguments) + "\n"
    assert muster.run("--", "echo", *arguments).out.text == " ".join(arguments) + "\n"


def test_after_the_two_dashes_even_a_dash_begins_a_program(muster):
    job = muster.run("--", "--help")

    assert job.code == 127
    assert job.said_about("cannot run '--help'")


def test_a_program_called_as_a_subcommand_can_be_run(muster, tmp_path):
    (tmp_path / "plan").write_text("#!/bin/sh\necho I am a program\n")
    (tmp_path / "plan").chmod(0o755)

    assert muster.run("--", "./plan").out.text == "I am a program\n"
    assert muster.run("run", "./plan").out.text == "I am a program\n"


def test_verbose_logs_events_and_waits(muster, worker):
    job = muster.start("--verbose", "--grace=0.2", "--", worker("ignore_term"))
    job.out.wait_for("ready")

    job.signal(signal.SIGTERM)

    assert job.end(2) == 143
    assert job.said_about("SIGTERM received", "asking 1 worker to end")
    assert job.said_about("rank 0 (pid ", "ended: signal SIGKILL")


class TestPython:
    @pytest.fixture(autouse=True)
    def script(self, tmp_path):
        (tmp_path / "train.py").write_text("import sys\nprint(sys.executable, *sys.argv)\n")
        (tmp_path / "train.py").chmod(0o755)

    @pytest.fixture
    def my_python(self, tmp_path):
        python = tmp_path / "my_python"
        python.write_text('#!/bin/sh\necho "my python got $@"\n')
        python.chmod(0o755)
        return python

    def test_a_script_is_run_with_python3(self, muster):
        job = muster.run("train.py", "--lr", "0.1")

        assert job.code == 0
        assert job.out.text.rstrip().endswith("train.py --lr 0.1")

    def test_a_script_is_run_with_the_chosen_python(self, muster, my_python):
        job = muster.run("train.py", "x", env={"PYTHON_EXEC": my_python})

        assert job.out.text == "my python got train.py x\n"

    def test_a_module_is_run_with_python(self, muster, my_python):
        job = muster.run("-m", "package.train", "--lr", "1", env={"PYTHON_EXEC": my_python})

        assert job.out.text == "my python got -m package.train --lr 1\n"

    def test_a_real_module_runs(self, muster, tmp_path):
        job = muster.run("--nproc-per-node=2", "--module", "train", "x")

        assert job.code == 0, job.words()
        assert job.out.text.count(" x\n") == 2

    def test_python_can_be_left_out(self, muster, tmp_path):
        (tmp_path / "train.py").write_text("#!/bin/sh\necho run by a shell\n")

        assert muster.run("--no-python", "./train.py").out.text == "run by a shell\n"

    def test_other_programs_get_no_python(self, muster, my_python):
        assert (
            muster.run("--", "echo", "train.py", env={"PYTHON_EXEC": my_python}).out.text
            == "train.py\n"
        )


class TestPlan:
    def test_plan_starts_no_process(self, muster, tmp_path):
        job = muster.run("plan", "--nproc-per-node=2", "--", "touch", "started")

        assert job.code == 0
        assert job.out.text != ""
        assert not (tmp_path / "started").exists()

    def test_plan_json_has_the_documented_fields(self, muster):
        job = muster.run("plan", "--json", "--nproc-per-node=2", "--", "echo", "hi")

        plan = json.loads(job.out.text)
        assert job.code == 0
        assert set(plan) >= {
            "muster",
            "platform",
            "mode",
            "nodes",
            "rendezvous",
            "world_size",
            "decisions",
            "files",
            "processes",
        }
        assert (plan["platform"], plan["mode"], plan["world_size"]) == ("single", "torchrun", 2)
        assert [process["argv"] for process in plan["processes"]] == [["echo", "hi"]] * 2
        assert [process["env"]["RANK"] for process in plan["processes"]] == ["0", "1"]
        assert plan["processes"][0]["env"]["MASTER_PORT"] == "{worker_port}"

    def test_the_program_of_a_plan_need_not_exist(self, muster):
        assert muster.run("plan", "--", "no-such-program").code == 0

    def test_a_plan_with_a_bad_value_is_refused_as_a_run_is(self, muster):
        assert muster.run("plan", "--nproc-per-node=0", "--", "true").code == 64

    def test_nodes_of_hai_count_nodes_and_not_workers(self, muster):
        environment = {
            "MARSV2_TASK_ID": 1,
            "MASTER_IP": "10.0.0.1",
            "MASTER_PORT": 2222,
            "RANK": 1,
            "WORLD_SIZE": 2,
        }

        plan = json.loads(
            muster.run(
                "plan", "--json", "--nproc-per-node=8", "--", "true", env=environment
            ).out.text
        )

        assert plan["world_size"] == 16
        assert [process["global_rank"] for process in plan["processes"]] == list(range(8, 16))
        sources = {one["field"]: one["source"] for one in plan["decisions"]}
        assert "WORLD_SIZE" in sources.values()
        assert "RANK" in sources.values()


class TestTexts:
    @pytest.fixture
    def options(self, muster):
        """All long options that --help names."""
        lines = muster.run("--help").out.lines
        matches = (re.match(r" {2,6}(?:-\w, )?(--[a-z-]+)", line) for line in lines)
        found = {match[1] for match in matches if match}
        assert {"--nproc-per-node", "--log-dir", "--grace", "--report", "--help"} <= found
        return found

    def test_help_teaches_with_examples(self, muster):
        job = muster.run("--help")

        assert job.code == 0
        assert "muster train.py" in job.out.text
        assert len(job.out.lines) > 20
        assert max(map(len, job.out.lines)) <= 100

    def test_short_help_is_the_same(self, muster):
        assert muster.run("-h").out.text == muster.run("--help").out.text

    def test_version_is_one_line(self, muster):
        job = muster.run("--version")

        assert job.code == 0
        assert re.fullmatch(r"muster \d+\.\d+\.\d+\n", job.out.text)

    @pytest.mark.parametrize("words", [("--version", "--verbose"), ("-v", "--version")])
    def test_verbose_version_lists_linked_libraries(self, muster, words):
        job = muster.run(*words)

        assert job.code == 0
        assert job.out.lines[0] == muster.run("--version").out.text.strip()
        for part in ("OpenSSL 3", "glibc 2", "libstdc++ ", "Boost 1", "yaml-cpp 0", "zlib 1", "spdlog 1", "fmt "):
            (line,) = [line for line in job.out.lines if line.startswith(part)]
            assert re.fullmatch(r"\S+ [0-9.]+( \(Debian package \S+ \S+\)| \(of this machine\))?", line)
        assert any(line.startswith("built for ") for line in job.out.lines)

    def test_explain_is_a_table_of_values_and_their_sources(self, muster):
        job = muster.run("explain", "--nproc-per-node=2", "--", "true")

        assert job.code == 0
        assert job.out.lines[0].split() == ["FIELD", "VALUE", "SOURCE"]
        assert any("--nproc-per-node" in line for line in job.out.lines)

    def test_bash_accepts_its_completions_and_they_know_every_option(
        self, muster, options, tmp_path
    ):
        text = muster.run("--print-completion", "bash").out.text
        (tmp_path / "completion").write_text(text)

        subprocess.run(["bash", "-n", str(tmp_path / "completion")], check=True)
        assert {option for option in options if option not in text} == set()

    def test_bash_completes_an_option(self, muster, tmp_path):
        (tmp_path / "completion").write_text(muster.run("--print-completion=bash").out.text)
        script = """
            . ./completion
            function_name=$(complete -p muster | sed 's/.*-F *\\([^ ]*\\).*/\\1/')
            COMP_WORDS=(muster --nproc) COMP_CWORD=1 COMP_LINE='muster --nproc' COMP_POINT=14
            "$function_name" muster --nproc muster
            echo "${COMPREPLY[@]}"
        """

        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )

        assert "--nproc-per-node" in done.stdout

    def test_bash_completes_a_word_or_a_file(self, muster, tmp_path):
        (tmp_path / "completion").write_text(muster.run("--print-completion=bash").out.text)
        (tmp_path / "general.json").touch()
        script = """
            . ./completion
            COMP_WORDS=(muster --rank-table gene) COMP_CWORD=2
            _muster muster gene --rank-table
            echo "${COMPREPLY[@]}"
        """

        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )

        assert done.stdout == "generate general.json\n"

    def test_zsh_completions_know_every_option(self, muster, options, tmp_path):
        text = muster.run("--print-completion=zsh").out.text
        (tmp_path / "_muster").write_text(text)

        assert text.startswith("#compdef muster")
        assert {option for option in options if option not in text} == set()
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n", str(tmp_path / "_muster")], check=True)

    @pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
    def test_zsh_completions_keep_the_marks_of_a_description(self, muster, tmp_path):
        (tmp_path / "_muster").write_text(muster.run("--print-completion=zsh").out.text)
        shown = "_arguments() { print -rl -- $@ }; words=(muster) CURRENT=2; source ./_muster"

        done = subprocess.run(
            ["zsh", "-fc", shown], cwd=tmp_path, capture_output=True, text=True, check=True
        )

        assert "or MIN:MAX such as 2:4. Default: what" in done.stdout
        assert "such as '--mca btl self,tcp'" in done.stdout

    def test_a_shell_without_completions_is_refused(self, muster):
        assert muster.run("--print-completion=fish").code == 64

    def test_the_man_page_knows_every_option(self, muster, options):
        page = muster.run("--print-man").out.text

        plain = page.replace("\\-", "-")
        assert page.startswith((".TH", '.\\"', "'"))
        assert {option for option in options if option not in plain} == set()

    def test_the_man_page_is_well_formed(self, muster, tmp_path):
        (tmp_path / "muster.1").write_bytes(muster.run("--print-man").out.bytes)
        checker = (
            ["mandoc", "-T", "lint", "-W", "warning"]
            if shutil.which("mandoc")
            else ["man", "--warnings", "-l"]
        )

        done = subprocess.run(
            [*checker, str(tmp_path / "muster.1")], capture_output=True, text=True, check=False
        )

        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr

    def test_every_option_is_a_variable_too(self, muster, options):
        """A variable that is known is not answered with 'unknown'."""
        actions = {"--help", "--version", "--print-completion", "--print-man"}
        for option in sorted(options - actions):
            name = "MUSTER_" + option.removeprefix("--").replace("-", "_").upper()
            job = muster.run("--", "true", env={name: "~no such value~"})
            assert not any("unknown" in line and name in line for line in job.said), job.err.text
