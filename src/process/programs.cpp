// Tells shells from other programs: only shells start what a user means and do not pass signals on to it.
#include "process/programs.hpp"

#include "base/text.hpp"
#include "environment/mounted_files.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace muster {

bool has_signal(const std::map<std::string, std::string>& status, std::initializer_list<const char*> sets, int signal) {
  std::uint64_t signals = 0;
  for (const char* const set : sets) {
    constexpr int kHexadecimal = 16;
    signals |= std::strtoull(value_at(status, set).c_str(), nullptr, kHexadecimal);
  }
  return ((signals >> static_cast<unsigned>(signal - 1)) & 1U) != 0;
}

namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Reads a link in the process's folder; empty: not readable.
std::string link_of(pid_t pid, const char* name) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(("/proc/" + std::to_string(pid) + "/" + name).c_str(), path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// The name of its executable, of a deleted one as well; empty: not readable.
std::string executable_name(pid_t pid) {
  constexpr std::string_view kDeleted = " (deleted)";
  const std::string path = link_of(pid, "exe");
  std::string_view target = path;
  if (target.ends_with(kDeleted)) {
    target.remove_suffix(kDeleted.size());
  }
  return std::string(file_name(target));
}

/// Tells what runs in busybox, which is many programs, by the name: a script has its own. The command line is in the
/// process's memory, for which a reader may have to wait.
bool is_shell_of_busybox(std::string_view name) {
  constexpr auto kStarters = std::to_array<std::string_view>({"flock", "init", "script", "time", "watch", "xargs"});
  return std::ranges::find(kStarters, name) == kStarters.end();
}

void add_started(std::vector<Process>& programs, const std::vector<Process>& all, pid_t by) {
  std::ranges::copy_if(all, std::back_inserter(programs),
                       [by](const Process& one) { return one.parent == by && !is_dead(one); });
}

/// The programs by the files that they write, which may be pipes.
std::multimap<std::string, pid_t> writers_of(const std::vector<Process>& programs) {
  std::multimap<std::string, pid_t> writers;
  for (const Process& one : programs) {
    for (const char* const output : {"fd/1", "fd/2"}) {
      writers.emplace(link_of(one.pid, output), one.pid);
    }
  }
  return writers;
}

/// True if the thread is in sigtimedwait(2), during which the kernel shows what it waits for as not blocked.
bool waits_for_signals(const std::string& thread) {
  std::ifstream file(thread + "/syscall");
  long number = -1;
  return file >> number && number == SYS_rt_sigtimedwait;
}

bool has_signal(const Process& process, const char* set, int signal) {
  return muster::has_signal(read_fields("/proc/" + std::to_string(process.pid) + "/status"), {set}, signal);
}

/// By `&`, a shell starts a process that ignores SIGINT and SIGQUIT (POSIX, "Asynchronous Lists"), or with job control,
/// which catches no SIGINT, one in a process group of its own.
bool is_in_background(const Process& process, const Process& shell) {
  const bool ignores = has_signal(process, "SigIgn", SIGQUIT) || has_signal(process, "SigIgn", SIGINT);
  return ignores ? !has_signal(shell, "SigIgn", SIGINT)
                 : ::getpgid(process.pid) == process.pid && !has_signal(shell, "SigCgt", SIGINT);
}

/// The programs that are left to the handlers of shells (`take_left_to_handlers`). Shells come before what they have
/// started.
std::set<pid_t> left_to_handlers(const std::vector<Process>& programs, int signal) {
  std::set<pid_t> left;
  for (const Process& shell : programs) {
    std::vector<Process> started;
    add_started(started, programs, shell.pid);
    const bool decides = has_signal(shell, "SigCgt", signal) &&
                         std::ranges::all_of(started, [&](const Process& one) { return is_in_background(one, shell); });
    if (decides || left.contains(shell.pid)) {
      std::ranges::transform(started, std::inserter(left, left.end()), &Process::pid);
    }
  }
  return left;
}

/// See `Unasked`.
std::set<pid_t> readers_of_others(const std::vector<Process>& programs, int signal) {
  std::set<pid_t> readers;
  const auto writers = programs.size() < 2 ? std::multimap<std::string, pid_t>() : writers_of(programs);
  const auto goes_on = [&](pid_t pid) { return readers.contains(pid) || survives(pid, signal); };
  const auto reads_from_one_that_goes_on = [&](const Process& one) {
    const std::string input = link_of(one.pid, "fd/0");
    const auto [first, last] = writers.equal_range(input);
    return input.starts_with("pipe:") && !goes_on(one.pid) &&
           std::any_of(first, last, [&](const auto& writer) { return goes_on(writer.second); });
  };
  for (bool has_new = !writers.empty(); has_new;) {  // again for `train | grep loss | tee log`
    has_new = false;
    for (const Process& one : programs) {
      has_new = (reads_from_one_that_goes_on(one) && readers.insert(one.pid).second) || has_new;
    }
  }
  return readers;
}

}  // namespace

