"""Names are resolved by /etc/hosts and DNS, whatever resolver settings and modules an image has."""

import signal
import socket

import pytest

from support.deadlines import HANG

LEADER = "leader-0.llm"
# Entries that images have there. Of the libraries that these name, those of nis, db and
# mymachines are not installed in this Debian 11.
NSSWITCH = {
    "none": None,
    "files dns": "hosts: files dns",
    "myhostname": "hosts: files dns myhostname",
    "mdns": "hosts: files mdns4_minimal [NOTFOUND=return] dns mdns4",
    "resolve": "hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns",
    "dns first": "hosts: dns [SUCCESS=return] sss files",
    "others alone": "hosts: db sss nis",
    "broken": "hosts files: dns [NOTFOUND=\n[]\n\x01\xff",
    "a folder": "a folder",
}
KUBERNETES = "search llm.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"


def write_nsswitch(place, form):
    text = NSSWITCH[form]
    if text is None:
        place.remove("/etc/nsswitch.conf")
    elif form == "a folder":
        (place.changes / "etc/nsswitch.conf").mkdir()
    else:
        place.write("/etc/nsswitch.conf", f"passwd: files sss\n{text}\n")


@pytest.fixture
def place(image):
    """A Debian 11 that belongs to a cluster: Kubernetes' search domains, and that name server."""

    def make(server, more=KUBERNETES, root="debian11"):
        made = image(root)
        made.write("/etc/resolv.conf", f"nameserver {server}\n{more}")
        made.write("/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n")
        return made

    return make


@pytest.fixture
def meet(images, programs, port, hosts):
    """Two agents, one on each host, that meet at this name."""

    def run(places, name, seconds=HANG):
        arounds = [hosts.command("exec", str(node)) for node in (0, 1)]
        jobs = images.start_gang(places, name, port, programs.worker("print_rank"), arounds=arounds)
        assert [job.end(seconds) for job in jobs] == [0, 0], "\n".join(job.words() for job in jobs)
        return jobs

    return run


@pytest.fixture
def look_for(images, programs, port, hosts):
    """One agent on host 1 that looks for a leader that is not there."""

    def start(place, name, *more, seconds=5):
        return images.start(
            place,
            "--nnodes=2",
            "--node-rank=1",
            f"--master-addr={name}",
            f"--master-port={port}",
            f"--gang-timeout={seconds}",
            *more,
            programs.worker("print_rank"),
            around=hosts.command("exec", "1"),
        )

    return start


@pytest.mark.parametrize("form", NSSWITCH)
def test_nsswitch_is_ignored_and_no_nss_module_is_loaded(
    place, meet, look_for, name_server, hosts, form
):
    server = name_server(f"{hosts.address(0)} {LEADER}.llm.svc.cluster.local")
    places = [place(server), place(server), place(server)]
    for one in places:
        write_nsswitch(one, form)

    unknown = look_for(places[2], "unknown.llm")
    meet(places[:2], LEADER)

    assert unknown.end() == 75, unknown.words()
    assert "name 'unknown.llm' does not resolve (no such name in /etc/hosts or DNS)" in unknown.said_about(
        "did not reach the leader"
    )


@pytest.mark.parametrize(
    "name",
    ["leader-0.llm", "leader-0.other.svc", "leader-0.outside.example", "leader-0.llm.llm.svc.cluster.local."],
)
def test_kubernetes_search_domains_are_followed(place, meet, name_server, hosts, name):
    known = ("leader-0.llm.llm.svc.cluster.local", "leader-0.other.svc.cluster.local", "leader-0.outside.example")
    server = name_server(*(f"{hosts.address(0)} {one}" for one in known))

    meet([place(server), place(server, root="busybox")], name)


def test_a_name_with_only_an_ipv6_address_is_resolved(place, meet, name_server, hosts):
    address = hosts.network.add_version_six(0)
    hosts.network.add_version_six(1)
    server = name_server(f"{address} six.llm.svc.cluster.local")

    meet([place(server), place(server)], "six")


def test_a_name_with_several_addresses_in_etc_hosts_is_resolved(place, meet, hosts):
    address = hosts.network.add_version_six(0)
    hosts.network.add_version_six(1)
    places = [place("127.0.0.1"), place("127.0.0.1")]
    for one in places:
        one.write("/etc/hosts", f"fd77::1234 many\n127.0.0.2 many\n{address} many\n{hosts.address(0)} many\n")

    meet(places, "many")


def test_a_name_with_six_hundred_addresses_is_resolved(place, meet, name_server, hosts):
    """They fit into no datagram, and only one of them has a way to it."""
    numbers = [f"10.{i // 200}.{i % 200 + 1}.7" for i in range(599)]
    numbers.insert(300, hosts.address(0))
    server = name_server(*(f"{number} many.llm.svc.cluster.local" for number in numbers))

    meet([place(server), place(server)], "many")


def test_a_name_is_resolved_behind_a_dead_name_server(place, meet, name_server, hosts):
    """Three seconds for each search domain, and for the name itself: more than one attempt to reach the leader has."""
    hosts.network.drop_port(1, 53, "udp")
    server = name_server(f"{hosts.address(0)} leader-0.outside.example")
    more = f"nameserver {server}\n{KUBERNETES}options timeout:3\n"

    meet([place(hosts.address(1), more), place(hosts.address(1), more)], "leader-0.outside.example", seconds=30)


def test_a_name_server_that_never_answers_holds_nothing_up(place, look_for, hosts):
    hosts.network.drop_port(0, 53, "udp")
    job = look_for(place(hosts.address(0)), LEADER, seconds=600)
    job.err.wait_for("node 1 of 2")

    job.signal(signal.SIGTERM)

    assert job.end(2) == 128 + signal.SIGTERM, job.words()


def test_a_name_server_that_never_answers_ends_with_the_gangs_time(place, look_for, hosts):
    hosts.network.drop_port(0, 53, "udp")

    job = look_for(place(hosts.address(0)), LEADER, seconds=2)

    assert job.end(4) == 75, job.words()
    job.said_about("did not reach the leader")


def test_a_missing_name_server_is_reported(image, look_for):
    job = look_for(image("bare"), LEADER)

    assert job.end() == 75, job.words()
    assert "not in /etc/hosts, and no /etc/resolv.conf names a name server" in job.said_about(
        "did not reach the leader"
    )


def test_localhost_is_known_without_etc_hosts(image, images, programs, port):
    jobs = images.start_gang([image("bare"), image("bare")], "localhost", port, programs.worker("print_rank"))

    assert [job.end() for job in jobs] == [0, 0], "\n".join(job.words() for job in jobs)


@pytest.mark.parametrize("is_alive", [True, False], ids=["silent", "dead"])
def test_the_name_service_cache_is_not_queried(place, meet, name_server, hosts, is_alive):
    server = name_server(f"{hosts.address(0)} {LEADER}.llm.svc.cluster.local")
    places = [place(server), place(server)]
    caches = []
    for one in places:
        folder = one.run_folder() / "nscd"  # /var/run is a link to /run
        folder.mkdir()
        caches.append(socket.socket(socket.AF_UNIX))
        caches[-1].bind(str(folder / "socket"))
        if is_alive:
            caches[-1].listen(100)  # connections are made, and nobody answers

    meet(places, LEADER)

    for cache in caches:
        if is_alive:
            cache.setblocking(False)
            with pytest.raises(BlockingIOError):
                cache.accept()
        cache.close()
