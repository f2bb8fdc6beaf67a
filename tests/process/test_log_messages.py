"""Log messages about the workers while they run."""


def test_verbose_logs_which_script_was_started(muster):
    (muster.folder / "ok.py").write_text("print('ok')\n")

    implied = muster.run("-v", "ok.py")
    named = muster.run("-v", "--", "python3", "ok.py")

    for job in (implied, named):
        assert job.code == 0, job.words()
        assert job.said_about("rank 0 (pid ", "started: ").endswith("python3 ok.py")
    module = muster.run("-v", "-m", "ok")
    assert module.said_about("rank 0 (pid ", "started: ").endswith("python3 -m ok"), module.words()


def test_verbose_names_the_only_running_rank_in_the_singular(muster):
    go = muster.folder / "go"
    script = f'test $RANK = 0 || until test -e "{go}"; do sleep 0.05; done'
    job = muster.start("-v", "--nproc-per-node=2", "--", "sh", "-c", script)
    job.err.wait_for("still running: rank 1\n")

    go.touch()

    assert job.end() == 0


def test_a_wanted_taskd_is_named_on_node_0(muster):
    said = "TASKD_PROCESS_ENABLE is 'on', but MindCluster's TaskD works inside the agents of torchrun and msrun"

    assert said in muster.run("--", "true", env={"TASKD_PROCESS_ENABLE": "on"}).err.text
    off = {"TASKD_PROCESS_ENABLE": "off", "PROCESS_RECOVER": "", "MINDX_TASK_ID": "7"}
    assert "TaskD" not in muster.run("--", "true", env=off).err.text
