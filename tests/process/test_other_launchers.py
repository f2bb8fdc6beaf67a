"""Command lines of other launchers: as a command of muster, and by a symlink with their name."""

import json
import subprocess
import time

import pytest

from support.gang import free_port
from support.muster import binary

SHOW = "import os, sys; print(os.environ['RANK'], os.environ['WORLD_SIZE'], sys.argv[1:])"


@pytest.fixture
def script(tmp_path):
    """A Python script that says its rank, the number of ranks, and its arguments."""
    (tmp_path / "train.py").write_text(SHOW + "\n")
    return "train.py"


def shown(job):
    assert job.code == 0, job.words()
    return sorted(line.split("] ")[-1] for line in job.out.lines)


LINKS = (
    *("torchrun", "torch.distributed.run", "torch.distributed.launch", "msrun", "deepspeed"),
    *("muster-1.2", "mpirun", "srun", "accelerate", "accelerate-launch"),
    *("paddle.distributed.launch", "fleetrun", "colossalai", "horovodrun"),
)


@pytest.fixture(autouse=True)
def links(tmp_path):
    (tmp_path / "links").mkdir()
    for name in LINKS:
        (tmp_path / "links" / name).symlink_to(binary())


def under(name):
    """Runs muster through a symlink of this name."""
    assert name in LINKS
    return {"program": f"./links/{name}"}


# --- Names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (["torchrun"], {}),
        (["run", "torchrun"], {}),
        (["--verbose", "torchrun"], {}),
        (["torch.distributed.run"], {}),
        ([], under("torchrun")),
        ([], under("torch.distributed.run")),
        (["torchrun"], under("muster-1.2")),
    ],
)
def test_a_line_of_torchrun_is_run(muster, script, words, how):
    job = muster.run(*words, "--nproc_per_node", "2", script, "a", **how)

    assert shown(job) == ["0 2 ['a']", "1 2 ['a']"]


def test_a_symlink_of_another_name_is_refused(muster):
    job = muster.run("train.py", **under("srun"))

    assert job.code == 64
    assert job.said_about("srun") == (
        "this program was started as 'srun', expected a name that begins with muster, or one of "
        "torchrun, torch.distributed.run, torch.distributed.launch, msrun, deepspeed, mpirun, accelerate, "
        "accelerate-launch, paddle.distributed.launch, colossalai, horovodrun"
    )


def test_a_program_named_like_a_front_end_can_be_run(muster, tmp_path):
    (tmp_path / "torchrun").write_text("#!/bin/sh\necho the other one $*\n")
    (tmp_path / "torchrun").chmod(0o755)

    for words in (["--", "./torchrun"], ["./torchrun"]):
        assert muster.run(*words, "--standalone").out.text == "the other one --standalone\n"


# --- Where options end ---------------------------------------------------------------------------

ARGUMENTS = ["--nnodes", "3", "--d", "--master_port", "1", "-m", "--help", "-r", "--nproc=2"]


@pytest.mark.parametrize("how", [{}, under("torchrun")])
def test_script_arguments_reach_the_script_unchanged(muster, script, how):
    words = [] if how else ["torchrun"]

    job = muster.run(*words, "--nproc-per-node=1", script, *ARGUMENTS, **how)

    assert shown(job) == [f"0 1 {ARGUMENTS}"]


