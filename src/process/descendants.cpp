// Reads processes from /proc, where one may end at any time, and kills descendants in rounds.
#include "process/descendants.hpp"

#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "environment/mounted_files.hpp"
#include "process/inherited.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

namespace muster {

// Control groups, version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.kill).

namespace {

bool write_text(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// A control group made by us.
struct CreatedGroup {
  std::string folder;    ///< empty: none
  int error_number = 0;  ///< the reason; ENOENT: no groups of version 2
};

/// Makes a control group (version 2) below that of this process.
CreatedGroup make_group() {
  const std::vector<ControlGroup> own = own_cgroups("");  // no controller: only the group of version 2
  if (own.empty()) {
    return {"", ENOENT};
  }
  const std::string folder = own.front().folders.front() + "/muster-" + std::to_string(::getpid());
  return ::mkdir(folder.c_str(), 0755) == 0 ? CreatedGroup{folder, 0} : CreatedGroup{"", errno};
}

}  // namespace

int probe_cgroup() {
  const CreatedGroup made = make_group();
  if (made.folder.empty()) {
    return made.error_number;
  }
  const bool can_kill = ::access((made.folder + "/cgroup.kill").c_str(), F_OK) == 0;
  (void)::rmdir(made.folder.c_str());
  return can_kill ? 0 : ENOSYS;
}

bool CgroupKiller::kill(const std::vector<pid_t>& pids) {
  if (folder_.empty()) {
    folder_ = make_group().folder;
  }
  if (folder_.empty()) {
    return false;
  }
  bool has_moved = false;
  for (const pid_t pid : pids) {
    has_moved = write_text(folder_ + "/cgroup.procs", std::to_string(pid)) || has_moved;
  }
  return has_moved && write_text(folder_ + "/cgroup.kill", "1");
}

/// Moves processes that could not be killed back to the parent group: they would keep this one for ever.
CgroupKiller::~CgroupKiller() {
  if (folder_.empty() || ::rmdir(folder_.c_str()) == 0) {
    return;
  }
  std::ifstream inside(folder_ + "/cgroup.procs");
  const std::string home = folder_.substr(0, folder_.rfind('/'));
  for (std::string pid; std::getline(inside, pid);) {
    (void)write_text(home + "/cgroup.procs", pid);
  }
  ::rmdir(folder_.c_str());
}

namespace {

/// A whole small file of /proc; a stat line is shorter than this buffer.
std::string read_small_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> buffer{};
  const ssize_t size = file ? ::read(file.get(), buffer.data(), buffer.size()) : -1;
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

void skip(std::istringstream& fields, int count) {
  std::string skipped;
  for (int i = 0; i < count; ++i) {
    fields >> skipped;
  }
}

/// "4711 (a name) S 4710 ...": the name may contain blanks and brackets, so it ends at the last ")".
std::optional<Process> parse_stat(const std::string& stat) {
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return std::nullopt;
  }
  Process process;
  process.pid = std::atoi(stat.c_str());  // NOLINT(cert-err34-c): the kernel wrote it
  process.name = visible_line(stat.substr(open + 1, close - open - 1));
  std::istringstream fields(stat.substr(close + 1));
  fields >> process.state >> process.parent;
  skip(fields, 4);  // fields 5 to 8
  fields >> process.flags;
  skip(fields, 4);  // fields 10 to 13
  unsigned long in_kernel = 0;
  fields >> process.cpu_ticks >> in_kernel;
  process.cpu_ticks += in_kernel;
  skip(fields, 4);  // fields 16 to 19
  fields >> process.threads;
  skip(fields, 1);  // field 21
  fields >> process.start_time;
  return fields ? std::optional(process) : std::nullopt;
}

std::optional<Process> read_process(const std::string& pid) {
  return parse_stat(read_small_file("/proc/" + pid + "/stat"));
}

}  // namespace

bool is_exiting(const Process& process) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING of the kernel
  // State Z, yet not reaped before: only the main thread has ended.
  return (process.flags & kExiting) != 0 && process.state != 'Z';
}

bool is_proc_ours() {
  std::array<char, 32> target{};
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size() - 1);
  return size > 0 && std::to_string(::getpid()) == target.data();
}

std::optional<Process> find_process(pid_t pid) {
  return read_process(std::to_string(pid));
}

