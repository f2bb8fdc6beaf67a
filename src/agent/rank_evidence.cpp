// Describes each worker by its Python program, else by its main process.
#include "agent/rank_evidence.hpp"

#include "process/descendants.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace muster {
namespace {

std::string first_line_of(pid_t process, const char* file) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/" + file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// The sum of the numbers behind these names in a file of "name: number" lines.
std::uint64_t sum_of(pid_t process, const char* file, std::initializer_list<std::string_view> names) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/" + file);
  std::uint64_t sum = 0;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    if (std::find(names.begin(), names.end(), std::string_view(line).substr(0, colon)) != names.end()) {
      sum += std::strtoull(line.c_str() + std::min(colon + 1, line.size()), nullptr, 10);
    }
  }
  return sum;
}

/// The kernel function in which the main thread waits; empty: it does not, or the kernel does not say.
std::string wait_of(pid_t process) {
  const std::string function = first_line_of(process, "wchan");
  return function == "0" ? "" : function.substr(0, function.find('.'));
}

/// The program that is the rank: the worker, or the first Python program below it where a shell has started that.
Process find_program(const Process& worker, const std::vector<Process>& below, hang::Stacks stacks) {
  if (stacks == hang::Stacks::LeaveOut || hang::is_python(worker.pid)) {
    return worker;
  }
  const auto python = std::ranges::find_if(below, [](const Process& process) { return hang::is_python(process.pid); });
  return python == below.end() ? worker : *python;
}

hang::RankEvidence describe_running(const Process& worker, const std::vector<Process>& all, hang::Stacks stacks) {
  const std::vector<Process> below = descendants(all, worker.pid, {});
  const Process program = find_program(worker, below, stacks);
  hang::RankEvidence evidence;
  evidence.pid = program.pid;
  evidence.place.state = program.state;
  evidence.place.wait = wait_of(program.pid);
  if (stacks == hang::Stacks::LeaveOut) {
    evidence.place.no_stack = "the memory of a rank on this node cannot be read for now";
  } else if (auto stack = hang::read_stack(program.pid)) {
    evidence.place.stack = std::move(*stack);
  } else {
    evidence.place.no_stack = stack.error().message;
  }
  constexpr std::uint64_t kMilliseconds = 1'000;
  const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  for (const Process& process : below) {
    if (process.pid != program.pid) {
      evidence.counters.children_ms += process.cpu_ticks * kMilliseconds / ticks_per_second;
    }
  }
  evidence.counters.switches = sum_of(program.pid, "status", {"voluntary_ctxt_switches"});
  evidence.counters.io_bytes = sum_of(program.pid, "io", {"rchar", "wchar"});
  return evidence;
}

}  // namespace

hang::Evidence gather_evidence(const control::NodeStatus& status, hang::Stacks stacks) {
  const std::vector<Process> all = read_processes();
  hang::Evidence gathered{.ranks = {}, .quiet = quiet_seconds(status)};
  for (const control::WorkerStatus& worker : status.workers) {
    const auto running = std::ranges::find(all, worker.pid, &Process::pid);
    hang::RankEvidence evidence;
    if (worker.pid > 0 && running != all.end()) {
      evidence = describe_running(*running, all, stacks);
    } else {
      evidence.place.end = worker.state;
    }
    evidence.rank = worker.global_rank;
    evidence.host = status.host;
    gathered.ranks.push_back(std::move(evidence));
  }
  return gathered;
}

double quiet_seconds(const control::NodeStatus& status) {
  const double now = control::now_since_1970();
  double quiet = std::numeric_limits<double>::max();
  for (const control::WorkerStatus& worker : status.workers) {
    for (const auto& age : {std::optional(now - worker.since), worker.output_age, worker.heartbeat_age}) {
      quiet = std::min(quiet, age.value_or(quiet));
    }
  }
  return quiet;
}

}  // namespace muster
