"""A server of torch's own for its TCPStore, until the end of standard input; prints its port.

usage: torch_store.py libuv|legacy
"""

import sys

from torch.distributed import TCPStore


def main():
    store = TCPStore(
        "127.0.0.1", 0, is_master=True, wait_for_workers=False, use_libuv=sys.argv[1] == "libuv"
    )
    print(store.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
