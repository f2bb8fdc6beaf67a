"""Opens many foreign connections to a leader's port, and holds them."""

import subprocess

from .deadlines import HANG, Missed
from .wire import frame, join

ONE_ADDRESS = ("127.9.0.1", 1)
MANY_ADDRESSES = ("127.10.0.1", 50_000)
THE_AGENTS_ADDRESS = ("127.0.0.1", 1)

# The data that an unknown client sends once. Unique digits replace the number signs.
_DIGITS = "################"
# The first data of an agent with a token, the beginning of a handshake of TLS 1.3: a key of another token is offered.
_HELLO = bytes.fromhex(
    "16030100d7010000d303032dda5052d19105d1268992072e840845fa31de800082bf3fc33c24a6d4287fbf0000041301"
    "00ff010000a6000b000403000102000a00040002001d0016000000170000000d001e001c040305030603080708080809"
    "080a080b080408050806040105010601002b0003020304002d00020101003300260024001d002097b5e529520e04c800"
    "08337310d327155d49a491b305fd13616825fa7e18932000290031000c00066d757374657200000000002120bb4a217a"
    "d327bdea9b7ab4d4fe6949e2c9cfc6e7736d6aeb70bb26bc93785592"
)
SPEECHES = {
    "silence": b"",
    "half a message": b"\x16\x03\x01\x02",
    "a handshake": _HELLO,
    "claim": frame(join(incarnation=_DIGITS)),
    "the leader's seat": frame(join(incarnation=_DIGITS, rank=0)),
}


class Flood:
    """The worker `flood`. Use it with `with`."""

    def __init__(self, program, folder, port, count, per_second, sources, speech):
        file = folder / "speech"
        file.write_bytes(SPEECHES[speech])
        command = [program, port, *sources, count, per_second, file]
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(HANG)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise Missed(f"waited {HANG:g} s for the end of {self._process.args}") from None
        finally:
            self._process.stdout.close()

    def wait_until_half(self):
        """Half of the connections have been opened."""
        self._read_to("half")

    def wait_until_open(self):
        """All of them have."""
        self._read_to("done")

    def _read_to(self, word):
        said = []
        while word not in said:
            said.append(self._process.stdout.readline().strip())
            assert said[-1], f"the flood ended before it said '{word}'"
