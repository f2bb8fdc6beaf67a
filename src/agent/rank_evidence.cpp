// Describes each worker by its Python program, else by its main process.
#include "agent/rank_evidence.hpp"

#include "environment/mounted_files.hpp"
#include "hang/nccl_ras.hpp"
#include "process/descendants.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace muster {
namespace {

std::string proc_file(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

/// The number behind a name in a file of "name: number" lines; 0: there is none.
std::uint64_t number_at(const std::map<std::string, std::string>& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

/// The kernel function in which the main thread waits; empty: it does not, or the kernel does not say.
std::string wait_of(pid_t process) {
  const std::string function = first_line(proc_file(process, "wchan"));
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
  evidence.counters.switches = number_at(read_fields(proc_file(program.pid, "status")), "voluntary_ctxt_switches");
  const auto io = read_fields(proc_file(program.pid, "io"));
  evidence.counters.io_bytes = number_at(io, "rchar") + number_at(io, "wchar");
  return evidence;
}

bool contains_rank_zero(const control::NodeStatus& status) {
  return std::ranges::find(status.workers, 0, &control::WorkerStatus::global_rank) != status.workers.end();
}

}  // namespace

hang::Evidence gather_evidence(const control::NodeStatus& status, hang::Stacks stacks, const NcclQuestion& nccl) {
  constexpr std::chrono::milliseconds kMostTime{1'500};  // less than the helper process has
  const auto deadline = std::chrono::steady_clock::now() + kMostTime;
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
  if (contains_rank_zero(status)) {
    gathered.progress = hang::to_progress(hang::parse_ras(ask_nccl(nccl, deadline)), nccl.world_size);
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
