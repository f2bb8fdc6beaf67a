// Ends the agent (the gang's goodbye, the outcome, its exit report) and serves the control socket.
#include "agent/agent.hpp"
#include "agent/hang/recorder_dumps.hpp"
#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "environment/snapshot.hpp"
#include "modes/mpi_request.hpp"
#include "supervise/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

namespace muster {
namespace {

// Names of pending work.
constexpr const char* kGoodbye = "goodbye of the gang";
constexpr const char* kEvidence = "copies of what the workers wrote about their end";
constexpr const char* kNoticeSources = "whoever wanted the job to give way";
/// Python writes the stacks of all threads on standard error when a signal such as SIGSEGV or SIGABRT ends it.
constexpr const char* kFaultHandlerVariable = "PYTHONFAULTHANDLER";

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
          .memory_peak = record_.is_wanted() ? read_memory_peak(facts_.oom_counter) : std::nullopt});
  control_.end(end.reason);
  hang_hook_.end();
  for (const auto& source : notice_sources_) {
    source->stop();
  }
  loop_.page().decide(end.exit_code);
  if (attempt_) {
    attempt_->cancel();
  }
  if (end.verdict == Verdict::Suspended) {
    report_suspended();
  }
  shutdown_.pending_work().add(kGoodbye, [this] { return gang_.awaited(); });
  // Log files that could not be created have used up their time already.
  const bool is_patient = end.kind == EndKind::Succeeded && !loop_.queues().logs().are_late();
  shutdown_.begin(is_patient ? run_.options.console_stall : kShortTimeout);
  shutdown_.watch_end();
  // After the answer to earlier requests.
  if (!store_.is_asked_who_waits() || !ask_store([this](const std::string& /*keys*/) { finalize(); })) {
    finalize();
  }
}

/// The report names the evidence that is kept. After success there is none.
void Agent::finalize() {
  if (outcome_.end.verdict == Verdict::Succeeded) {
    shutdown_.finalize();
    return;
  }
  shutdown_.pending_work().add(kEvidence);
  keep_evidence();
  evidence_.end_job([this] {
    shutdown_.finalize();
    shutdown_.pending_work().remove(kEvidence);
  });
}

/// Each source bounds this by its own timeout.
void Agent::report_suspended() {
  pending_sources_ = notice_sources_.size();
  for (const auto& source : notice_sources_) {
    shutdown_.pending_work().add(kNoticeSources);
    source->on_suspended();
  }
}

void Agent::note_source_done() {
  if (--pending_sources_ == 0) {
    shutdown_.wait_for_last_lines();  // the source may have logged something
    shutdown_.pending_work().remove(kNoticeSources);
  }
}

