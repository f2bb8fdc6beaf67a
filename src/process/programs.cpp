// Tells shells from other programs: only shells start what a user means and do not pass signals on to it.
#include "process/programs.hpp"

#include "base/text.hpp"
#include "environment/mounted_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace muster {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// The name of its executable, of a deleted one as well; empty: not readable.
std::string executable_name(pid_t pid) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path.data(), path.size());
  std::string_view target(path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (target.ends_with(kDeleted)) {
    target.remove_suffix(kDeleted.size());
  }
  return std::string(file_name(target));
}

/// Busybox is many programs; its first words say which: "sh", or "busybox sh".
bool is_shell_of_busybox(pid_t pid) {
  std::ifstream command("/proc/" + std::to_string(pid) + "/cmdline");
  std::string word;
  std::getline(command, word, '\0');
  if (file_name(word) == "busybox") {
    std::getline(command, word, '\0');
  }
  word.erase(0, word.starts_with('-') ? 1 : 0);  // a login shell
  return is_shell(file_name(word));
}

}  // namespace

bool runs_shell(const Process& process) {
  const std::string executable = executable_name(process.pid);
  return executable == "busybox" ? is_shell_of_busybox(process.pid)
                                 : is_shell(executable.empty() ? process.name : executable);
}

bool survives(pid_t pid, int signal) {
  auto status = read_fields("/proc/" + std::to_string(pid) + "/status");
  std::uint64_t signals = 0;
  for (const char* const set : {"SigCgt", "SigIgn"}) {
    constexpr int kHexadecimal = 16;
    signals |= std::strtoull(status[set].c_str(), nullptr, kHexadecimal);
  }
  return ((signals >> static_cast<unsigned>(signal - 1)) & 1U) != 0;
}

std::vector<Process> through_shells(const std::vector<Process>& tops, const std::vector<Process>& all,
                                    const std::function<bool(const Process&)>& is_a_shell) {
  std::vector<Process> programs = tops;
  for (std::size_t next = 0; next < programs.size(); ++next) {
    const Process top = programs[next];  // a copy: the list grows
    if (is_a_shell(top)) {
      std::ranges::copy_if(all, std::back_inserter(programs),
                           [&](const Process& one) { return one.parent == top.pid && !is_dead(one); });
    }
  }
  return programs;
}

RequestTargets split_request(const std::vector<Process>& programs,
                             const std::function<bool(const Process&)>& is_a_shell,
                             const std::function<bool(const Process&)>& survives_it) {
  RequestTargets targets;
  bool has_shell_that_stays = false;
  bool has_handler = false;
  for (const Process& one : programs) {
    const bool is_one = is_a_shell(one);
    const bool survives_one = survives_it(one);
    has_shell_that_stays = has_shell_that_stays || (is_one && survives_one);
    has_handler = has_handler || (!is_one && survives_one);
    (is_one || survives_one ? targets.now : targets.later).push_back(one);
  }
  return has_handler && !has_shell_that_stays ? targets : RequestTargets{programs, {}};
}

std::vector<Process> informed_programs(const std::vector<Process>& programs,
                                       const std::function<bool(const Process&)>& survives_it) {
  std::vector<Process> informed;
  std::ranges::copy_if(programs, std::back_inserter(informed), survives_it);
  return informed.empty() ? programs : informed;
}

std::vector<std::vector<Process>> programs_of(const std::vector<Process>& tops) {
  const std::vector<Process> all = std::ranges::any_of(tops, runs_shell) ? read_processes() : std::vector<Process>();
  std::vector<std::vector<Process>> programs;
  programs.reserve(tops.size());
  for (const Process& top : tops) {
    programs.push_back(through_shells({top}, all, runs_shell));
  }
  return programs;
}

std::vector<RequestTargets> request_targets(const std::vector<Process>& tops, int signal) {
  std::vector<RequestTargets> targets;
  for (const std::vector<Process>& programs : programs_of(tops)) {
    targets.push_back(programs.size() == 1 ? RequestTargets{programs, {}}
                                           : split_request(programs, runs_shell, [signal](const Process& one) {
                                               return survives(one.pid, signal);
                                             }));
  }
  return targets;
}

}  // namespace muster