std::vector<Process> read_processes() {
  std::vector<Process> processes;
  if (!is_proc_ours()) {
    return processes;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), &::closedir);
  while (directory) {
    const dirent* const entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      break;
    }
    const char first = entry->d_name[0];
    if (first < '1' || first > '9') {
      continue;
    }
    if (auto process = read_process(entry->d_name)) {
      processes.push_back(std::move(*process));
    }
  }
  return processes;
}

std::vector<pid_t> own_children() {
  return listed_children(::getpid());
}

std::vector<pid_t> listed_children(pid_t process) {
  std::vector<pid_t> children;
  if (!is_proc_ours()) {
    return children;
  }
  const std::string number = std::to_string(process);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  for (pid_t pid = 0; file >> pid;) {
    children.push_back(pid);
  }
  return children;
}

std::vector<Process> descendants(const std::vector<Process>& all, pid_t root, const std::set<pid_t>& excluded) {
  std::multimap<pid_t, const Process*> children;  // by parent
  for (const Process& process : all) {
    if (process.pid != root && !excluded.contains(process.pid)) {
      children.emplace(process.parent, &process);
    }
  }
  std::vector<const Process*> family;
  const auto add_children = [&](pid_t parent) {
    const auto [first, last] = children.equal_range(parent);
    std::transform(first, last, std::back_inserter(family), [](const auto& child) { return child.second; });
  };
  add_children(root);
  for (std::size_t next = 0; next < family.size(); ++next) {
    add_children(family[next]->pid);
  }
  std::vector<Process> living;
  for (const Process* process : family) {
    if (!is_dead(*process)) {
      living.push_back(*process);
    }
  }
  return living;
}

void signal_exactly(const Process& process, int signal) {
  if (process.parent == ::getpid()) {
    (void)::kill(process.pid, signal);  // until we have reaped it, the pid is our child's
    return;
  }
  // The pidfd pins a process, the start time tells whether it is the one that was seen.
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  // Old kernel, system call filter, or no descriptor left.
  const bool has_no_pidfd = !pidfd && errno != ESRCH;
  const auto now = find_process(process.pid);
  if (!now || now->start_time != process.start_time) {
    return;
  }
  const bool is_sent =
      pidfd && (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0 || errno == ESRCH);
  if (!is_sent && (pidfd || has_no_pidfd)) {
    (void)::kill(process.pid, signal);  // the pid may be reused between check and signal
  }
}

void kill_descendants(pid_t process) {
  if (listed_children(process).empty()) {
    return;
  }
  for (const Process& below : descendants(read_processes(), process, {})) {
    signal_exactly(below, SIGKILL);
  }
}

std::optional<std::string> variable_of(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  const std::string start = name + "=";
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(start)) {
      return entry.substr(start.size());
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  return file >> size >> resident ? std::optional(resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)))
                                  : std::nullopt;
}

std::optional<pid_t> tracer_of_zombie(pid_t pid) {
  const auto process = find_process(pid);
  if (!process || process->state != 'Z') {
    return std::nullopt;
  }
  const auto status = read_fields("/proc/" + std::to_string(pid) + "/status");
  const auto tracer = status.find("TracerPid");
  return tracer == status.end() ? std::nullopt : parse_integer(tracer->second, 1, std::numeric_limits<pid_t>::max());
}

bool is_dead(const Process& process) {
  // Traced threads stay until their tracer has waited for them.
  return process.state == 'X' || (process.state == 'Z' && (process.threads <= 1 || tracer_of_zombie(process.pid)));
}

std::optional<int> zombie_wait_status(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = read_small_file(folder + "/stat");
  char unused = 0;
  // A zombie has no executable. Any other answer means that we may not read it, and its status is shown as 0.
  const bool may_know = ::readlink((folder + "/exe").c_str(), &unused, sizeof unused) < 0 && errno == ENOENT;
  const auto process = parse_stat(stat);
  if (!process || process->state != 'Z' || !may_know) {
    return std::nullopt;
  }
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  constexpr int kFieldsToStatus = 49;  // fields 3 to 51; the last one is field 52
  skip(fields, kFieldsToStatus);
  int status = 0;
  fields >> status;
  return fields ? std::optional(status) : std::nullopt;
}

