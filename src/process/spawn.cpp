// Makes the processes of the job. Between clone and exec there are only system calls on prepared memory.
#include "process/spawn.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"
#include "environment/snapshot.hpp"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace muster {
namespace {

/// A set of CPUs or memory nodes in the kernel's format.
using BitMask = std::vector<unsigned long>;

constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;

/// Shared with the child, which runs in our memory and records here where it failed.
struct ChildTask {
  const char* executable = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const SpawnRequest* request = nullptr;
  const Inherited* inherited = nullptr;
  pid_t parent = -1;
  const BitMask* cpus = nullptr;
  const BitMask* memory_nodes = nullptr;
  volatile int memory_refusal = 0;
  const char* volatile failed_step = nullptr;
  volatile int error_number = 0;
};

/// Runs in the child. Returns the failed step, or nothing. Containers often forbid set_mempolicy: the worker runs
/// without it, and the parent sees the errno.
__attribute__((no_sanitize("address"))) const char* bind_child(ChildTask& task) {
  // Raw calls: the first wrapper needs a cpu_set_t, and glibc has none for the second.
  if (!task.cpus->empty() &&
      ::syscall(SYS_sched_setaffinity, 0, task.cpus->size() * sizeof(unsigned long), task.cpus->data()) < 0) {
    return "binding it to its CPUs";
  }
  const int policy = task.request->is_memory_strict ? MPOL_BIND : MPOL_PREFERRED;
  if (!task.memory_nodes->empty() &&
      ::syscall(SYS_set_mempolicy, policy, task.memory_nodes->data(), task.memory_nodes->size() * kBits + 1) != 0) {
    task.memory_refusal = errno;
    return errno == EPERM || errno == ENOSYS ? nullptr : "binding it to its memory";
  }
  return nullptr;
}

/// Runs in the child. Returns the failed step, or nothing. run_child never returns from its stack, which the address
/// sanitizer would take for a stack still in use by the next child.
__attribute__((no_sanitize("address"))) const char* prepare_child(ChildTask& task) {
  const SpawnRequest& request = *task.request;
  if (request.leads_session ? ::setsid() < 0 : ::setpgid(0, 0) != 0) {
    return request.leads_session ? "making a session" : "making a process group";
  }
  // If this is refused, which was logged, the guard still finds what we leave.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The agent's helper processes read the stack of a worker that hangs. They are no ancestors of it, whom alone Yama
  // allows that (ptrace_scope 1); the setting outlives execve. Refused where there is no Yama.
  (void)::prctl(PR_SET_PTRACER, task.parent);
  // The parent may have died before the signal was set. Compared with its real pid, not with 1: in a container the
  // parent may be 1.
  if (::getppid() != task.parent) {
    ::_exit(127);
  }
  if (request.terminal >= 0) {
    (void)::tcsetpgrp(request.terminal, ::getpid());  // fails if the terminal is gone: run without it
  }
  if (::dup2(request.standard_input, STDIN_FILENO) < 0 || ::dup2(request.standard_output, STDOUT_FILENO) < 0 ||
      ::dup2(request.standard_error, STDERR_FILENO) < 0) {
    return "connecting its standard streams";
  }
  if (request.passed >= 0 && ::fcntl(request.passed, F_SETFD, 0) != 0) {
    return "passing a descriptor";
  }
  if (!request.working_directory.empty() && ::chdir(request.working_directory.c_str()) != 0) {
    return "entering its working directory";
  }
  if (task.inherited->descriptors && ::setrlimit(RLIMIT_NOFILE, &*task.inherited->descriptors) != 0) {
    return "restoring the limit of descriptors";
  }
  restore_ignored_signals(*task.inherited);  // in the child only: handlers are not shared
  // Can fail only for an invalid argument.
  (void)::pthread_sigmask(SIG_SETMASK, &task.inherited->signal_mask, nullptr);
  return bind_child(task);
}

__attribute__((no_sanitize("address"))) int run_child(void* argument) {
  auto& task = *static_cast<ChildTask*>(argument);
  const char* step = prepare_child(task);
  if (step == nullptr) {
    ::execve(task.executable, task.argv, task.environment);
    step = "";
  }
  task.error_number = errno;
  task.failed_step = step;
  ::_exit(127);
}

BitMask mask_of(const std::vector<int>& numbers) {
  BitMask mask;
  for (const int number : numbers) {
    const auto bit = static_cast<std::size_t>(number);
    mask.resize(std::max(mask.size(), bit / kBits + 1));
    mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  return mask;
}

Error cannot_run(const std::string& name, ErrorKind kind, const std::string& why) {
  return Error{kind, "cannot run '" + visible_line(name) + "': " + why};
}

/// The scripts of Python beside the path; looks at a part of a large folder.
std::vector<std::string> scripts_beside(const std::filesystem::path& path) {
  constexpr int kMostLookedAt = 1'000;
  std::vector<std::string> names;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (int seen = 0; !error && at != std::filesystem::directory_iterator() && seen < kMostLookedAt; ++seen) {
    if (at->path().extension() == ".py") {
      names.push_back(visible_line(at->path().filename().string()));
    }
    at.increment(error);
  }
  return names;
}

Error no_script(const std::string& path) {
  std::error_code ignored;  // the folder is not named then
  const std::string folder = path.starts_with('/') ? "" : std::filesystem::current_path(ignored).string();
  return Error{ErrorKind::NotFound,
               "no file '" + visible_line(path) + "'" + (folder.empty() ? "" : " in '" + visible_line(folder) + "'") +
                   (path.ends_with(".py") ? "" : ", which is taken for a script of Python") +
                   did_you_mean(std::filesystem::path(path).filename().string(), scripts_beside(path))};
}

/// Explains ENOENT for an existing file: its interpreter or loader is missing.
std::string missing_interpreter(const std::string& path) {
  const std::string interpreter = interpreter_of(path);
  if (interpreter.empty()) {
    return "it or the interpreter in its first line is not found";
  }
  const bool has_windows_end = interpreter.ends_with('\r');
  return "the interpreter in its first line, '" + visible_line(interpreter) + "', is not found" +
         (has_windows_end ? ": its lines end as on Windows, with CR" : "");
}

Error start_error(const SpawnRequest& request, const std::string& step, int error_number) {
  const std::string& name = request.argv.front();
  const std::string shown = "'" + visible_line(name) + "'";
  if (!step.empty()) {
    return system_error("cannot start " + shown + ": " + step, error_number);
  }
  switch (error_number) {
    case ENOENT:
      return cannot_run(name, ErrorKind::NotFound, missing_interpreter(request.executable));
    case ENOEXEC:
      return cannot_run(name, ErrorKind::NotExecutable,
                        "it is neither a program nor a script with '#!' in its first line");
    case E2BIG:
      return cannot_run(name, ErrorKind::NotExecutable, "its arguments and environment are too long");
    default:
      return Error{ErrorKind::NotExecutable, system_error("cannot run " + shown, error_number).message};
  }
}

/// The reason why a file cannot be executed; empty: it can.
std::optional<std::string> obstacle(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return std::generic_category().message(errno);
  }
  if (S_ISDIR(status.st_mode)) {
    return "it is a directory";
  }
  if (::access(path.c_str(), X_OK) != 0) {
    return "it is not executable";
  }
  return std::nullopt;
}

/// The error for a name that is not executable anywhere in the search path.
Error not_in_path(const std::string& name, const std::optional<std::string>& refused) {
  if (refused) {
    return cannot_run(name, ErrorKind::NotExecutable, *refused);
  }
  struct stat status {};
  if (::stat(name.c_str(), &status) != 0) {
    return cannot_run(name, ErrorKind::NotFound, "not found in PATH");
  }
  if (S_ISDIR(status.st_mode)) {
    return cannot_run(name, ErrorKind::NotExecutable, "it is a directory");
  }
  return cannot_run(name, ErrorKind::NotFound,
                    "not found in PATH; for the file in this folder write './" + visible_line(name) + "'");
}

bool has_same_bytes(const std::string& one, const std::string& other) {
  const auto bytes = read_regular_file(one);
  return bytes && bytes == read_regular_file(other);
}

/// True for a symlink to us or a copy, named like another launcher: its caller does not want us.
bool is_muster_itself(const std::string& path) {
  // By path: under an emulator /proc/self/exe is the emulator.
  const std::string own_path = program_path();
  struct stat own {};
  struct stat other {};
  const bool are_there = ::stat(own_path.c_str(), &own) == 0 && ::stat(path.c_str(), &other) == 0;
  const bool is_same_file = own.st_dev == other.st_dev && own.st_ino == other.st_ino;
  return are_there && (is_same_file || (own.st_size == other.st_size && has_same_bytes(own_path, path)));
}

Result<std::string> search(const std::string& name, const std::string& search_path) {
  std::optional<std::string> refused;
  for (const std::string& folder : split(search_path, ':')) {
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const auto reason = !name.starts_with("muster") && is_muster_itself(path)
                            ? std::optional<std::string>("it is muster under another name, and PATH has no other one")
                            : obstacle(path);
    if (!reason) {
      return path;
    }
    if (!refused && ::access(path.c_str(), F_OK) == 0) {  // not in a directory that we may not search
      refused = reason;
    }
  }
  Error error = not_in_path(name, refused);
  const bool has_other_python = name == "python" && error.kind == ErrorKind::NotFound && search("python3", search_path);
  error.message += has_other_python ? "; python3 is there" : "";
  return error;
}

}  // namespace

