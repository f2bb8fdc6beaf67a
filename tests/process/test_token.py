"""`muster token` prints a secret for the links of a job."""

import string

import pytest


def test_token_prints_32_new_random_bytes(muster):
    one, other = muster.run("token"), muster.run("token")

    assert one.code == other.code == 0
    assert one.out.text != other.out.text
    assert len(one.out.text) == 65 and one.out.text.endswith("\n")
    assert set(one.out.text.strip()) <= set(string.hexdigits.lower())
    assert one.err.text == ""


def test_token_refuses_arguments(muster):
    job = muster.run("token", "now")

    assert job.code == 64
    assert job.said == ["'now' is not a word that muster token takes; it has only options"]


def test_token_help_describes_it(muster):
    job = muster.run("token", "--help")

    assert job.code == 0
    assert "32 random bytes" in job.out.text


@pytest.mark.parametrize("nodes", ["1", "1:2"])
def test_a_weak_token_is_accepted_with_a_warning(muster, nodes):
    here = [f"--nnodes={nodes}", "--node-rank=0", "--master-addr=127.0.0.1", "--last-call=0"]
    job = muster.run(*here, "--", "true", env={"MUSTER_TOKEN": "x" * 32})

    assert job.code == 0, job.words()
    assert job.said_about(
        "MUSTER_TOKEN is easily guessed: it has few different bytes; 'muster token' prints a good one"
    )


@pytest.mark.parametrize("nodes", ["1", "1:2"])
@pytest.mark.parametrize(
    "options, variable, words",
    [
        (["--token-file=/no/such/file"], None, "cannot read the token file '/no/such/file'"),
        (["--token-file=/dev/zero"], None, "it is no regular file"),
        ([], "short", "MUSTER_TOKEN: the token has 5 bytes, expected at least 16"),
    ],
)
def test_an_invalid_token_is_refused_for_any_number_of_nodes(
    muster, nodes, options, variable, words
):
    here = [f"--nnodes={nodes}", "--node-rank=0", "--master-addr=127.0.0.1", "--last-call=0"]
    job = muster.run(
        *here, *options, "--", "true", env={"MUSTER_TOKEN": variable} if variable else None
    )

    assert job.code == 78, job.words()
    assert words in job.err.text


def test_a_strong_token_is_accepted_without_a_warning(muster):
    token = muster.run("token").out.text
    here = ["--nnodes=1:2", "--node-rank=0", "--master-addr=127.0.0.1", "--last-call=0"]
    job = muster.run(*here, "--", "true", env={"MUSTER_TOKEN": token})

    assert job.code == 0, job.words()
    assert "token" not in job.err.text
