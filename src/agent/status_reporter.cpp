// Describes this node in helper processes, and prepares its workers to be asked.
#include "agent/status_reporter.hpp"

#include "agent/hang/recorder_dumps.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/fabric.hpp"
#include "environment/snapshot.hpp"
#include "hang/evidence.hpp"
#include "process/descendants.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace muster {
namespace {

constexpr std::array<std::string_view, 5> kQuestions{"", kStacks, kStacksAndRecorders, kNcclToo, kNcclOfAnyVersion};

/// Timeout for reading /proc and files in memory.
constexpr std::chrono::seconds kHelperTimeout{2};
/// Time for which lines of a recorder may come after a question: its thread looks once a second.
constexpr std::chrono::seconds kRecorderTime{5};
/// Limit of this node's answer, below the size limit of the gang's messages.
constexpr std::size_t kMostLineBytes = std::size_t{120} << 10U;

/// Adds CPU time and memory of the worker and its descendants.
void add_use(control::WorkerStatus& worker, const std::vector<Process>& processes) {
  std::vector<Process> tree = descendants(processes, worker.pid, {});
  const auto own = std::find_if(processes.begin(), processes.end(),
                                [&](const Process& process) { return process.pid == worker.pid; });
  if (own == processes.end()) {
    return;
  }
  tree.push_back(*own);
  unsigned long ticks = 0;
  std::uint64_t memory = 0;
  for (const Process& process : tree) {
    ticks += process.cpu_ticks;
    memory += resident_bytes(process.pid).value_or(0);
  }
  worker.cpu_seconds = static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  worker.memory_bytes = memory;
}

}  // namespace

StatusReporter::StatusReporter(ProcessLoop& loop, const RunContext& run, gang::Gang& gang, ServiceRequests& services,
                               const std::unique_ptr<Attempt>& attempt)
    : loop_(loop), run_(run), gang_(gang), services_(services), attempt_(attempt), helper_(loop.io(), loop.helpers()) {}

// --- What workers need to be asked -------------------------------------------------------------

/// Removes old heartbeat files: a new worker's library would go on in one, and report the old worker's step.
void StatusReporter::begin_attempt(LaunchPlan& plan) {
  const bool has_files = !run_.run_folder.empty();
  if (!plan.is_transparent) {
    recorders_.clear();
  }
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    WorkerPlan& worker = plan.workers[i];
    if (has_files && plan.placement.attempt > 0) {
      (void)::unlink(heartbeat_file(i).c_str());
    }
    if (plan.is_transparent) {
      continue;
    }
    if (has_files) {
      worker.environment.emplace(kHeartbeatFileVariable, heartbeat_file(i));
    }
    add_recorder_environment(worker);
    if (!worker.own_folder.empty()) {
      recorders_.emplace(worker.global_rank.value, worker.own_folder);
    }
  }
  give_nccl_port(plan);
}

/// Adds the recorder's variables, unless the user or the mode has set one of them. Ranks that mpirun or a nested
/// launcher starts get none: on a host without their folder, PyTorch would fail.
void StatusReporter::add_recorder_environment(WorkerPlan& worker) const {
  const auto& own = worker.environment;
  const HangOptions& hangs = run_.options.hangs;
  const bool may_be_asked = hangs.report.count() > 0 && hangs.asks.contains(hang::Question::Recorder);
  if (!may_be_asked || worker.is_unranked || !own.contains("MASTER_ADDR") || !own.contains("LOCAL_RANK")) {
    return;
  }
  auto variables = recorder_variables(worker.own_folder);
  const auto is_set = [&](const auto& variable) {
    return own.contains(variable.first) || run_.variables.contains(variable.first);
  };
  if (std::ranges::none_of(variables, is_set)) {
    worker.environment.merge(std::move(variables));
  }
}

/// Reserves a port for RAS where the user wishes it, at which the job may be asked about NCCL. At NCCL's own port only
/// the first job of a host could be.
void StatusReporter::give_nccl_port(LaunchPlan& plan) {
  const bool is_wished = run_.options.hangs.asks.contains(hang::Question::Nccl) && plan.world_size > 1 &&
                         !plan.is_transparent && !run_.variables.contains(kNcclRasVariable);
  if (is_wished && !nccl_port_) {
    if (auto reserved = WorkerPort::reserve()) {
      nccl_port_ = std::move(*reserved);
    }
  }
  const bool may_be_asked = is_wished && nccl_port_;
  nccl_ = may_be_asked ? NcclQuestion{nccl_port_->number(), plan.world_size} : NcclQuestion();
  if (!may_be_asked) {
    return;
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.environment.emplace(kNcclRasVariable, "127.0.0.1:" + std::to_string(nccl_port_->number()));
  }
}

// --- Questions of the gang ---------------------------------------------------------------------

void StatusReporter::describe(const gang::StatusQuery& wanted) {
  if (!contains(kQuestions, wanted.what)) {  // a later version asks
    gang_.notify(gang::StatusReport{wanted.number, ""});
    return;
  }
  described_[wanted.what].insert(wanted.number);
  if (!std::exchange(is_describing_, true)) {
    describe_pending();
  }
}

void StatusReporter::end() {
  has_ended_ = true;
  helper_.cancel();
}

