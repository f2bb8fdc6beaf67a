"""Plays the metadata server of a cloud, in a separate network where it has the address 169.254.169.254.

As a program it serves one cloud by its real protocol: what it answers comes as lines of JSON on standard input, and
each question is a line on standard output. Until the first of those lines a question gets no answer.
"""

import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading

from . import processes
from .streams import Stream

ADDRESS = "169.254.169.254"
OWN_NAME = "trainer_3"  # of the machine, at Azure
_TOKEN = "AQAEAL9xQ3wvTrZ1=="


class MetadataServer:
    """Use it with `with`. `cloud` is aws, gcp or azure, or none: then nobody listens."""

    def __init__(self, cloud):
        command = ["unshare", "--net", sys.executable, "-m", "support.metadata_server", cloud]
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        pipe = subprocess.PIPE
        self._process = processes.start(command, stdin=pipe, stdout=pipe, cwd=folder)
        self.questions = Stream(f"the metadata server of {cloud}", os.dup(self._process.stdout.fileno()))

    def __enter__(self):
        self.questions.wait_for("ready")
        return self

    def __exit__(self, *_):
        self._process.kill()
        processes.wait_for_end(self._process, 10, "the metadata server")
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def network(self):
        """The command that leads into its network."""
        return ["nsenter", "--net", "--target", self._process.pid]

    def answer(self, body, status=200):
        """Sets its answer about notices from now on."""
        self._tell({"body": body, "status": status})

    def answer_raw(self, text):
        """Instead of any HTTP."""
        self._tell({"raw": text})

    def _tell(self, answer):
        self._process.stdin.write((json.dumps(answer) + "\n").encode())
        self._process.stdin.flush()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud = ""
    answers = []
    changed = threading.Condition()

    def do_PUT(self):
        if self.cloud != "aws" or self.path != "/latest/api/token":
            self._send(404, "not here")
        elif not 1 <= int(self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "0")) <= 21600:
            self._send(400, "no time to live")
        else:
            self._send(200, _TOKEN)

    def do_GET(self):
        print("asked", self.path, flush=True)
        getattr(self, "_get_of_" + self.cloud)()

    def _get_of_aws(self):
        if self.headers.get("X-aws-ec2-metadata-token") != _TOKEN:
            self._send(401, "Unauthorized")
        elif self.path == "/latest/meta-data/spot/instance-action":
            self._send_news()
        else:
            self._send(404, "not here")

    def _get_of_gcp(self):
        if self.headers.get("Metadata-Flavor") != "Google":
            self._send(403, "Missing Metadata-Flavor:Google header.")
        elif self.headers.get("Host") == "metadata.google.internal" and self.path == (
            "/computeMetadata/v1/instance/preempted"
        ):
            self._send_news()
        else:
            self._send(404, "not here")

    def _get_of_azure(self):
        if self.headers.get("Metadata") != "true":
            self._send(400, "Bad request")
        elif self.path == "/metadata/scheduledevents?api-version=2020-07-01":
            self._send_news()
        elif self.path.startswith("/metadata/instance/compute/name?api-version="):
            self._send(200, OWN_NAME)
        else:
            self._send(404, "not here")

    def _send_news(self):
        with self.changed:
            self.changed.wait_for(lambda: self.answers)
            answer = self.answers[-1]
        if "raw" in answer:
            self.wfile.write(answer["raw"].encode("latin-1"))
            self.close_connection = True
        else:
            self._send(answer["status"], answer["body"])

    def _send(self, status, body):
        data = body.encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it had waited too long
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_):
        pass


def _serve(cloud):
    for words in ("link set lo up", f"addr add {ADDRESS}/32 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    if cloud != "none":
        _Handler.cloud = cloud
        server = http.server.ThreadingHTTPServer((ADDRESS, 80), _Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        with _Handler.changed:
            _Handler.answers.append(json.loads(line))
            _Handler.changed.notify_all()


if __name__ == "__main__":
    _serve(sys.argv[1])
