// Leaves nothing behind. docs/processes.md tells why each step is there.
#include "process/sweeper.hpp"

#include <algorithm>
#include <csignal>

namespace muster {

std::vector<Process> Sweeper::orphans(const std::set<pid_t>& living_workers) const {
  return descendants(read_processes(), root_, living_workers);
}

bool Sweeper::has_only_held(const std::set<pid_t>& excluded) const {
  const std::vector<pid_t> children = own_children();
  const auto may_end = [&](pid_t child) {
    return !excluded.contains(child) && !tracer_of_zombie(child);
  };
  if (std::any_of(children.begin(), children.end(), may_end)) {
    return false;  // as it is nearly always, without a look at all processes
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

void Sweeper::send_stop_signal(const std::vector<Process>& processes, int signal) {
  for (const Process& process : processes) {
    if (asked_.emplace(process.pid, process.start_time).second) {
      signal_exactly(process, signal);
      signal_exactly(process, SIGCONT);
    }
  }
}

/// Who forks and ends all the time is our child again after each time, and gone before a look at all processes comes to it.
void Sweeper::kill_children(const std::set<pid_t>& excluded) const {
  std::set<pid_t> known = excluded;
  const auto kill_if_new = [&](pid_t child) {
    const bool is_new = known.insert(child).second && !(is_foreign && is_foreign(child));
    return is_new && ::kill(child, SIGKILL) == 0;
  };
  constexpr int kLooks = 64;
  bool is_anyone_new = true;
  for (int looks = 0; is_anyone_new && looks < kLooks; ++looks) {
    const std::vector<pid_t> children = own_children();
    is_anyone_new = std::count_if(children.begin(), children.end(), kill_if_new) > 0;
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
    (void)net_.kill(pids);  // not writable here: the signals below are what there is
  }
  // Children first would let a parent fork again; parents come first in the list.
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
