"""Behaviours of torch's TCPStore that programs rely on, after its own tests of a client (test/distributed/test_store.py).

Each behaviour is asked of two stores in turn: one that torch serves in this process, which shows that it is torch's, and
that of the job, at MASTER_ADDR and MASTER_PORT. Prints "has NAME", or "lacks NAME" where the client of this release
cannot ask for it; what is otherwise than expected is raised.
"""

import concurrent.futures
import contextlib
import datetime
import os
import re
import signal
import threading
import time

import torch.distributed as dist

SOON = datetime.timedelta(seconds=0.1)
LIMIT = datetime.timedelta(seconds=30)
LARGEST = 8 << 20  # bytes of a value
HAS_NAMED_ERRORS = hasattr(dist, "DistStoreError")  # not in 1.13
StoreError = dist.DistStoreError if HAS_NAMED_ERRORS else RuntimeError
BEHAVIOURS = {}


def needs(*calls):
    """A behaviour, and the calls for it that clients of old releases lack."""

    def note(function):
        BEHAVIOURS[function] = calls
        return function

    return note


behaviour = needs()


class Server:
    """The address of a store; `connect` makes a client of it. It always has one, as the store of a job."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.kept = self.connect(wait_for_workers=False)

    def connect(self, timeout=LIMIT, **more):
        return dist.TCPStore(self.host, self.port, is_master=False, timeout=timeout, **more)


@contextlib.contextmanager
def raises(kind, pattern):
    try:
        yield
    except kind as error:
        assert re.search(pattern, str(error)), error
    else:
        raise AssertionError(f"expected {kind} with '{pattern}'")


def equal(found, expected):
    assert found == expected, (found, expected)


def timed_out(*keys):
    """The error of a client that has waited for keys in vain, which it names."""
    named = "wait timeout after 100ms, keys: " + ", ".join("/" + key for key in keys)
    return raises(StoreError, named if HAS_NAMED_ERRORS else "Timeout")


def in_another_thread(call, *given):
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(call, *given)
    pool.shutdown(wait=False)
    return future


@behaviour
def a_rank_that_comes_counts_as_a_key(server):
    equal(server.kept.num_keys(), 0)
    equal(server.connect(world_size=1).num_keys(), 1)


@behaviour
def keys_are_counted_and_deleted(server):
    store, other = server.connect(), server.connect()
    before = store.num_keys()
    store.add("number", 1)
    store.set("one", "1")
    store.set("two", "2")
    equal(store.num_keys(), before + 3)
    equal([store.delete_key("one"), store.delete_key("one")], [True, False])
    equal(store.num_keys(), before + 2)
    other.set_timeout(SOON)
    with timed_out("one"):
        other.get("one")
    store.set("one", "again")
    equal([store.get("one"), store.get("two")], [b"again", b"2"])


@behaviour
def values_are_bytes(server):
    store = server.connect()
    for value in (b"", b"value", bytes(range(256)), b"\0" * 100_000, "text", "Grüße"):
        store.set("-key", value)
        equal(store.get("-key"), value.encode() if isinstance(value, str) else value)


@behaviour
def numbers_add_up(server):
    store = server.connect()
    equal([store.add("sum", n) for n in (1, 2, 3, -10, 0)], [1, 3, 6, -4, -4])
    equal(store.get("sum"), b"-4")
    store.set("given", "40")
    equal(store.add("given", 2), 42)


@needs("check")
def check_says_whether_all_are_there(server):
    store = server.connect()
    store.set("there", "")
    equal(store.check(["there"]), True)
    equal(store.check(["there", "not there"]), False)
    equal(store.check([]), True)


@behaviour
def compare_set_changes_what_is_as_expected(server):
    store = server.connect()
    equal(store.compare_set("c", "wrong", "new"), b"wrong")
    store.set("c", "old")
    equal(store.compare_set("c", "wrong", "new"), b"old")
    equal(store.get("c"), b"old")
    equal(store.compare_set("c", "old", "new"), b"new")
    equal(store.get("c"), b"new")
    equal(store.compare_set("d", "", "first"), b"first")
    equal(store.get("d"), b"first")


@needs("append", "has_extended_api")
def append_begins_a_key_or_goes_on(server):
    store = server.connect()
    assert store.has_extended_api()
    store.set("a", "po")
    store.append("a", "tato")
    store.append("b", "po")
    store.append("b", "tato")
    equal([store.get("a"), store.get("b")], [b"potato"] * 2)


@needs("multi_set", "multi_get")
def several_keys_are_set_and_read_at_once(server):
    store = server.connect()
    store.multi_set(["m", "n", "o"], ["1", "", "3" * 10_000])
    equal(store.multi_get(["o", "m", "n", "m"]), [b"3" * 10_000, b"1", b"", b"1"])
    equal(store.get("n"), b"")
    store.set_timeout(SOON)
    with timed_out("m", "nothing"):
        store.multi_get(["m", "nothing"])
    store.set_timeout(LIMIT)
    equal(store.get("m"), b"1")


@behaviour
def a_wait_ends_by_its_time(server):
    with timed_out("late"):
        server.connect().wait(["late"], SOON)
    store = server.connect()
    store.set("late", "1")
    store.wait(["late"])
    equal(store.get("late"), b"1")


@needs("check")
def a_client_goes_on_after_a_wait_in_vain(server):
    store, other = server.connect(), server.connect()
    for number in range(5):  # each answer belongs to its question
        with timed_out("never"):
            store.wait(["never"], SOON)
        equal(store.add("times", 1), number + 1)
    other.set("never", "1")
    store.wait(["never"])
    equal(store.get("never"), b"1")


@behaviour
def a_wait_ends_when_all_keys_have_come(server):
    store, other = server.connect(), server.connect()
    waiting = in_another_thread(store.wait, ["w1", "w2", "w3"], LIMIT)
    other.set("w1", "")
    other.add("w2", 1)
    assert not waiting.done()
    other.set("w3", "x")
    waiting.result(30)
    equal([store.get(key) for key in ("w1", "w2", "w3")], [b"", b"1", b"x"])


@behaviour
def signals_do_not_end_a_wait(server):
    store, other = server.connect(), server.connect()
    heard = []
    signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    waiting = threading.Thread(target=store.wait, args=(["signalled"], LIMIT))
    waiting.start()
    end = time.monotonic() + LIMIT.total_seconds()
    while len(heard) < 20:  # the first ones may come before it waits
        signal.pthread_kill(waiting.ident, signal.SIGUSR1)
        waiting.join(0.01)
        assert waiting.is_alive() and time.monotonic() < end, heard
    other.set("signalled", "")
    waiting.join(LIMIT.total_seconds())
    assert not waiting.is_alive()


@needs("queue_push", "queue_pop", "queue_len")
def queues_are_first_in_first_out(server):
    store = server.connect()
    equal([store.check(["q"]), store.queue_len("q")], [False, 0])
    with raises(dist.QueueEmptyError, "empty"):
        store.queue_pop("q", block=False)
    before = store.num_keys()
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    equal([store.check(["q"]), store.queue_len("q"), store.num_keys()], [True, 2, before])
    store.wait(["q"])
    equal([store.queue_pop("q"), store.queue_pop("q", block=False)], [b"1", b"2"])
    equal([store.check(["q"]), store.queue_len("q")], [False, 0])
    store.set_timeout(SOON)
    with timed_out("q"):
        store.queue_pop("q")


@needs("queue_push", "clone")
def queues_pass_values_between_clients(server):
    store = server.connect()

    def echo(client):
        for _ in range(100):
            client.queue_push("back", client.queue_pop("forth"))

    def ask(client):
        for number in range(100):
            client.queue_push("forth", str(number))
            equal(client.queue_pop("back"), str(number).encode())

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(ask, store.clone()), pool.submit(echo, store.clone())]:
            future.result(60)


@behaviour
def a_prefix_stands_before_each_key(server):
    base, late = server.connect(), dist.PrefixStore("late", server.connect())
    outer = dist.PrefixStore("outer", base)
    inner = dist.PrefixStore("inner", outer)
    for store, value in ((inner, "1"), (outer, "2"), (base, "3")):
        store.set("key", value)
    equal([store.get("key") for store in (inner, outer, base)], [b"1", b"2", b"3"])
    equal([base.get("outer/inner/key"), outer.get("inner/key")], [b"1", b"1"])
    equal([inner.add("n", 2), inner.compare_set("key", "1", "4")], [2, b"4"])
    equal([inner.delete_key("key"), inner.delete_key("key")], [True, False])
    equal(outer.get("key"), b"2")
    with timed_out("late/never"):
        late.wait(["never"], SOON)


@needs("multi_set", "append", "queue_push")
def a_prefix_stands_before_keys_of_later_calls(server):
    base = server.connect()
    store = dist.PrefixStore("inner", dist.PrefixStore("outer", base))
    store.multi_set(["x", "y"], ["5", "6"])
    store.append("x", "5")
    equal(base.multi_get(["outer/inner/x", "outer/inner/y"]), [b"55", b"6"])
    store.queue_push("q", "7")
    equal(base.queue_pop("outer/inner/q"), b"7")
    equal([store.check(["x"]), base.check(["x"])], [True, False])


@needs("clone")
def a_clone_is_another_client_of_the_same_store(server):
    store = server.connect()
    clone = store.clone()
    store.set("cloned", "1")
    equal(clone.get("cloned"), b"1")
    del store
    equal([clone.get("cloned"), clone.add("after", 1)], [b"1", 1])


@needs("list_keys")
def keys_are_listed(server):
    store = server.connect()
    before = set(store.list_keys())
    store.multi_set(["l1", "deep/l2"], ["", ""])
    store.queue_push("queue", "")
    equal(set(store.list_keys()) - before, {"l1", "deep/l2"})
    store.delete_key("l1")
    equal(set(store.list_keys()) - before, {"deep/l2"})
    store.queue_pop("queue")


@needs("barrier")
def a_barrier_holds_until_all_have_come(server):
    clients = [server.connect() for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        early = [pool.submit(client.barrier, "bar", 4, LIMIT) for client in clients[:3]]
        with timed_out("nothing"):
            clients[3].wait(["nothing"], SOON)
        assert not any(future.done() for future in early)
        clients[3].barrier("bar", 4, LIMIT)
        for future in early:
            future.result(30)


@needs("barrier")
def a_barrier_ends_by_its_time(server):
    store = server.connect()
    with raises(StoreError, "timeout"):
        store.barrier("lonely", 2, SOON)
    equal(store.add("after the barrier", 1), 1)


@behaviour
def many_clients_change_keys_of_their_own_and_one_of_all(server):
    def work(number, client):
        for _ in range(50):
            client.add("of all", 1)
        client.set(f"own{number}", f"last{number}")
        return client.get(f"own{number}")

    clients = [server.connect() for _ in range(8)]
    # Not beside other threads: torch 1.13 makes the answer without Python's lock, and crashes, its own store as well.
    for number, client in enumerate(clients):
        client.set(f"own{number}", "old")
        equal(client.compare_set(f"own{number}", "old", f"new{number}"), f"new{number}".encode())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        equal(list(pool.map(work, range(8), clients)), [f"last{n}".encode() for n in range(8)])
    equal(clients[0].get("of all"), b"400")


@behaviour
def a_value_is_as_large_as_it_may_be(server):
    store = server.connect()
    store.set("large", bytes(LARGEST))
    equal(len(store.get("large")), LARGEST)
    equal(store.delete_key("large"), True)


@needs("barrier")
def a_value_that_is_too_large_ends_its_client_only(server):
    store, greedy = server.connect(), server.connect()
    with raises(dist.DistNetworkError, "."):
        greedy.set("larger", bytes(LARGEST + 1))
        greedy.get("larger")
    equal(store.check(["larger"]), False)


@needs("barrier")
def who_is_to_host_the_store_of_an_agent_becomes_its_client(server):
    told = {"TORCHELASTIC_USE_AGENT_STORE": "1", "MASTER_PORT": str(server.port)}
    before = dict(os.environ)
    os.environ.update(told)
    host = dist.TCPStore(server.host, server.port, is_master=True, wait_for_workers=False, timeout=LIMIT)
    os.environ.update({key: before.get(key, "") for key in told})
    server.connect().set("to the host", "1")
    equal(host.get("to the host"), b"1")


def main():
    own = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    servers = [
        Server("127.0.0.1", own.port),
        Server(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])),
    ]
    for function, calls in BEHAVIOURS.items():
        can_ask = all(hasattr(dist.TCPStore, call) for call in calls)
        for server in servers if can_ask else []:
            function(server)
        print("has" if can_ask else "lacks", function.__name__, flush=True)


if __name__ == "__main__":
    main()