void Agent::print_exit_report(const Result<>& report) {
  if (record_.is_wanted() && attempt_ && outcome_.node_rank.value == 0) {
    log_info(record_.closing_line());
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
  const LaunchPlan& plan = attempt_ ? attempt_->plan() : run_.job.plan;
  outcome_.nodes = plan.placement.nodes;
  outcome_.node_rank = plan.placement.node_rank;
  if (attempt_) {
    outcome_.workers = attempt_->results();
    outcome_.error_file = error_file_of(outcome_.end, plan);
    outcome_.has_place = true;
  } else {
    outcome_.workers = results_without_start(plan);
  }
  outcome_.evidence = evidence_.kept();
  outcome_.rank_zero_hosts_store = rank_zero_hosts_store(plan);
  if (outcome_.end.verdict != Verdict::Hung && outcome_.end.verdict != Verdict::Stopped) {
    outcome_.notices.clear();  // no rank waited in vain
  }
  outcome_.hang = outcome_.end.verdict == Verdict::Succeeded ? std::string() : hang_record_.last();
  std::ranges::move(loop_.queues().describe_losses(), std::back_inserter(outcome_.notices));
  const auto& write = run_.exit_report.write_report;
  return write ? std::bind_front(std::cref(write), std::cref(outcome_)) : std::function<Result<>()>();
}

// Control socket and notices.

JobState Agent::job_state() const {
  const gang::GangConfig& config = run_.job.gang.config;
  const bool has_others = config.job.most_nodes > 1;
  return {config.job.job_id == kNoJobId ? std::string() : config.job.job_id,
          has_others ? join_endpoint(config.host, std::to_string(config.port)) : std::string(), config.version,
          loop_.guard(), config.job.most_nodes};
}

void Agent::start_control() {
  if (run_.job.plan.is_transparent) {
    return;
  }
  control_.limit_questions(run_.options.hangs.asks);
  control_.start();
  notice_sources_ = make_notice_sources(loop_.io(), loop_.helpers(), run_.options.suspend, *this);
  for (const auto& source : notice_sources_) {
    source->start();
  }
}

/// Of the living workers; their programs' numbers are in files.
std::vector<ledger::RankState> Agent::rank_states() const {
  std::vector<ledger::RankState> states;
  for (const control::WorkerStatus& worker : control_.describe_with_heartbeats().workers) {
    states.push_back({worker.global_rank, worker.output_age, worker.step});
  }
  return states;
}

/// Ranks that mpirun or a nested launcher starts may be on hosts without their folder, where PyTorch would fail. If the
/// user or the mode has set one of the variables, none is added.
void Agent::add_recorder_environment(WorkerPlan& worker) const {
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

/// Adds the job's variables to the workers; below another launcher's worker they keep what that has set.
void Agent::add_job_environment(LaunchPlan& plan, const gang::Start& start) {
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
  if (!run_.variables.contains(kFaultHandlerVariable)) {
    all[kFaultHandlerVariable] = "1";
  }
  RecorderFolders recorders;
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    plan.workers[i].environment.merge(control_.environment_of(i));
    plan.workers[i].environment.insert(all.begin(), all.end());
    add_recorder_environment(plan.workers[i]);
    if (const std::string& folder = plan.workers[i].own_folder; !folder.empty()) {
      recorders.emplace(plan.workers[i].global_rank.value, folder);
    }
  }
  control_.ask_recorders_in(std::move(recorders));
}

/// Reserves a port for RAS where the user wishes it, at which the job may be asked about NCCL. At NCCL's own port only
/// the first job of a host could be.
void Agent::give_nccl_port(LaunchPlan& plan) {
  const bool is_wished = run_.options.hangs.asks.contains(hang::Question::Nccl) && plan.world_size > 1 &&
                         !plan.is_transparent && !run_.variables.contains(kNcclRasVariable);
  if (is_wished && !nccl_port_) {
    if (auto reserved = WorkerPort::reserve()) {
      nccl_port_ = std::move(*reserved);
    }
  }
  const bool may_be_asked = is_wished && nccl_port_;
  control_.ask_nccl_of(may_be_asked ? NcclQuestion{nccl_port_->number(), plan.world_size} : NcclQuestion());
  if (!may_be_asked) {
    return;
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.environment.emplace(kNcclRasVariable, "127.0.0.1:" + std::to_string(nccl_port_->number()));
  }
}

std::optional<std::string> Agent::name_process(pid_t pid) const {
  const auto rank = attempt_ ? attempt_->rank_of(pid) : std::nullopt;
  return rank ? std::optional("rank " + std::to_string(*rank)) : std::nullopt;
}

/// Some modes start processes that make the ranks, and know their number by the slots alone.
int Agent::rank_count() const {
  return attempt_ ? std::max(attempt_->plan().world_size, attempt_->plan().placement.slots_total) : 0;
}

void Agent::disregard_output(std::chrono::seconds time) {
  if (attempt_) {
    attempt_->disregard_output(time);
  }
}

control::NodeStatus Agent::describe_node() const {
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
  status.workers = attempt_->describe_workers();
  return status;
}

/// A signal that usually ends a job is followed by the platform's SIGKILL after its grace period.
void Agent::request_suspend(int signal) {
  loop_.heartbeats().start_heartbeats();  // the guard has got the signal, too
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
  record({.kind = ledger::Kind::Notice, .text = notice.source + (notice.is_withdrawn ? " (withdrawn)" : "")});
  for (const auto& source : notice_sources_) {
    source->on_delivered();
  }
  attempt_->take_notice(notice.is_withdrawn, run_.options.suspend.worker_signal);
  log_info(notice.is_withdrawn
               ? "the notice (" + notice.source + ") is withdrawn: the job goes on"
               : "the job is to be suspended (" + notice.source + "): the workers have " +
                     format_seconds(std::chrono::duration<double>(notice.within).count()) + " s to save");
}

}  // namespace muster
