"""Joins as many agents as are asked for by torchrun's own c10d rendezvous, all at once, and prints
the seconds between their release and the return of the last one, as JSON.

usage: join_by_c10d.py AGENTS PORT

torch is imported once, before the agents are forked: what is measured is the rendezvous alone, and
agents of a real job would each take a second or more to import it.
"""

import json
import os
import signal
import sys
import time

from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler


def main():
    count, port = int(sys.argv[1]), int(sys.argv[2])
    gate, opener = os.pipe()
    returned, teller = os.pipe()
    agents = [start_agent(i, count, port, (gate, opener), (returned, teller)) for i in range(count)]
    os.close(teller)
    released = time.monotonic()
    os.close(opener)
    told = [os.read(returned, 1) for _ in range(count)]
    seconds = time.monotonic() - released
    for pid in agents:  # the store is in one of them: nobody may go before all have returned
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print(json.dumps({"seconds": seconds, "joined": told.count(b"!")}))


def start_agent(number, count, port, gate, returned):
    pid = os.fork()
    if pid:
        return pid
    os.close(gate[1])
    os.close(returned[0])
    os.read(gate[0], 1)  # the end of the pipe: the gate is open
    handler = get_rendezvous_handler(
        RendezvousParameters(
            backend="c10d",
            endpoint=f"127.0.0.1:{port}",
            run_id="bench",
            min_nodes=count,
            max_nodes=count,
            is_host=number == 0,
            join_timeout=600,
        )
    )
    handler.next_rendezvous()
    os.write(returned[1], b"!")
    signal.pause()
    return 0


if __name__ == "__main__":
    main()
