"""The static program loads no file of the image: it would be one that it was not built with."""

import re
import signal

import pytest

_NEVER_OPENED = re.compile(
    r"\.so\b|/gconv|/locale|openssl|engines|ossl-modules|localtime|zoneinfo|/etc/(passwd|group|ld\.so)|nscd"
)


@pytest.fixture
def two_debians(image):
    places = [image("debian11"), image("debian11")]
    for place in places:
        place.write("/etc/hosts", "127.0.0.1 leader-0.llm\n")
        place.write("/etc/nsswitch.conf", "hosts: files dns myhostname\npasswd: files sss\n")
    return places


def loaded(trace):
    """Files that muster opened, from its start on, and should not have."""
    inside = trace.read_text().partition('execve("/muster"')[2]
    assert "open" in inside
    return [line for line in inside.splitlines() if _NEVER_OPENED.search(line)]


def test_a_gang_loads_nothing_of_the_image(images, two_debians, programs, port, tmp_path):
    traces = [tmp_path / f"trace-{node}" for node in (0, 1)]
    arounds = [["strace", "-f", "-o", trace, "-e", "trace=open,openat,execve,connect"] for trace in traces]

    jobs = images.start_gang(
        two_debians, "leader-0.llm", port, programs.worker("print_rank"), arounds=arounds
    )

    assert [job.end() for job in jobs] == [0, 0], "\n".join(job.words() for job in jobs)
    assert "/etc/hosts" in traces[1].read_text()
    assert [loaded(trace) for trace in traces] == [[], []]


def test_errors_are_reported_without_the_images_locales(images, image, programs, tmp_path):
    """Names of signals and of errors would be translated, and times need a zone."""
    trace = tmp_path / "trace"
    place = image("debian11")
    place.write("/mine.yaml", "inherits: torchrun\nmode: mine\n")
    languages = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LANGUAGE": "de", "TZ": "Europe/Berlin"}
    crash = [programs.worker("raise_signal"), signal.SIGSEGV.value]

    job = images.run(
        place,
        "--template=/mine.yaml",
        "--log-dir=/logs",
        "--report=/report.json",
        *crash,
        around=["strace", "-f", "-o", trace, "-e", "trace=open,openat,execve,connect"],
        env=languages,
    )

    assert job.code == 128 + signal.SIGSEGV, job.words()
    assert "Segmentation fault" in job.said_about("failed first")
    assert loaded(trace) == []


OPENSSL = """
openssl_conf = start
config_diagnostics = 1
[start]
providers = providers
engines = engines
ssl_conf = protocols
[providers]
nosuch = nosuch
[nosuch]
module = /nosuch/provider.so
activate = 1
[engines]
nosuch = engine
[engine]
engine_id = nosuch
dynamic_path = /nosuch/engine.so
init = 1
[protocols]
system_default = strict
[strict]
MaxProtocol = TLSv1
"""


def test_the_images_openssl_settings_are_not_read(images, two_debians, programs, port):
    for place in two_debians:
        place.write("/usr/lib/ssl/openssl.cnf", OPENSSL)
        place.write("/etc/ssl/openssl.cnf", OPENSSL)
    settings = {
        "OPENSSL_CONF": "/etc/ssl/openssl.cnf",
        "OPENSSL_MODULES": "/nosuch",
        "OPENSSL_ENGINES": "/nosuch",
    }

    jobs = images.start_gang(
        two_debians, "leader-0.llm", port, programs.worker("print_rank"), env=settings
    )

    assert [job.end() for job in jobs] == [0, 0], "\n".join(job.words() for job in jobs)


SETTINGS = {
    "locale": {"LANG": "xx_YY.EUC-JP", "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"},
    "folders": {"LOCPATH": "/nosuch", "GCONV_PATH": "/nosuch", "NLSPATH": "/nosuch"},
    "linker": {"LD_LIBRARY_PATH": "/nosuch", "LD_BIND_NOW": "1", "LD_AUDIT": "/nosuch.so"},
    "time": {"TZ": ":/nosuch/zone"},
    "memory": {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_ARENA_MAX": "1"},
    "resolver": {"LOCALDOMAIN": "a b c", "RES_OPTIONS": "ndots:9 nosuch", "HOSTALIASES": "/nosuch"},
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_settings_of_the_c_library_reach_the_workers_as_they_are(images, image, kind):
    settings = SETTINGS[kind]
    show = "".join(f' "${name}"' for name in settings)

    job = images.run(
        image("debian11"), "--nproc-per-node=1", "--", "/bin/sh", "-c", f"printf '%s\\n'{show}", env=settings
    )

    assert job.code == 0, job.words()
    assert [line.removeprefix("[0] ") for line in job.out.lines] == list(settings.values())
    assert len(job.said) == 2, job.words()


def test_a_preloaded_library_affects_only_the_workers(images, image):
    preloaded = {"LD_PRELOAD": "/nosuch.so"}

    job = images.run(image("debian11"), "--nproc-per-node=1", "--", "/bin/true", env=preloaded)

    assert job.code == 0, job.words()
    # Those of the commands around muster, which are this machine's, and the worker's.
    assert job.err.text.count("'/nosuch.so' from LD_PRELOAD cannot be preloaded") >= 1
    assert len(job.said) == 2, job.words()
