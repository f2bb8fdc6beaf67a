// Ends the agent: the gang's goodbye, the outcome, its exit report.
#include "agent/agent.hpp"
#include "base/log.hpp"
#include "environment/cgroups.hpp"
#include "modes/mpi_request.hpp"
#include "supervise/supervisor.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace muster {
namespace {

// Names of pending work.
constexpr const char* kGoodbye = "goodbye of the gang";
constexpr const char* kCaches = "new entries of compile caches";
constexpr const char* kEvidence = "copies of what the workers wrote about their end";

/// True where rank 0 serves PyTorch's store. MPI ranks get MASTER_PORT as well, but do not meet there.
bool rank_zero_hosts_store(const LaunchPlan& plan) {
  return plan.mode != kMpiMode && !plan.needs_service(kTorchStoreService) &&
         std::any_of(plan.workers.begin(), plan.workers.end(),
                     [](const WorkerPlan& worker) { return worker.environment.contains("MASTER_PORT"); });
}

/// Error file of the worker that failed first, if it is of this plan; empty: it is not, or its file was not read and
/// may be of an earlier attempt.
std::string error_file_of(const JobEnd& end, const LaunchPlan& plan) {
  const auto& first = end.first_failure;
  const bool is_ours = first && first->node == plan.placement.node_rank && end.attempt == plan.placement.attempt;
  if (!is_ours || first->error_message.empty()) {
    return {};
  }
  const auto worker = std::find_if(plan.workers.begin(), plan.workers.end(), [&](const WorkerPlan& one) {
    return first->service.empty() && one.global_rank == first->global_rank && one.role == first->role;
  });
  return worker == plan.workers.end() ? std::string() : worker->error_file;
}

}  // namespace

void Agent::on_workers_asked(int signal) {
  loop_.note_stop_of_workers(signal);
  gang_.notify(gang::StopSignal{signal, /*workers_know=*/true});
}

void Agent::on_job_end(const JobEnd& end) {
  startup_.cancel();
  outcome_.end = end;
  record({.kind = ledger::Kind::JobEnded,
          .number = end.exit_code,
          .text = end.reason,
          .memory_peak = records_.events.is_wanted() ? read_memory_peak(run_.memory_group) : std::nullopt});
  head_start_.end();
  reporter_.end();
  preflight_.end();
  control_.end(end.reason);
  loop_.page().decide(end.exit_code);
  if (attempt_) {
    attempt_->cancel();
  }
  suspend_requests_.end(end.verdict == Verdict::Suspended);
  shutdown_.pending_work().add(kGoodbye, [this] { return gang_.awaited(); });
  // Log files that could not be created have used up their time already.
  const bool is_patient = end.kind == EndKind::Succeeded && !loop_.queues().logs().are_late();
  shutdown_.begin(is_patient ? run_.options.console_stall : kShortTimeout);
  shutdown_.watch_end();
  // After the answer to earlier requests.
  if (!services_.is_store_asked() || !services_.ask_store([this](const std::string& /*keys*/) { finalize(); })) {
    finalize();
  }
}

/// The report is the last text, so it waits for the lines about caches.
void Agent::finalize() {
  constexpr std::chrono::seconds kCachesAfterSuccess{15};
  constexpr std::chrono::seconds kCachesAfterFailure{5};
  shutdown_.pending_work().add(kCaches);
  head_start_.caches().end(outcome_.end.verdict == Verdict::Succeeded ? kCachesAfterSuccess : kCachesAfterFailure,
                           [this] {
                             finalize_evidence();
                             shutdown_.pending_work().remove(kCaches);
                           });
}

/// The report names the evidence that is kept. After success there is none.
void Agent::finalize_evidence() {
  if (outcome_.end.verdict == Verdict::Succeeded) {
    shutdown_.finalize();
    return;
  }
  shutdown_.pending_work().add(kEvidence);
  keep_evidence();
  records_.evidence.end_job([this] {
    shutdown_.finalize();
    shutdown_.pending_work().remove(kEvidence);
  });
}

void Agent::print_exit_report(const Result<>& report) {
  if (records_.events.is_wanted() && attempt_ && outcome_.node_rank.value == 0) {
    log_info(records_.events.closing_line());
  }
  // For programs that read standard output.
  loop_.queues().out().write_always(run_.exit_report.say(outcome_, report));
}

/// No node needs this agent any more. Lines may have been logged while the gang closed.
void Agent::on_gang_closed() {
  shutdown_.wait_for_last_lines();
  shutdown_.pending_work().remove(kGoodbye);
}

std::function<Result<>()> Agent::conclude() {
  outcome_.host_name = run_.options.host_name;
  outcome_.run_time_seconds = loop_.run_time_seconds();
  outcome_.ended_at = std::chrono::system_clock::now();
  const LaunchPlan& plan = attempt_ ? attempt_->plan() : run_.job.plan;
  outcome_.nodes = plan.placement.nodes;
  outcome_.node_rank = plan.placement.node_rank;
  if (attempt_) {
    outcome_.workers = attempt_->results().of_workers();
    outcome_.error_file = error_file_of(outcome_.end, plan);
    outcome_.has_place = true;
  } else {
    outcome_.workers = results_without_start(plan);
  }
  outcome_.evidence = records_.evidence.kept();
  outcome_.rank_zero_hosts_store = rank_zero_hosts_store(plan);
  outcome_.signals_workers = run_.options.suspend.worker_signal.has_value();
  if (outcome_.end.verdict != Verdict::Hung && outcome_.end.verdict != Verdict::Stopped) {
    outcome_.notices.clear();  // no rank waited in vain
  }
  outcome_.hang = outcome_.end.verdict == Verdict::Succeeded ? std::string() : control_.hangs().record().last();
  std::ranges::move(loop_.queues().describe_losses(), std::back_inserter(outcome_.notices));
  const auto& write = run_.exit_report.write_report;
  return write ? std::bind_front(std::cref(write), std::cref(outcome_)) : std::function<Result<>()>();
}

}  // namespace muster