def test_module_arguments_reach_the_module_unchanged(muster, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text(SHOW + "\n")

    job = muster.run("torchrun", "--standalone", "-m", "package.train", "--", *ARGUMENTS)

    assert shown(job) == [f"0 1 {ARGUMENTS}"]


def test_an_unknown_option_is_refused_with_the_nearest_known_one(muster, script):
    job = muster.run("torchrun", "--nodes", "1", script)

    assert job.code == 64
    assert job.said == ["unknown option '--nodes'; did you mean '--nnodes'?"]


# --- What it does --------------------------------------------------------------------------------


def test_a_script_is_run_by_python_whatever_its_name(muster, tmp_path):
    (tmp_path / "train").write_text(SHOW + "\n")

    assert shown(muster.run("torchrun", "train", "a")) == ["0 1 ['a']"]
    assert shown(muster.run("torchrun", "--no-python", "sh", "-c", "echo $RANK")) == ["0"]


def test_the_local_rank_is_an_argument_of_the_script(muster, script):
    launch = ["torch.distributed.launch", "--nproc_per_node=2"]

    assert shown(muster.run(*launch, script, "--eval")) == [
        "0 2 ['--local-rank=0', '--eval']",
        "1 2 ['--local-rank=1', '--eval']",
    ]
    assert shown(muster.run(*launch, "--use_env", script)) == ["0 2 []", "1 2 []"]


def test_the_exit_code_is_the_workers(muster):
    assert muster.run("torchrun", "--no-python", "sh", "-c", "exit 7").code == 7


def test_an_ignored_option_is_reported_once_with_its_reason(muster, script):
    job = muster.run(
        "torchrun", "--monitor-interval=5", "--standalone", "--rdzv-id=7", "--nproc-per-node=2", script
    )

    assert len(shown(job)) == 2
    assert [line for line in job.said if line.startswith("ignoring")] == [
        "ignoring --monitor-interval: muster does not poll; it sees at once that a worker ends",
        "ignoring --rdzv-id: --standalone is one node with a free port",
    ]


def test_a_plan_reports_ignored_options(muster, script):
    job = muster.run("plan", "torchrun", "--local-addr", "a", script)

    assert job.code == 0
    assert "python3" in job.out.text
    assert job.said_about("ignoring --local-addr")


def test_explain_needs_no_script(muster):
    job = muster.run("explain", "torchrun", "--nnodes", "2", "--master-addr", "a", "--node_rank=1")

    assert job.code == 0
    assert ["nodes.rank", "1", "--node_rank"] in [line.split() for line in job.out.lines]
    assert ["mode", "torchrun", "muster", "torchrun"] in [line.split() for line in job.out.lines]


def test_streams_of_single_ranks_go_to_files(muster, tmp_path):
    line = ["torchrun", "--nproc-per-node=2", "--log-dir=logs", "-r", "1:1", "-t0:1", "--no-python"]

    job = muster.run(*line, "sh", "-c", "echo hi $RANK")

    assert job.out.lines == ["[default0]:hi 0"]
    (attempt,) = tmp_path.glob("logs/*/attempt_0")
    written = sorted(str(path.relative_to(attempt)) for path in attempt.rglob("*.log"))
    assert written == ["0/stdout.log", "1/stdout.log"]


def test_options_of_muster_stand_beside_those_of_torchrun(muster, script):
    job = muster.run("torchrun", "--nproc-per-node=2", script, report=True)

    assert len(shown(job)) == 2
    assert job.report["verdict"] == "succeeded"


# --- Nodes ---------------------------------------------------------------------------------------


def run_two(muster, lines):
    jobs = [muster.start("torchrun", *line, "--no-python", "sh", "-c", ECHO) for line in lines]
    return [(job.end(), job) for job in jobs]


ECHO = "echo rank $RANK of $WORLD_SIZE, node $GROUP_RANK, job $TORCHELASTIC_RUN_ID"


def lines_of(ended):
    assert [code for code, _ in ended] == [0, 0], "\n".join(job.words() for _, job in ended)
    return sorted(line.split("] ")[-1] for _, job in ended for line in job.out.lines)


def test_two_nodes_meet_at_a_c10d_endpoint_by_arrival(muster):
    line = ["--nnodes=2", "--rdzv_id=7", "--rdzv_backend=c10d"]
    line += [f"--rdzv_endpoint=127.0.0.1:{free_port()}", "--rdzv_conf=timeout=60,is_host=1"]

    assert lines_of(run_two(muster, [line, line])) == [
        "rank 0 of 2, node 0, job 7",
        "rank 1 of 2, node 1, job 7",
    ]


def test_two_nodes_meet_at_a_static_master(muster):
    line = ["--nnodes=2", "--nproc_per_node=1", "--master_addr=127.0.0.1"]
    line += [f"--master_port={free_port()}"]

    assert lines_of(run_two(muster, [[*line, "--node_rank=1"], [*line, "--node_rank=0"]])) == [
        "rank 0 of 2, node 0, job none",
        "rank 1 of 2, node 1, job none",
    ]


def test_hosts_of_a_deepspeed_file_are_started_separately(muster, script, tmp_path):
    (tmp_path / "hosts").write_text("a slots=1\nb slots=1\nc slots=2\n")
    line = ["deepspeed", "--no_ssh", "--hostfile=hosts", "--exclude=b", "--no_local_rank"]
    line += ["--master_addr=127.0.0.1", f"--master_port={free_port()}"]

    jobs = [muster.start(*line, f"--node_rank={rank}", script) for rank in (1, 0)]

    assert lines_of([(job.end(), job) for job in jobs]) == ["0 3 []", "1 3 []", "2 3 []"]


@pytest.mark.parametrize(
    "words",
    [
        ["torchrun", "--nproc_per_node=2"],
        ["deepspeed", "--num_gpus=2", "--no_local_rank"],
        ["colossalai", "run", "--nproc_per_node=2"],
        ["fleetrun", "--nproc_per_node=2"],
        ["horovodrun", "-np=2", "python3"],
    ],
)
def test_leftover_variables_of_another_launcher_are_ignored(muster, tmp_path, words):
    (tmp_path / "train.py").write_text(
        "import os; print(*[os.environ[name] for name in"
        " ('WORLD_SIZE', 'PADDLE_TRAINERS_NUM') if name in os.environ])"
    )
    left = {"RANK": 0, "WORLD_SIZE": 4, "MASTER_ADDR": "localhost", "MASTER_PORT": 29500}
    job = muster.run(*words, "train.py", env=left)

    assert [line.split()[-1] for line in shown(job)] == ["2", "2"]
    assert job.said_about("ignoring RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT")


def test_the_platform_counts_the_nodes_where_nothing_else_does(muster):
    port = free_port()
    hai = {"MARSV2_TASK_ID": 1, "WORLD_SIZE": 2, "MASTER_IP": "127.0.0.1", "MASTER_PORT": port}
    words = ["torchrun", "--no-python", "sh", "-c", ECHO]

    jobs = [muster.start(*words, env={**hai, "RANK": rank}) for rank in (0, 1)]

    assert len(lines_of([(job.end(), job) for job in jobs])) == 2
    for job in jobs:
        assert job.said_about("itself would run") == (
            "torchrun itself would run on one node: taking 2 from WORLD_SIZE"
        )


def test_standalone_is_one_node_on_every_platform(muster, script):
    hai = {"MARSV2_TASK_ID": 1, "WORLD_SIZE": 2, "RANK": 1, "MASTER_IP": "10.0.0.1"}

    assert shown(muster.run("torchrun", "--standalone", script, env=hai)) == ["0 1 []"]


def test_variables_of_torchrun_are_read(muster, script):
    job = muster.run("torchrun", script, env={"PET_STANDALONE": "true", "PET_NPROC_PER_NODE": 2})

    assert shown(job) == ["0 2 []", "1 2 []"]


def test_extra_parameters_of_the_platform_override_options(muster, script):
    extra = {"MA_RUN_METHOD": "torchrun", "MA_EXTRA_TORCHRUN_PARAMS": "--nproc_per_node=2"}

    assert shown(muster.run("--nproc-per-node=1", script, env=extra)) == ["0 2 []", "1 2 []"]
    assert muster.run(script, env={**extra, "MA_EXTRA_TORCHRUN_PARAMS": "--x"}).code == 78


# --- Texts ---------------------------------------------------------------------------------------

LAUNCHERS = ["torchrun", "torch.distributed.launch", "msrun", "deepspeed"]
LAUNCHERS += ["paddle.distributed.launch", "colossalai", "horovodrun"]


@pytest.mark.parametrize("name", LAUNCHERS)
def test_help_describes_each_options_treatment(muster, name):
    for words, how in (([name], {}), ([], under(name))):
        text = muster.run(*words, "--help", **how).out.text

        assert text.startswith(f"Usage: muster {name}")
        for heading in ("The same:", "Better, and how:"):
            assert f"\n{heading}\n" in text


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_shell_completes_the_options(muster, tmp_path, name):
    (tmp_path / "completion").write_text(muster.run(name, "--print-completion=bash").out.text)
    options = {"msrun": "--log_d", "deepspeed": "--master_a", "colossalai": "--master_a"}
    options["paddle.distributed.launch"] = "--log_d"
    options["horovodrun"] = "--slots-per-h"
    option = options.get(name, "--log-d")
    complete = f"""
        . ./completion
        function_name=$(complete -p {name} | sed 's/.*-F *\\([^ ]*\\).*/\\1/')
        COMP_WORDS=({name} {option}) COMP_CWORD=1
        "$function_name" {name} {option} {name}
        echo "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(
        ["bash", "-c", complete], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == option + {"a": "ddr", "h": "ost"}.get(option[-1], "ir")


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (["accelerate", "launch"], {}),
        (["accelerate.commands.launch"], {}),
        (["launch"], under("accelerate")),
        ([], under("accelerate-launch")),
    ],
)
def test_a_line_of_accelerate_is_run_with_its_configuration(muster, tmp_path, words, how):
    (tmp_path / "cfg.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 2\ndebug: true\n")
    (tmp_path / "train.py").write_text(
        "import os, sys; print(os.environ['RANK'], os.environ['ACCELERATE_DEBUG_MODE'], sys.argv[1:])"
    )
    job = muster.run(*words, "--config_file", "cfg.yaml", "train.py", "--config_file", "x", **how)

    assert shown(job) == [f"{rank} true ['--config_file', 'x']" for rank in (0, 1)]


def test_the_configuration_of_accelerate_is_found_at_home(muster, script, tmp_path):
    folder = tmp_path / "hf" / "accelerate"
    folder.mkdir(parents=True)
    (folder / "default_config.yaml").write_text("distributed_type: MULTI_CPU\nnum_processes: 2\n")
    job = muster.run("accelerate", "launch", script, env={"HF_HOME": tmp_path / "hf"})

    assert shown(job) == ["0 2 []", "1 2 []"]


def test_a_single_process_of_accelerate_gets_no_rank(muster):
    line = ["accelerate", "launch", "--cpu", "--no_python"]
    job = muster.run(*line, "sh", "-c", "echo ${RANK-none} ${MASTER_ADDR-none} $ACCELERATE_USE_CPU")

    assert shown(job) == ["none none True"]


@pytest.mark.parametrize(
    ("words", "how"), [(["paddle.distributed.launch"], {}), ([], under("fleetrun"))]
)
def test_a_line_of_paddle_is_run(muster, tmp_path, words, how):
    names = ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_NNODES", "PADDLE_LOG_DIR")
    (tmp_path / "train.py").write_text(
        f"import os, sys; print(*(os.environ[name] for name in {names}), sys.argv[1:])"
    )
    job = muster.run(*words, "--nproc_per_node", "2", "train.py", "--nnodes", "3", **how)

    assert shown(job) == [f"{rank} 2 1 {tmp_path / 'log'} ['--nnodes', '3']" for rank in (0, 1)]
    assert (tmp_path / "log").is_dir()


def test_variables_of_paddle_override_options(muster, script):
    job = muster.run("fleetrun", "--nproc_per_node=1", "true", env={"PADDLE_NPROC_PER_NODE": 2})

    assert job.code == 0
    assert job.said_about("wins over") == (
        "PADDLE_NPROC_PER_NODE is '2' and wins over --nproc_per_node, as in paddle.distributed.launch"
    )
    assert job.said_about("2 workers here")


@pytest.mark.parametrize(
    ("words", "how"), [(["colossalai", "run"], {}), (["run"], under("colossalai"))]
)
def test_a_line_of_colossalai_is_run(muster, script, tmp_path, words, how):
    (tmp_path / "hosts").write_text("localhost\nnode-b\n")
    line = ["--hostfile", "hosts", "--exclude=node-b", script, "a", "--nproc_per_node", "2", "--", "-m"]

    assert shown(muster.run(*words, *line, **how)) == ["0 2 ['a', '-m']", "1 2 ['a', '-m']"]


@pytest.mark.parametrize(("words", "how"), [(["horovodrun"], {}), ([], under("horovodrun"))])
def test_a_line_of_horovodrun_is_run_with_its_configuration(muster, tmp_path, words, how):
    (tmp_path / "cfg.yaml").write_text("params:\n  cache_capacity: 7\n  cycle_time_ms: 2\n")
    names = ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_CACHE_CAPACITY", "HOROVOD_CYCLE_TIME")
    names = (*names, "OMPI_MCA_btl_tcp_if_include")
    line = ["-np", "2", "-H", "localhost:2", "--config-file=cfg.yaml", "--cycle-time-ms", "3"]
    line += ["--network-interface", "lo", "sh", "-c", "echo " + " ".join(f"${name}" for name in names)]

    assert shown(muster.run(*words, *line, **how)) == [f"{rank} 2 7 3 lo" for rank in (0, 1)]


@pytest.mark.parametrize(
    ("line", "shares"),
    [
        (["horovodrun", "-np", "3", "-H", "a:2,b:2"], ["1", "2", "2"]),
        (["horovodrun", "-np", "3", "-hostfile", "pool"], ["1", "2", "2"]),
        (["colossalai", "run", "--hostfile", "names", "--nproc_per_node", "2"], ["2"] * 4),
        (["colossalai", "run", "-host", "a,b", "--nproc_per_node", "2"], ["2"] * 4),
    ],
)
def test_hosts_of_a_hostfile_are_started(muster, tmp_path, line, shares):
    (tmp_path / "remote-shell").write_text('#!/bin/sh\nexec /bin/sh -c "$2"\n')
    (tmp_path / "remote-shell").chmod(0o755)
    (tmp_path / "pool").write_text("a slots=2\nb slots=2\n")
    (tmp_path / "names").write_text("a\nb\n")
    (tmp_path / "train.py").write_text(
        "import os; print(os.environ['WORLD_SIZE'], os.environ['LOCAL_WORLD_SIZE'])"
    )
    shell = ["--remote-shell", str(tmp_path / "remote-shell")]
    meeting = ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    program = ["train.py"] if line[0] == "colossalai" else ["python3", "train.py"]

    job = muster.run("--color=never", "--prefix=never", *shell, *meeting, *line, *program)

    assert shown(job) == [f"{len(shares)} {share}" for share in shares]


def test_other_commands_of_accelerate_are_refused(muster):
    job = muster.run("accelerate", "config")

    assert job.code == 64
    assert job.said_about("config") == (
        "'muster accelerate' knows only the command 'launch': for 'config' start accelerate itself"
    )


def test_the_tested_binary_is_named_muster():
    assert binary().name == "muster", "names that begin otherwise would be refused"


def test_leftover_variables_do_not_change_the_command_line(muster, script):
    """They stand so in many repositories: what is left over from another start is no part of this one."""
    for variables in (
        {"WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "0,1"},
        {"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"},
        {"TF_CONFIG": "{"},
    ):
        job = muster.run("torchrun", "--nproc_per_node=2", script, env=variables)

        assert shown(job) == ["0 2 []", "1 2 []"]
        assert job.words().count("ignoring ") == 1, job.words()


def test_the_local_rank_precedes_the_scripts_arguments(muster, tmp_path):
    (tmp_path / "train.py").write_text(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--local-rank', '--local_rank', type=int, default=-1)\n"
        "parser.add_argument('rest', nargs=argparse.REMAINDER)\n"
        "print(parser.parse_args().local_rank)\n"
    )
    for line in (["torch.distributed.launch", "--nproc-per-node=2"], ["deepspeed", "--num_gpus=2"]):
        assert shown(muster.run(*line, "train.py", "config", "--opts", "x")) == ["0", "1"]


def test_the_python_of_a_virtual_environment_runs_the_script(muster, tmp_path):
    subprocess.run(["python3", "-m", "venv", "--without-pip", "env"], cwd=tmp_path, check=True)
    (tmp_path / "env/bin/torchrun").symlink_to(binary())
    (tmp_path / "train.py").write_text("import sys; print(sys.prefix)\n")
    beside = muster.run("train.py", program=tmp_path / "env/bin/torchrun")
    by_path = muster.run(
        "-c", "exec torchrun train.py", program="sh", env={"PATH": f"{tmp_path}/env/bin:/usr/bin:/bin"}
    )

    assert shown(beside) == shown(by_path) == [str(tmp_path / "env")]


def test_a_failure_is_written_to_the_outer_launchers_error_file(muster, tmp_path):
    """In the form in which torch.distributed.elastic reads it, also from a launcher within a launcher."""
    file = tmp_path / "error.json"
    script = "import sys; print('no such data', file=sys.stderr); sys.exit(7)"
    (tmp_path / "train.py").write_text(script)
    began = time.time()
    job = muster.run("torchrun", "train.py", env={"TORCHELASTIC_ERROR_FILE": file})

    assert job.code == 7
    message = json.loads(file.read_text())["message"]
    assert message["message"].startswith("rank 0 on node 0") and "exit code 7" in message["message"]
    assert message["errorCode"] == 7
    assert message["extraInfo"]["py_callstack"] == "no such data"
    assert began - 1 <= int(message["extraInfo"]["timestamp"]) <= time.time() + 1

    outer = muster.run("torchrun", "--no-python", binary(), "torchrun", "train.py", report=True)
    assert outer.code == 7
    if "the workers' error files are not read" not in outer.err.text:  # by a machine that is too busy
        assert "rank 0 on node 0" in outer.report["first_failure"]["error_file"]


@pytest.mark.parametrize("code", [3, -9])
def test_the_outer_launchers_error_file_has_the_workers_error(muster, tmp_path, code):
    """As torch.distributed.elastic passes it on: all of it, with the exit code as Python's subprocess has it."""
    error = {"message": {"message": "sad", "extraInfo": {"py_callstack": "a\\nb"}}, "more": [1]}
    (tmp_path / "train.py").write_text(
        "import json, os\n"
        f"json.dump({error}, open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w'))\n"
        + ("os.kill(os.getpid(), 9)\n" if code < 0 else f"os._exit({code})\n")
    )
    for logs in ([], ["--log-dir=logs"]):
        muster.run("torchrun", *logs, "train.py", env={"TORCHELASTIC_ERROR_FILE": tmp_path / "error"})

        error["message"]["errorCode"] = code
        assert json.loads((tmp_path / "error").read_text()) == error


def test_a_short_error_file_is_passed_on_unchanged(muster, tmp_path):
    error = {"message": "plain words", "timestamp": 10}
    script = f"echo '{json.dumps(error)}' > $TORCHELASTIC_ERROR_FILE; exit 3"
    muster.run(
        "torchrun", "--no-python", "sh", "-c", script, env={"TORCHELASTIC_ERROR_FILE": tmp_path / "e"}
    )

    assert json.loads((tmp_path / "e").read_text()) == error


def test_a_success_leaves_no_error_file(muster, tmp_path):
    job = muster.run("torchrun", "--no-python", "true", env={"TORCHELASTIC_ERROR_FILE": tmp_path / "e"})

    assert job.code == 0
    assert not (tmp_path / "e").exists()


# --- torchrun: what lines begin with -------------------------------------------------------------

JSON_LINE = """echo "{\\"rank\\": $RANK}"; echo problem >&2"""


def test_torchruns_output_into_a_pipe_has_no_prefix(muster):
    job = muster.run("torchrun", "--nproc-per-node=2", "--no-python", "sh", "-c", JSON_LINE)

    assert job.code == 0, job.words()
    assert sorted(json.loads(line)["rank"] for line in job.out.lines) == [0, 1]
    assert job.err.lines.count("problem") == 2


def test_teed_output_of_torchrun_has_torchruns_prefix(muster, tmp_path):
    options = ["-t", "3", "--log-dir", tmp_path / "logs", "--role=trainer", "--no-python"]
    job = muster.run("torchrun", *options, "sh", "-c", JSON_LINE)

    assert job.code == 0, job.words()
    assert job.out.lines == ['[trainer0]:{"rank": 0}']
    assert "[trainer0]:problem" in job.err.lines


def test_prefix_options_and_variables_apply_to_torchrun(muster, tmp_path):
    def first_of(*options, **env):
        line = ["torchrun", *options, "--nproc-per-node=2", "--no-python", "echo", "here"]
        job = muster.run(*line, env=env)
        assert job.code == 0, job.words()
        return sorted(job.out.lines)[0]

    tee = ["-t", "3", "--log-dir", tmp_path / "logs"]
    assert first_of("--prefix=auto") == "[0] here"
    assert first_of(MUSTER_PREFIX="always") == "[0] here"
    assert first_of(*tee, TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="<${rank}> ") == "<0> here"
    assert first_of(*tee, "--log-line-prefix-template=<${rank}>") == "<0>here"
    assert first_of(*tee, "--prefix=never") == "here"
    assert first_of("-t", "0") == "here"


def test_torchruns_output_on_a_terminal_has_prefixes(terminal):
    line = ["torchrun", "--nproc-per-node=2", "--no-python", "echo", "here"]
    one = terminal(binary(), "--color=never", *line)

    assert one.end() == 0, one.screen.text
    assert "[0] here" in one.screen.text
    assert "[1] here" in one.screen.text


def test_a_missing_script_is_named_before_the_other_nodes_are_waited_for(muster):
    line = ["--nnodes=2", "--node_rank=0", "--master_addr=127.0.0.1", f"--master_port={free_port()}"]

    job = muster.start("torchrun", *line, "nosuch.py")
    job.err.wait_for("no file 'nosuch.py'")

    assert job.said_about("no file 'nosuch.py'", "when all nodes are here") in job.said[:3]
    job.signal(15)
    assert job.end() == 143