bool has_marker(pid_t pid, const std::string& marker) {
  const auto value = variable_of(pid, kMarkerVariable);
  const std::vector<std::string> marks = split(value.value_or(""), ':');
  return std::find(marks.begin(), marks.end(), marker) != marks.end();
}

// Leaves no process behind. docs/processes.md explains each step.

std::vector<Process> Sweeper::orphans(const std::set<pid_t>& living_workers) const {
  return descendants(read_processes(), root_, living_workers);
}

std::vector<Process> Sweeper::adopted(const std::set<pid_t>& known) const {
  std::vector<Process> found;
  const std::vector<pid_t> children = own_children();
  for (const pid_t child : children) {
    if (auto process = known.contains(child) ? std::nullopt : find_process(child)) {
      found.push_back(std::move(*process));
    }
  }
  if (children.empty()) {
    found = read_processes();
  }
  std::erase_if(found, [&](const Process& process) {
    return process.parent != root_ || known.contains(process.pid) || is_dead(process);
  });
  return found;
}

bool Sweeper::has_only_held(const std::set<pid_t>& excluded) const {
  const std::vector<pid_t> children = own_children();
  const auto may_end = [&](pid_t child) { return !excluded.contains(child) && !tracer_of_zombie(child); };
  if (std::any_of(children.begin(), children.end(), may_end)) {
    return false;  // nearly always, without a scan of all processes
  }
  const std::vector<Process> all = read_processes();
  bool has_held = false;
  for (const Process& process : all) {
    const bool is_child = process.parent == root_ && !excluded.contains(process.pid);
    if (is_child && !tracer_of_zombie(process.pid)) {
      return false;
    }
    has_held = has_held || is_child;
  }
  return has_held && descendants(all, root_, excluded).empty();
}

bool Sweeper::has_only(const std::set<pid_t>& excluded) const {
  const auto is_other = [&](pid_t child) { return !excluded.contains(child); };
  return std::ranges::none_of(own_children(), is_other) && descendants(read_processes(), root_, excluded).empty();
}

bool Sweeper::send_stop_signal(const std::vector<Process>& processes, int signal) {
  bool has_new = false;
  for (const Process& process : processes) {
    if (!asked_.emplace(process.pid, process.start_time, signal).second) {
      continue;
    }
    has_new = true;
    signal_exactly(process, signal);
    signal_exactly(process, SIGCONT);
  }
  return has_new;
}

void Sweeper::note_sent(const std::vector<Process>& processes, int signal) {
  for (const Process& process : processes) {
    asked_.emplace(process.pid, process.start_time, signal);
  }
}

/// A process that forks and exits in a loop keeps being re-parented to us, and a scan of /proc never catches it;
/// /proc/self/task/children does.
void Sweeper::kill_children(const std::set<pid_t>& excluded) const {
  std::set<pid_t> known = excluded;
  const auto kill_if_new = [&](pid_t child) {
    const bool is_new = known.insert(child).second && !(is_foreign && is_foreign(child));
    return is_new && ::kill(child, SIGKILL) == 0;
  };
  constexpr int kLooks = 64;
  bool has_new = true;
  for (int looks = 0; has_new && looks < kLooks; ++looks) {
    const std::vector<pid_t> children = own_children();
    has_new = std::count_if(children.begin(), children.end(), kill_if_new) > 0;
  }
}

std::vector<Process> Sweeper::kill_round(const std::set<pid_t>& excluded) {
  kill_children(excluded);
  std::vector<Process> found = descendants(read_processes(), root_, excluded);
  if (++rounds_ > kRoundsWithoutNet) {
    std::vector<pid_t> pids;
    pids.reserve(found.size());
    for (const Process& process : found) {
      pids.push_back(process.pid);
    }
    (void)net_.kill(pids);  // if not writable, the signals below remain
  }
  // Parents first, as in the list: a parent could fork again after its children were killed.
  for (const Process& process : found) {
    signal_exactly(process, SIGKILL);
  }
  return found;
}

std::string describe_processes(const std::vector<Process>& processes) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < processes.size() && i < kNamed; ++i) {
    text += text.empty() ? "" : ", ";
    text += "pid " + std::to_string(processes[i].pid) + " (" + processes[i].name + ")";
  }
  if (processes.size() > kNamed) {
    text += " and " + std::to_string(processes.size() - kNamed) + " more";
  }
  return text;
}

}  // namespace muster
