// Ends the agent (pending work, drained output, exit report), serves the control socket, and contributes this node's
// values to the gang.
#include "agent/agent.hpp"
#include "agent/worker_starter.hpp"
#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/snapshot.hpp"
#include "gang/net/token.hpp"
#include "modes/mpi_request.hpp"
#include "supervise/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <map>
#include <utility>

namespace muster {
namespace {

// Names of pending work.
constexpr const char* kGoodbye = "goodbye of the gang";
constexpr const char* kLastLines = "the last lines";
constexpr const char* kReport = "the report";
constexpr const char* kNoticeSources = "whoever wanted the job to give way";

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
  if (link_.page.stop_sent_by_guard()) {
    heartbeat_sender_.start_heartbeats();
    (void)stop_debounce_.is_new();  // the signal still pending here is the same request
    stop_sent_by_guard_ = signal;
  }
  gang_.notify(gang::StopSignal{signal, /*workers_know=*/true});
}

void Agent::on_job_end(const JobEnd& end) {
  inputs_.cancel();
  end_ = end;
  control_.end(end.reason);
  for (const auto& source : notice_sources_) {
    source->stop();
  }
  link_.page.decide(end.exit_code);
  if (attempt_) {
    attempt_->cancel();
  }
  if (end.verdict == Verdict::Suspended) {
    report_suspended();
  }
  pending_work_.add(kGoodbye, [this] { return gang_.awaited(); });
  wait_for_last_lines();
  pending_work_.remove(kEndOfJob);
  exit_log_timer_.ask();
  const bool is_patient = end.kind == EndKind::Succeeded && !queues_.logs().are_late();
  // Log files that could not be created have used up their time already.
  queues_.start_deadline(is_patient ? run_.options.console_stall : kShortTimeout);
  finalize();
}

/// Each source bounds this by its own timeout.
void Agent::report_suspended() {
  pending_sources_ = notice_sources_.size();
  for (const auto& source : notice_sources_) {
    pending_work_.add(kNoticeSources);
    source->on_suspended();
  }
}

void Agent::note_source_done() {
  if (--pending_sources_ == 0) {
    wait_for_last_lines();  // the source may have logged something
    pending_work_.remove(kNoticeSources);
  }
}

/// Makes the report after all other output, so that it is the last text on the console.
void Agent::finalize() {
  const bool is_asking = store_.is_asked_who_waits() && !is_exiting_now_;
  if (outcome_ || is_asking || !queues_.drain([this] { finalize(); })) {
    return;
  }
  outcome_ = make_outcome();
  pending_work_.add(kReport);
  if (run_.exit_report.write_report) {
    write_report();
  } else {
    print_exit_report({});
  }
}

/// The time limit is what remains of the drain deadline.
void Agent::write_report() {
  const auto most_time = is_exiting_now_ ? kMoment : std::max<std::chrono::milliseconds>(queues_.time_left(), kMoment);
  write_report_async(
      report_, [this] { return run_.exit_report.write_report(*outcome_); }, run_.exit_report.stream, most_time,
      std::bind_front(&Agent::print_exit_report, this));
}

void Agent::print_exit_report(const Result<>& report) {
  queues_.out().write_always(run_.exit_report.say(*outcome_, report));  // for programs that read standard output
  has_finalized_ = true;
  if (is_exiting_now_) {
    pending_work_.exit_early();
    return;
  }
  queues_.extend_deadline();
  wait_for_last_lines();
  pending_work_.remove(kReport);
}

/// Keeps the agent running until the consoles have taken all output.
void Agent::wait_for_last_lines() {
  pending_work_.add(kLastLines, [this] { return queues_.describe_undrained(); });
  if (has_finalized_ && queues_.drain([this] { wait_for_last_lines(); })) {
    pending_work_.remove(kLastLines);
  }
}

/// No node needs this agent any more. Lines may have been logged while the gang closed.
void Agent::on_gang_closed() {
  wait_for_last_lines();
  pending_work_.remove(kGoodbye);
}

/// Logs pending work with --verbose: first after `kQuickEnd`, then every few seconds.
void Agent::log_pending_work() {
  if (is_logged(Level::Debug) && !pending_work_.is_empty()) {
    log_debug("the end waits for: " + pending_work_.describe());
    poll_timer_.ask();
  }
}

/// Exits without waiting for slow consoles or other nodes, after a second stop signal or the loss of the guard. Log
/// files get `kMoment`; lines dropped then are counted and reported.
void Agent::exit_now() {
  queues_.discard_consoles();
  is_exiting_now_ = true;
  if (has_finalized_) {
    pending_work_.exit_early();
  } else if (outcome_) {
    report_.shorten(kMoment);
  } else {
    log_flush_timer_.ask();
    finalize();
  }
}

void Agent::give_up_logs() {
  if (!outcome_) {
    queues_.logs().give_up();
    finalize();
  }
}

Outcome Agent::make_outcome() {
  Outcome outcome;
  outcome.end = *end_;
  outcome.host_name = run_.options.host_name;
  outcome.run_time_seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const LaunchPlan& plan = attempt_ ? attempt_->plan() : run_.job.plan;
  outcome.nodes = plan.placement.nodes;
  outcome.node_rank = plan.placement.node_rank;
  if (attempt_) {
    outcome.workers = attempt_->results();
    outcome.error_file = error_file_of(*end_, plan);
    outcome.has_place = true;
  } else {
    outcome.workers = results_without_start(plan);
  }
  outcome.rank_zero_hosts_store = rank_zero_hosts_store(attempt_ ? attempt_->plan() : run_.job.plan);
  outcome.reported_attempts = reported_attempts_;
  if (init_time_) {
    outcome.init_seconds = std::chrono::duration<double>(*init_time_).count();
  }
  const Verdict verdict = end_->verdict;
  if ((verdict == Verdict::Hung || verdict == Verdict::Stopped) && !awaited_keys_.empty()) {
    outcome.notices.push_back(awaited_keys_);
  }
  outcome.is_printed_elsewhere = launcher_link_ && (launcher_reports_reason_ || !run_.options.launcher->is_first);
  std::ranges::move(queues_.describe_losses(), std::back_inserter(outcome.notices));
  return outcome;
}

// Control socket and notices.

JobState Agent::job_state() const {
  const gang::GangConfig& policy = run_.job.gang.policy;
  const bool has_others = policy.job.most_nodes > 1;
  return {policy.job.job_id == kNoJobId ? std::string() : policy.job.job_id,
          has_others ? join_endpoint(policy.host, std::to_string(policy.port)) : std::string(), policy.version,
          link_.guard, policy.job.most_nodes};
}

void Agent::start_control() {
  control_.notify = [this](gang::NodeEvent event) { gang_.notify(std::move(event)); };
  control_.describe = [this] { return describe_node(); };
  control_.name_process = [this](pid_t pid) -> std::optional<std::string> {
    const auto rank = attempt_ ? attempt_->rank_of(pid) : std::nullopt;
    return rank ? std::optional("rank " + std::to_string(*rank)) : std::nullopt;
  };
  if (run_.job.plan.is_transparent) {
    return;
  }
  control_.start();
  notice_sources_ = make_notice_sources(io_, helpers_, run_.options.suspend, *this);
  for (const auto& source : notice_sources_) {
    source->start();
  }
}

/// Adds the job's variables to the workers; below another launcher's worker they keep what that has set.
void Agent::add_job_environment(LaunchPlan& plan, const gang::Start& start) const {
  if (plan.is_transparent) {
    return;
  }
  std::map<std::string, std::string> all = {{kRestartCountVariable, std::to_string(start.restart_count)}};
  if (!start.last_verdict.empty()) {
    all[kLastVerdictVariable] = start.last_verdict;
  }
  if (!run_.options.state_folder.empty()) {
    all[kJobStateVariable] = run_.options.state_folder;
  }
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    plan.workers[i].environment.merge(control_.environment_of(i));
    plan.workers[i].environment.insert(all.begin(), all.end());
  }
}