bool runs_shell(const Process& process) {
  const std::string executable = executable_name(process.pid);
  return executable == "busybox" ? is_shell_of_busybox(process.name)
                                 : is_shell(executable.empty() ? process.name : executable);
}

bool survives(pid_t pid, int signal) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (has_signal(read_fields(process + "/status"), {"SigCgt", "SigIgn"}, signal)) {
    return true;
  }
  bool is_blocked = false;  // by all of its threads, one of which waits for it
  std::error_code error;
  for (std::filesystem::directory_iterator at(process + "/task", error), end; !error && at != end;
       at.increment(error)) {
    const std::string thread = at->path().string();
    is_blocked = has_signal(read_fields(thread + "/status"), {"SigBlk"}, signal) || waits_for_signals(thread);
    if (!is_blocked) {
      return false;
    }
  }
  return is_blocked;
}

std::vector<Process> through_shells(const std::vector<Process>& tops, const std::vector<Process>& all,
                                    const std::function<bool(const Process&)>& is_a_shell) {
  std::vector<Process> programs = tops;
  for (std::size_t next = 0; next < programs.size(); ++next) {
    if (is_a_shell(programs[next])) {
      add_started(programs, all, programs[next].pid);
    }
  }
  return programs;
}

std::vector<Process> take_left_to_handlers(std::vector<Process>& programs, int signal) {
  if (programs.size() < 2 || signal == SIGINT) {  // shells catch SIGINT themselves
    return {};
  }
  const std::set<pid_t> left = left_to_handlers(programs, signal);
  const auto begin = std::stable_partition(programs.begin(), programs.end(),
                                           [&](const Process& one) { return !left.contains(one.pid); });
  std::vector<Process> taken(begin, programs.end());
  programs.erase(begin, programs.end());
  return taken;
}

Unasked take_unasked(std::vector<Process>& programs, int signal) {
  Unasked unasked{take_left_to_handlers(programs, signal), readers_of_others(programs, signal)};
  std::erase_if(programs, [&](const Process& one) { return unasked.readers.contains(one.pid); });
  return unasked;
}

std::vector<Process> informed_programs(const std::vector<Process>& programs,
                                       const std::function<bool(const Process&)>& survives_it) {
  std::vector<Process> informed;
  std::ranges::copy_if(programs, std::back_inserter(informed), survives_it);
  return informed.empty() ? programs : informed;
}

std::vector<std::vector<Process>> programs_of(const std::vector<Process>& tops,
                                              const std::function<bool(const Process&)>& is_passed_over) {
  const std::vector<Process> all =
      std::ranges::any_of(tops, is_passed_over) ? read_processes() : std::vector<Process>();
  std::vector<std::vector<Process>> programs;
  programs.reserve(tops.size());
  for (const Process& top : tops) {
    programs.push_back(through_shells({top}, all, is_passed_over));
  }
  return programs;
}

}  // namespace muster