/// Runs in a helper process, because /proc may be large and a file system may hang.
void StatusReporter::describe_pending() {
  const auto asked = described_.extract(described_.begin());
  if (!asked.key().empty()) {
    ask_store_and_describe(asked.mapped(), sources_of(asked.key()));
    return;
  }
  helper_.start({[this] { return status_line(); }, kHelperTimeout,
                 [this, numbers = asked.mapped()](const HelperTask::Answer& answer) {
                   send_description(numbers, answer ? *answer : control::to_line(describe_node(), kMostLineBytes));
                 }});
}

EvidenceSources StatusReporter::sources_of(const std::string& what) const {
  const bool may_ask_recorders = run_.options.hangs.asks.contains(hang::Question::Recorder);
  EvidenceSources sources{may_ask_recorders ? recorders_ : RecorderFolders(), /*asks_recorders=*/what != kStacks, nccl_,
                          run_.options.hangs.asks};
  sources.asked = asked_ ? asked_->get() : nullptr;
  sources.nccl.is_confirmed = what == kNcclOfAnyVersion;
  sources.nccl.is_wished = what == kNcclToo || sources.nccl.is_confirmed;
  return sources;
}

void StatusReporter::ask_store_and_describe(const std::set<int>& numbers, const EvidenceSources& sources) {
  const auto describe_with = [this, numbers, sources](const std::string& store) {
    if (!has_ended_) {
      describe_stacks(numbers, sources, store);
    }
  };
  if (!services_.ask_store(describe_with)) {
    describe_with("");
  }
}

void StatusReporter::describe_stacks(const std::set<int>& numbers, const EvidenceSources& sources,
                                     const std::string& store) {
  if (sources.asks_recorders && attempt_) {
    attempt_->disregard_output(kRecorderTime);
  }
  helper_.start({[this, sources, store] { return stacks_line(sources, store); }, sources.most_time,
                 [this, numbers](const HelperTask::Answer& answer) {
                   std::vector<std::string> counts;
                   for (const auto& [name, times] : asked()) {
                     counts.push_back(name + " " + std::to_string(times));
                   }
                   log_debug("asked about the ranks of this node so far: " + join(counts, ", "));
                   send_description(numbers, answer.value_or(""));
                 }});
}

std::map<std::string, std::uint64_t> StatusReporter::asked() const {
  return hang::by_name(asked_ ? (*asked_)[0] : hang::AskedCounts{});
}

void StatusReporter::send_description(const std::set<int>& numbers, const std::string& line) {
  for (const int number : numbers) {
    gang_.notify(gang::StatusReport{number, line});
  }
  is_describing_ = !described_.empty();
  if (is_describing_) {
    describe_pending();
  }
}

std::string StatusReporter::stacks_line(const EvidenceSources& sources, const std::string& store) const {
  hang::Evidence evidence = gather_evidence(describe_with_heartbeats(), sources);
  evidence.store = store;
  evidence.fabric_bytes = read_fabric_bytes("");
  return hang::to_line(evidence, kMostLineBytes);
}

control::NodeStatus StatusReporter::describe_with_heartbeats() const {
  control::NodeStatus status = describe_node();
  const double now = control::now_since_1970();
  for (std::size_t i = 0; i < status.workers.size(); ++i) {
    control::WorkerStatus& worker = status.workers[i];
    const auto heartbeat = control::parse_heartbeat(read_untrusted_file(heartbeat_file(i), control::kHeartbeatBytes));
    if (heartbeat) {
      worker.heartbeat_age = std::max(now - heartbeat->at, 0.0);
      worker.step = heartbeat->step;
      worker.numbers = heartbeat->numbers;
    }
  }
  return status;
}

std::string StatusReporter::status_line() const {
  control::NodeStatus status = describe_with_heartbeats();
  const std::vector<Process> processes = read_processes();
  for (control::WorkerStatus& worker : status.workers) {
    add_use(worker, processes);
  }
  return control::to_line(status, kMostLineBytes);
}

// --- The state of this node --------------------------------------------------------------------

control::NodeStatus StatusReporter::describe_node() const {
  control::NodeStatus status;
  status.host = run_.options.host_name;
  status.pid = loop_.guard();
  if (!attempt_) {
    const auto awaited = gang_.awaited();
    status.state = awaited.empty() ? "starting" : "waiting for " + join(awaited, ", ");
    return status;
  }
  status.node = attempt_->plan().placement.node_rank.value;
  status.attempt = attempt_->plan().placement.attempt;
  status.state = "running";
  status.standbys = standbys();
  status.workers = attempt_->results().describe_workers();
  return status;
}

std::optional<std::string> StatusReporter::name_process(pid_t pid) const {
  const auto rank = attempt_ ? attempt_->rank_of(pid) : std::nullopt;
  return rank ? std::optional("rank " + std::to_string(*rank)) : std::nullopt;
}

/// The number of ranks. Some modes start processes that make the ranks: there only the slots tell it.
int StatusReporter::rank_count() const {
  return attempt_ ? std::max(attempt_->plan().world_size, attempt_->plan().placement.slots_total) : 0;
}

std::vector<ledger::RankState> StatusReporter::rank_states() const {
  std::vector<ledger::RankState> states;
  for (const control::WorkerStatus& worker : describe_with_heartbeats().workers) {
    states.push_back({worker.global_rank, worker.output_age, worker.step});
  }
  return states;
}

std::string StatusReporter::heartbeat_file(std::size_t worker) const {
  return run_.run_folder + "/heartbeat." + std::to_string(worker);
}

}  // namespace muster