control::NodeStatus Agent::describe_node() const {
  control::NodeStatus status;
  status.host = run_.options.host_name;
  status.pid = link_.guard;
  if (!attempt_) {
    const auto awaited = gang_.awaited();
    status.state = awaited.empty() ? "starting" : "waiting for " + join(awaited, ", ");
    return status;
  }
  status.node = attempt_->plan().placement.node_rank.value;
  status.attempt = attempt_->plan().placement.attempt;
  status.state = "running";
  status.workers = attempt_->describe_workers();
  return status;
}

/// A signal that usually ends a job is followed by the platform's SIGKILL after its grace period.
void Agent::request_suspend(int signal) {
  heartbeat_sender_.start_heartbeats();  // the guard has got the signal, too
  const bool is_usual_end = signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
  take_notice(signal_name(signal), is_usual_end ? std::optional(time_to_save(run_.options.grace)) : std::nullopt);
}

/// Limits each notice to the time left in the allocation.
void Agent::take_notice(const std::string& source, std::optional<std::chrono::milliseconds> within) {
  if (const auto left = run_.options.suspend.time_left()) {
    within = within ? std::min(*within, *left) : *left;
  }
  gang_.notify(gang::SuspendRequested{source, within});
}

void Agent::withdraw_notice(const std::string& source) {
  gang_.notify(gang::SuspendRequested{source, {}, /*is_withdrawn=*/true});
}

void Agent::act(const gang::SuspendNotice& notice) {
  control_.take_notice(notice, attempt_->plan().placement.attempt);
  for (const auto& source : notice_sources_) {
    source->on_delivered();
  }
  attempt_->take_notice(notice.is_withdrawn, run_.options.suspend.worker_signal);
  log_info(notice.is_withdrawn
               ? "the notice (" + notice.source + ") is withdrawn: the job goes on"
               : "the job is to be suspended (" + notice.source + "): the workers have " +
                     format_seconds(std::chrono::duration<double>(notice.within).count()) + " s to save");
}

// Values that this node contributes before the start, and the keys of all values that nodes exchange.

/// Contributes nothing if the table has not changed.
Result<> Agent::contribute_table() {
  const TableContribution own = table_.contribution();
  return own.is_empty() ? Result<>() : gang_.contribute(contribution_of<RankTableValue>(own));
}

/// The gang's setup with one key for each exchanged value.
gang::GangSetup Agent::setup_with_keys() const {
  gang::GangSetup setup = run_.job.gang;
  const LinkCapacity room = room_for_links(run_.job);
  setup.policy.most_links = room.nodes;
  setup.most_strangers = room.strangers;
  setup.policy.keys = exchange_keys();
  return setup;
}

/// Contributes this node's values: ports of workers, kept for all attempts, its part of a generated rank table,
/// votes.
Result<> Agent::contribute() {
  TRY(contribute_table());
  if (!ports_) {
    return ports_.error();
  }
  for (gang::Contributed& value : startup_contributions({run_, *ports_})) {
    TRY(gang_.contribute(std::move(value)));
  }
  return {};
}

}  // namespace muster