std::vector<std::string> environment_entries(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    entries.push_back(environment_entry(name, value));
  }
  return entries;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    result.push_back(const_cast<char*>(text.c_str()));  // NOLINT: execve's type, it writes nothing
  }
  result.push_back(nullptr);
  return result;
}

Spawner::Spawner(const Inherited& inherited)
    : inherited_(inherited), stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {}

Result<Spawned> Spawner::spawn(const SpawnRequest& request) {
  const std::vector<char*> argv = pointers(request.argv);
  const std::vector<char*> environment = pointers(request.environment);
  const BitMask cpus = mask_of(request.cpus);
  const BitMask memory_nodes = mask_of(request.memory_nodes);
  ChildTask task;
  task.cpus = &cpus;
  task.memory_nodes = &memory_nodes;
  task.executable = request.executable.c_str();
  task.argv = argv.data();
  task.environment = environment.data();
  task.request = &request;
  task.inherited = &inherited_;
  task.parent = ::getpid();

  // CLONE_VFORK: we sleep until the child has called execve or exited, so its stack can be shared.
  const int pid = ::clone(run_child, stack_.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &task);
  if (pid < 0) {
    return system_error("cannot start '" + visible_line(request.argv.front()) + "': making a process", errno);
  }
  if (task.failed_step != nullptr) {
    ::waitpid(pid, nullptr, 0);  // the child is not known elsewhere yet
    return start_error(request, task.failed_step, task.error_number);
  }
  Spawned spawned;
  spawned.pid = pid;
  spawned.memory_refusal = task.memory_refusal;
  spawned.pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return spawned;
}

