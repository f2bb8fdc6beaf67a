"""The scripts that check the code: they must reject what breaks their rules."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"


def run(*command, **options):
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def scripts():
    found = [*SCRIPTS.iterdir(), *(SCRIPTS / "dev").iterdir()]
    return sorted(path for path in found if path.is_file() and os.access(path, os.X_OK))


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.name)
def test_every_script_has_help_from_any_folder(script, tmp_path):
    done = run(script, "--help", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert f"usage: {script.relative_to(ROOT)}" in done.stdout or "usage: bench" in done.stdout


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.name)
def test_every_script_refuses_unknown_options(script):
    done = run(script, "--nonsense")

    assert done.returncode in (2, 64), "64, or argparse's 2"
    assert "--nonsense" in done.stderr


@pytest.fixture
def repository(tmp_path):
    """A small repository with the layer check and nothing else."""
    (tmp_path / "scripts").mkdir()
    for file in ("check-layers", "common.bash"):
        shutil.copy(SCRIPTS / file, tmp_path / "scripts")

    def check(file, text):
        path = tmp_path / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return run(tmp_path / "scripts" / "check-layers")

    return check


def test_the_layers_of_this_repository_are_in_order():
    assert run(SCRIPTS / "check-layers").returncode == 0


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("src/plan/a.cpp", '#include "agent/a.hpp"', "'plan' may not know"),
        ("src/base/a.hpp", '#include "platforms/a.hpp"', "'base' may not know"),
        ("src/helpers/a.cpp", "", "src/helpers/ is no stage"),
        ("src/platforms/a.cpp", 'auto a = std::getenv("RANK");', "reading the environment"),
        ("launcher/a.cpp", "char** a = environ;", "reading the environment"),
        ("src/supervise/a.cpp", "void a() { ::kill(1, 9); }", "processes: kill"),
        ("src/output/a.hpp", '#include "guard/a.hpp"', "'output' may not know"),
        ("src/output/a.hpp", '#include "services/a.hpp"', "'output' is part of the core"),
        ("src/plan/a.cpp", '#include "rank_table/read.hpp"', "'plan' is part of the core"),
        ("src/run/a.hpp", '#include "hang/evidence.hpp"', "'run' is part of the core"),
        ("src/hang/a.cpp", '#include "services/a.hpp"', "'hang' may not know"),
        ("src/report/a.cpp", "int a = fork();", "starting processes"),
        ("launcher/a.cpp", 'auto* a = ::popen(command, "r");', "starting processes"),
        ("src/notices/a.cpp", "int a = system(command);", "starting processes"),
        ("src/agent/a.cpp", "int a = posix_spawnp(&pid, file, 0, 0, words, 0);", "starting processes"),
        ("src/plan/a.cpp", "#include <yaml-cpp/yaml.h>", "yaml-cpp"),
        ("src/plan/a.cpp", "#include <boost/program_options.hpp>", "Boost.Program_options"),
        ("src/plan/a.cpp", "void a(const Settings& settings);", "options by their names"),
        ("src/plan/a.cpp", "#include <boost/json.hpp>", "Boost.JSON"),
        ("src/agent/a.cpp", "#include <spdlog/spdlog.h>", "spdlog"),
        ("src/output/a.cpp", "#include <boost/asio/io_context.hpp>", "Asio"),
        ("src/gang/protocol/a.cpp", "#include <boost/asio/post.hpp>", "sockets are for"),
        ("src/gang/protocol/a.cpp", "#include <sys/socket.h>", "sockets are for"),
        ("src/gang/protocol/a.cpp", '#include "gang/net/link.hpp"', "sockets are for"),
        ("src/gang/a.cpp", "#include <boost/process/v2.hpp>", "Boost.Process"),
    ],
)
def test_the_layer_check_rejects_wrong_includes(repository, file, text, complaint):
    done = repository(file, text + "\n")

    assert done.returncode == 1
    assert complaint in done.stderr
    assert file in done.stdout + done.stderr or "no stage" in complaint


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/process/a.cpp", '#include "plan/a.hpp"\nvoid a() { ::kill(1, 9); }'),
        ("src/environment/a.cpp", 'auto a = std::getenv("RANK");'),
        ("src/base/yaml.cpp", "#include <yaml-cpp/yaml.h>"),
        ("src/gang/net/a.cpp", "#include <boost/asio/ip/tcp.hpp>"),
        ("src/plan/a.cpp", "// fork() and kill(1, 9) are not ours"),
        ("src/plan/a.cpp", 'auto a = "kill(1, 9)";'),
        ("src/supervise/a.cpp", "auto a = supervisor.kill(); auto b = wait();"),
    ],
)
def test_the_layer_check_accepts_right_includes(repository, file, text):
    done = repository(file, text + "\n")

    assert done.returncode == 0, done.stdout + done.stderr


def long_function(head, lines):
    return head + " {\n" + "  a();\n" * (lines - 1) + "}\n"


@pytest.fixture
def sized(tmp_path):
    """The outcome of scripts/dev/sizes --check for one file in a separate repository."""
    scripts = tmp_path / "scripts" / "dev"
    scripts.mkdir(parents=True)
    shutil.copy(SCRIPTS / "dev" / "sizes", scripts)
    run("git", "init", "-q", tmp_path)
    (tmp_path / "src").mkdir()

    def check(text, *options):
        (tmp_path / "src" / "a.cpp").write_text(text)
        return run(scripts / "sizes", *(options or ["--check"]))

    return check


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("\n" * 601, "src/a.cpp: 601 lines"),
        (long_function("void f()", 61), "src/a.cpp:1: 61 lines in f"),
        (long_function("A::A(int x) : a_{x}, b_(x)", 61), "61 lines in A::A"),
        ("class A {\n public:\n" + long_function("auto f() const -> B<int>", 61) + "};", "lines in f"),
        ("template <class T>\n" + long_function("T f(T a = {})", 61), "61 lines in f"),
        ("void f(int a, int b, int c, int d, int e, int g);", "6 parameters of f"),
        ("void f() { g([](int a, int b, int c, int d, int e, int h) {}); }", "6 parameters of a lambda"),
    ],
)
def test_sizes_rejects_long_files_and_functions(sized, text, complaint):
    done = sized(text)

    assert done.returncode == 1
    assert complaint in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 600,
        long_function("void f()", 60),
        "void f(std::map<int, std::pair<int, int>> a, int b, int c, int d, B<int, int> e);",
        "namespace a {\n" + long_function("void f()", 30) + long_function("void g()", 30) + "}",
        "const A a{1, 2, 3, 4, 5, 6, 7};\nauto b = f(1, 2, 3, 4, 5, 6, 7);",
        "// void f(int a, int b, int c, int d, int e, int g);",
        'auto a = R"({)";\n' + long_function("void f()", 30),
    ],
)
def test_sizes_accepts_code_within_its_limits(sized, text):
    done = sized(text)

    assert done.returncode == 0, done.stdout


def test_small_files_are_named_and_are_no_fault(sized):
    assert sized("\n" * 39, "--small").stdout == "src/a.cpp: 39 lines, fewer than 40\n1 of 1 files are small\n"
    assert sized("\n" * 40, "--small").stdout == "0 of 1 files are small\n"
    assert sized("\n" * 39, "--small").returncode == 0


def test_small_files_are_no_fault_of_the_check(sized):
    assert sized("\n" * 39, "--small", "--check").returncode == 0
    assert sized("\n" * 601, "--small", "--check").returncode == 1


def test_the_table_counts_each_folder_and_all(sized, tmp_path):
    for file, lines in (("src/run/a.cpp", 10), ("src/run/process/b.hpp", 30), ("launcher/c/main.cpp", 50)):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("// no substance\n" * (lines - 2) + "int a;\n}\n")

    done = sized("\n" * 7, "--table")

    assert [line.split() for line in done.stdout.splitlines()] == [
        ["folder", "files", "lines", "substance", "median", "units"],
        ["launcher", "1", "50", "1", "50", "1"],
        ["src", "1", "7", "0", "7", "1"],
        ["src/run", "2", "40", "2", "30", "1"],
        ["all", "4", "97", "3", "30", "3"],
    ]
    assert done.returncode == 0


def test_classes_are_counted_by_what_they_declare(sized, tmp_path):
    (tmp_path / "src" / "a.hpp").write_text(
        """class A final : private B {
 public:
  A(int a) : a_(a), b_{a} {}
  ~A() override = default;
  int get() const { return a_; }
  template <typename T>
  void take(const T& it);
  enum class Kind { One, Two };

 private:
  struct Inner {
    int a = 0;
    void get();
  };
  std::function<int(int)> call_;
  int a_ = 0;
  std::vector<int> b_{};
};
enum class No { A };
"""
    )

    done = sized("", "--classes")

    assert [line.split()[:5] for line in done.stdout.splitlines()] == [
        ["4", "functions", "3", "members", "A"],
        ["1", "functions", "1", "members", "Inner"],
    ]


def pytest_with_the_plugin(folder, test):
    (folder / "test_it.py").write_text(test)
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS / "dev")}
    plugin = ["-p", "pytest_no_skip", "-p", "no:cacheprovider"]
    return run(
        *["/usr/bin/python3", "-B", "-m", "pytest", *plugin, "--rootdir", folder, folder],
        env=environment,
        cwd=folder,
    )


@pytest.mark.parametrize(
    "test",
    [
        "import pytest\n@pytest.mark.skip(reason='because')\ndef test_it(): pass\n",
        "import pytest\ndef test_it(): pytest.skip('because')\n",
        "import pytest\npytest.skip('because', allow_module_level=True)\ndef test_it(): pass\n",
    ],
    ids=["marked", "inside", "module"],
)
def test_a_skipped_test_counts_as_failed_and_its_reason_is_named(tmp_path, test):
    done = pytest_with_the_plugin(tmp_path, test)

    assert done.returncode != 0
    assert "was skipped, and here everything must run" in done.stdout
    assert "because" in done.stdout


def test_an_expected_failure_is_no_skip(tmp_path):
    test = "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n"

    assert pytest_with_the_plugin(tmp_path, test).returncode == 0
