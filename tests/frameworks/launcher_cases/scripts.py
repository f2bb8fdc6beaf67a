"""Worker scripts of the cases: texts of w.py, short because each runs many times."""

HEAD = """
import json, os, signal, sys, time
E = os.environ
RANK, LOCAL, ATTEMPT = E.get('RANK'), E.get('LOCAL_RANK'), E.get('TORCHELASTIC_RESTART_COUNT')
def note(name, text=''):
    with open(os.path.join(E['OUT'], str(name)) + '.new', 'w') as file:
        file.write(str(text))
    os.rename(os.path.join(E['OUT'], str(name)) + '.new', os.path.join(E['OUT'], str(name)))
def have(name):
    return os.path.exists(os.path.join(E['OUT'], str(name)))
def wait_for(*names):
    until = time.monotonic() + 40
    while not all(have(name) for name in names):
        if time.monotonic() > until:
            sys.exit('no ' + str(names))
        time.sleep(0.02)
"""


def script(text):
    return HEAD + text


TOUCH = script("note(RANK)")
ARGUMENTS = script("note(RANK, json.dumps(sys.argv[1:]))")


def environment(*names):
    """Each rank notes the values, separated by a bar; what is not set is a dash."""
    return script(f"note(RANK, '|'.join(E.get(name, '-') for name in {names!r}))")


def says(out="", err=""):
    """Each rank prints a line to either stream, with its local rank for R."""
    return script(
        f"os.write(1, ({out!r}.replace('R', LOCAL) + '\\n').encode())\n" * bool(out)
        + f"os.write(2, ({err!r}.replace('R', LOCAL) + '\\n').encode())\n" * bool(err)
    )


SHELL = "--no-python /bin/sh -c 'echo > $OUT/$RANK'"
WORLD = environment("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE")

# Notes which attempt it is; rank 1 of the first is killed.
ONCE = script("""
note(RANK + '-' + ATTEMPT)
if RANK == '1' and ATTEMPT == '0':
    wait_for('0-0')
    os.kill(os.getpid(), 9)
""")

# Lines of a script: waits for a signal, notes it and ends.
WAITS = """
def ended(number, frame):
    note('ended' + RANK, signal.Signals(number).name)
    sys.exit(0)
for name in ('TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2'):
    signal.signal(getattr(signal, 'SIG' + name), ended)
note('up' + RANK)
until = time.monotonic() + 60
while time.monotonic() < until:
    time.sleep(0.05)
"""

# Lines of a script: does not end by SIGTERM.
STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
note('up' + RANK)
until = time.monotonic() + 60
while time.monotonic() < until:
    time.sleep(0.05)
"""

# Asks the watchdog, as torch's timer client does, to be killed soon.
EXPIRES = script("""
end = time.time() + 0.5
asks = {'version': 1, 'pid': os.getpid(), 'scope_id': 'x', 'expiration_time': end, 'signal': 9}
with open(E['TORCHELASTIC_TIMER_FILE'], 'w') as pipe:
    pipe.write(json.dumps(asks) + '\\n')
note('up' + RANK)
until = time.monotonic() + 15
while time.monotonic() < until:
    time.sleep(0.05)
note('alive')
""")

# A sum over all ranks, by the method of the first argument.
DDP = script("""
import torch, torch.distributed as dist
method, more = sys.argv[1], {}
if method != 'env://':
    more = {'rank': int(RANK), 'world_size': int(E['WORLD_SIZE'])}
dist.init_process_group('gloo', init_method=method, **more)
value = torch.ones(1)
dist.all_reduce(value)
note(RANK, int(value.item()))
dist.destroy_process_group()
""")

LAUNCHED = script("""
import torch.distributed as dist
note(RANK, dist.is_torchelastic_launched())
""")