Result<std::string> find_executable(const std::string& name, const std::string& search_path) {
  if (name.empty()) {
    return cannot_run(name, ErrorKind::NotFound, "the name is empty");
  }
  if (name.find('/') == std::string::npos) {
    return search(name, search_path);
  }
  if (::access(name.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return cannot_run(name, ErrorKind::NotFound, "not found");
  }
  const auto reason = obstacle(name);
  return reason ? Result<std::string>(cannot_run(name, ErrorKind::NotExecutable, *reason)) : name;
}

std::string interpreter_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 256> bytes{};  // BINPRM_BUF_SIZE of Linux
  const ssize_t count = file ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  const std::string_view beginning(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (!beginning.starts_with("#!")) {
    return {};
  }
  const std::string_view line = beginning.substr(2, beginning.find('\n') - 2);
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string()
                                         : std::string(line.substr(first, line.find_first_of(" \t", first) - first));
}

Result<> check_script(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? no_script(path)
                           : cannot_run(path, ErrorKind::NotExecutable, std::generic_category().message(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return cannot_run(path, ErrorKind::NotExecutable, "it is a directory");
  }
  if (::access(path.c_str(), R_OK) != 0) {
    return cannot_run(path, ErrorKind::NotExecutable, "it is not readable");
  }
  return {};
}

// Makes the pipes and ptys of a worker (pipe(7), pty(7), ioctl_tty(2)).

namespace {

/// Both ends of one stream.
struct Connection {
  UniqueFd ours;
  UniqueFd workers;
};

/// Turns off changes on the way: our terminal makes "\r\n" of "\n", and there is no input to echo.
bool pass_bytes_as_they_are(int terminal) {
  termios settings{};
  if (::tcgetattr(terminal, &settings) != 0) {
    return false;
  }
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
  return ::tcsetattr(terminal, TCSANOW, &settings) == 0;
}

/// Opens the worker's side through ours, not by path: /dev/pts may be another instance.
Result<Connection> make_terminal() {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  Connection connection;
  connection.ours = UniqueFd(::posix_openpt(kFlags));
  int is_locked = 0;
  if (!connection.ours || ::ioctl(connection.ours.get(), TIOCSPTLCK, &is_locked) != 0) {
    return system_error("making a pseudo-terminal", errno);
  }
  connection.workers = UniqueFd(::ioctl(connection.ours.get(), TIOCGPTPEER, kFlags));
  if (!connection.workers || !pass_bytes_as_they_are(connection.workers.get())) {
    return system_error("opening a pseudo-terminal", errno);
  }
  return connection;
}

Result<Connection> connect(bool by_terminal, std::optional<Error>& refusal) {
  if (by_terminal) {
    auto made = make_terminal();
    if (made) {
      return made;
    }
    refusal = made.error();
  }
  auto pipe = TRY(make_pipe());
  return Connection{std::move(pipe.read), std::move(pipe.write)};
}

}  // namespace

Result<OutputEnds> make_output_ends(const OutputConnection& streams) {
  OutputEnds ends;
  auto error = TRY(connect(streams.error_is_terminal, ends.refusal));
  ends.ours.error = std::move(error.ours);
  ends.workers.error = std::move(error.workers);
  if (streams.is_joined) {
    return ends;
  }
  auto out = TRY(connect(streams.out_is_terminal, ends.refusal));
  ends.ours.out = std::move(out.ours);
  ends.workers.out = std::move(out.workers);
  return ends;
}

void give_ends(SpawnRequest& request, const StreamEnds& workers) {
  request.standard_output = (workers.out ? workers.out : workers.error).get();
  request.standard_error = workers.error.get();
}

// Chooses whether the two streams of a worker are joined, and which is a pty.

namespace {

/// Programs draw on terminals; files should contain readable text.
bool wants_terminal(const StreamTarget& target, When terminals) {
  if (terminals != When::Auto) {
    return terminals == When::Always;
  }
  return target.is_terminal && target.file == StreamFile::None;
}

}  // namespace

OutputConnection choose_connection(const StreamTarget& out, const StreamTarget& error, When terminals) {
  const bool goes_somewhere = out.console || out.file == StreamFile::Joined;
  return {.is_joined = goes_somewhere && out == error && out.file != StreamFile::Own,
          .out_is_terminal = wants_terminal(out, terminals),
          .error_is_terminal = wants_terminal(error, terminals)};
}

}  // namespace muster
