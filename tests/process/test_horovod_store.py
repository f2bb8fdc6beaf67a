"""Horovod's variables on one node, and the store by which its ranks meet."""

import signal
import socket
import urllib.error
import urllib.request

from support.deadlines import HANG

NAMES = "RANK SIZE LOCAL_RANK LOCAL_SIZE CROSS_RANK CROSS_SIZE HOSTNAME CONTROLLER CPU_OPERATIONS"


def start(muster, *program, workers=1, **more):
    options = ["--mode=horovod", "--prefix=never", f"--nproc-per-node={workers}"]
    return muster.start(*options, "--", *program, **more)


def start_and_find_store(muster):
    job = start(muster, "sh", "-c", "echo $HOROVOD_GLOO_RENDEZVOUS_PORT; exec sleep 1000")
    job.out.wait_for("\n")
    return job, int(job.out.lines[0])


def ask(port, method, path, body=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data=body, method=method, headers={}
    )
    try:
        with urllib.request.urlopen(request, timeout=HANG) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_each_rank_gets_horovodruns_variables(muster):
    words = " ".join(f"$HOROVOD_{name}" for name in NAMES.split())
    job = start(muster, "sh", "-c", f"echo {words} $HOROVOD_GLOO_RENDEZVOUS_ADDR", workers=2)

    assert job.end() == 0, job.words()
    host = socket.gethostname()
    assert sorted(job.out.lines) == [
        f"{rank} 2 {rank} 2 0 1 {host}-0 gloo gloo 127.0.0.1" for rank in (0, 1)
    ]


def test_the_store_keeps_values_until_the_job_ends(muster):
    job, port = start_and_find_store(muster)
    value = bytes(range(256)) * 400

    assert ask(port, "GET", "/global/rank_0") == (404, b"")
    assert ask(port, "GET", "/global/0") == (404, b""), "it is waited for, but not for long"
    assert ask(port, "PUT", "/global/0", value) == (200, b"")
    assert ask(port, "GET", "/global/0") == (200, value)
    assert ask(port, "DELETE", "/global/0") == (200, b"")
    assert ask(port, "GET", "/global/rank_0") == (404, b"")
    assert ask(port, "POST", "/global/0", b"x")[0] == 405

    job.signal(signal.SIGTERM)
    assert job.end() == 143
    with socket.socket() as after:
        assert after.connect_ex(("127.0.0.1", port)) != 0


def test_a_waiting_get_is_answered_once_the_rank_arrives(muster):
    job, port = start_and_find_store(muster)
    with socket.create_connection(("127.0.0.1", port)) as waiting:
        waiting.sendall(b"GET /global/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        assert ask(port, "PUT", "/global/1", b"here")[0] == 200
        answer = waiting.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"), answer
    assert answer.endswith(b"\r\n\r\nhere")
    job.signal(signal.SIGTERM)
    assert job.end() == 143


def test_silent_clients_do_not_delay_the_job(muster):
    job, port = start_and_find_store(muster)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    for one in silent[:25]:
        one.sendall(b"PUT /global/0 HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")

    assert ask(port, "PUT", "/global/0", b"whole")[0] == 200
    job.signal(signal.SIGTERM)
    assert job.end(2) == 143
    for one in silent:
        one.close()
