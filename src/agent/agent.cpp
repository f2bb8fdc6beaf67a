// Passes events from the system, the workers and the gang to their handlers, and decides nothing itself: that is left
// to the supervisor, the participant and the leader.
#include "agent/agent.hpp"

#include "agent/rank_folders.hpp"
#include "agent/worker_starter.hpp"
#include "base/control_lines.hpp"
#include "base/log.hpp"
#include "base/ranks.hpp"
#include "environment/cgroups.hpp"
#include "environment/local_host.hpp"
#include "environment/snapshot.hpp"
#include "plan/host_tasks.hpp"
#include "run/hang_variables.hpp"
#include "services/torch_store/torch_store_service.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

namespace muster {
namespace {

/// True where the ranks of each node follow from its place alone: no rank table gives them, now or when it comes.
bool are_ranks_by_place(const JobPlan& job) {
  const bool has_table = std::ranges::any_of(job.inputs, &Input::is_rank_table) ||
                         (job.input && (job.input->ranked || job.input->generated || job.input->job.network ||
                                        job.input->job.route || job.input->job.generates.wanted));
  return job.input && !has_table && !job.plan.awaits_table && job.others.empty();
}

/// The gang's setup with one key for each exchanged value.
gang::GangSetup setup_with_keys(const JobPlan& job) {
  gang::GangSetup setup = job.gang;
  const LinkCapacity room = room_for_links(job);
  setup.config.most_links = room.nodes;
  setup.most_strangers = room.strangers;
  setup.config.keys = exchange_keys();
  if (are_ranks_by_place(job)) {
    setup.config.ranks_at = [&input = *job.input](const Placement& placement) {
      return ranks_at(input.mode.mode, input.cluster, placement);
    };
  }
  return setup;
}

}  // namespace

Agent::Agent(const RunContext& run, GuardLink link)
    : run_(run),
      loop_(std::move(link), run.options, run.inherited, *this),
      shutdown_(loop_, *this, run.exit_report.stream),
      record_(loop_, shutdown_.pending_work(), run_),
      progress_(loop_.io(), loop_.helpers(), run.job.gang.config.options.restarts.progress_file),
      evidence_(loop_.io(), loop_.helpers(), run_),
      store_(loop_.io(), loop_.helpers()),
      sidecars_(loop_.io(), run.inherited, run.variables, run.marker),
      hang_record_(loop_.queues().logs()),
      hang_hook_(loop_, shutdown_.pending_work(), run_),
      control_(*this, loop_.io(), loop_.helpers(), run.run_folder, job_state()),
      gang_(loop_.io(), setup_with_keys(run.job), *this),
      startup_(loop_.io(), run_, gang_),
      service_files_(loop_.io(), loop_.helpers(), shutdown_.pending_work(), run.options.console_stall),
      facts_{find_oom_counter()} {}

// --- Starting and stopping attempts, as the gang requests ----------------------------------------

void Agent::act(const gang::StopAttempt& stop) {
  shutdown_.watch_end();
  control_.note_stopping(true);
  ask_who_waits();
  attempt_->stop(stop.signal, stop.reason, stop.most_grace);
  if (attempt_->has_logged_order()) {
    outcome_.reported_attempts.insert(attempt_->plan().placement.attempt);
  }
}

void Agent::act(const gang::PassSignal& wanted) {
  ask_who_waits();
  attempt_->request_stop(wanted.signal);
}

void Agent::act(const gang::Value& exchanged) {
  if (attempt_) {
    attempt_->on_merged(exchanged);
  }
}

int Agent::run() {
  connect_launcher();
  for (const std::string& text : run_.job.plan.notices) {
    log_info(text);
  }
  loop_.start();
  progress_.start();
  start_control();
  record_.ranks = [this] { return rank_states(); };
  record_.asked = [this] { return control_.asked(); };
  const auto opened = record_.open();
  record({.kind = ledger::Kind::Joining});
  if (const auto contributed = opened ? startup_.contribute() : opened; contributed) {
    startup_.start();  // first: the gang hears at once whether this node is ready
    gang_.start();
  } else {  // the gang never hears of this node
    on_job_end(make_end(EndKind::SystemRefused, contributed.error().message));
    on_gang_closed();
  }
  shutdown_.run();
  return shutdown_.has_begun() ? outcome_.end.exit_code : exit_code_of(EndKind::SystemRefused);
}

// --- Events of the loop -------------------------------------------------------------------------

void Agent::before_signals() {
  if (attempt_) {
    attempt_->poll_deaths();  // a worker that ended before the signal arrived ended by itself
  }
}

void Agent::on_guard_lost() {
  if (shutdown_.has_begun()) {
    shutdown_.exit_now();
    return;
  }
  log_error("the guard (pid " + std::to_string(loop_.guard()) + ") was killed: killing every process of the job");
  act_on_failures();
  gang_.notify(gang::GuardGone{});
  if (attempt_) {
    attempt_->kill();  // whatever the gang decides: without the guard, no process may outlive this agent
  }
}

void Agent::on_signal(int signal) {
  if (signal == run_.options.suspend.signal) {
    request_suspend(signal);
  } else if (run_.options.stop_signals.contains(signal)) {
    if (loop_.is_new_stop(signal)) {
      stop(signal);
    }
  } else if (signal != SIGCHLD) {
    if (attempt_) {
      attempt_->pass_on(signal);
    }
  } else if (attempt_) {
    attempt_->poll_stops();
  } else {
    (void)Reaper().collect();  // orphans re-parented to us as a container's init
  }
}

void Agent::stop(int signal) {
  if (shutdown_.has_begun()) {
    if (loop_.ends_drain(signal)) {
      shutdown_.exit_now();
    }
    return;
  }
  shutdown_.watch_end();
  act_on_failures();
  gang_.notify(gang::StopSignal{signal});
}

/// Takes note of failures before the stop: a worker that failed earlier is the reason of the end.
void Agent::act_on_failures() {
  if (attempt_) {
    attempt_->act_on_failures();
  }
}

/// Connects to the remote launcher, if that has started this agent.
void Agent::connect_launcher() {
  const auto& seat = run_.options.launcher;
  if (!seat) {
    return;
  }
  LauncherLinkOwner& owner = *this;
  launcher_link_ = std::make_unique<LauncherLink>(owner, loop_.io(), seat->fd);
  outcome_.is_printed_elsewhere = !seat->is_first;
  launcher_link_->start();
  // Both streams begin with the hello line, by which the launcher recognizes this agent's output.
  for (OutputQueue* const console : {&loop_.queues().out(), &loop_.queues().error()}) {
    (void)console->write(write_control(seat->nonce, kHello, run_.job.gang.config.version));
  }
  loop_.queues().watch_launcher_terminals(seat->terminals);
  set_log_host(seat->host);
}

void Agent::on_launcher_end() {
  outcome_.is_printed_elsewhere = true;  // the launcher's reason
  if (!shutdown_.has_begun()) {
    stop(SIGTERM);
  }
}

void Agent::on_launcher_gone(const std::string& why) {
  log_error(why + ": ending the job");
  stop(SIGTERM);
}

// --- The plan of an attempt, and its events ------------------------------------------------------

/// Makes the plan of an attempt from exchanged values and from facts that only the system knows.
LaunchPlan Agent::plan_of_attempt(const gang::Start& start, const gang::Exchanged& merged) {
  Placement placement = start.placement;
  placement.ports = find_agreed<PortsValue>(merged).value_or(std::vector<NodePorts>());
  const AgreedMethod method = find_agreed<MpiStartValue>(merged).value_or(AgreedMethod());
  LaunchPlan plan = run_.job.plan;
  if (run_.job.input) {
    PlanInput input = *run_.job.input;
    input.ranked = startup_.table_of(placement, merged);
    if (method.index > 0) {  // one of the fallbacks
      input.mode = run_.job.others.at(method.index - 1).mode;
    }
    plan = make_plan(input, placement);
  }
  const LocalEnd own = placement.nodes == 1 ? LocalEnd() : local_end_towards(placement.master_address);
  fill_deferred(plan, {{"run_dir", run_.run_folder},
                       {"shm_dir", run_.shared_folder},
                       {"muster", program_path()},
                       {"job_secret", find_agreed<JobSecretValue>(merged).value_or("")},
                       {"run_id", run_.run_id},
                       {"log_token", run_.log_token},
                       {"own_address", own.address},
                       {"own_interface", own.interface}});
  give_rank_folders(plan, run_.run_folder, run_.rank_place);
  if (placement.attempt > 0) {
    control_.forget_heartbeats(plan.workers.size());
  }
  add_job_environment(plan, start);
  give_nccl_port(plan);
  log_start_method(method, placement);
  log_start(plan, own.interface);
  return plan;
}

/// Logs the method, on the first node before the first attempt, if there was a vote.
void Agent::log_start_method(const AgreedMethod& method, const Placement& placement) const {
  const JobPlan& job = run_.job;
  if (job.others.empty() || placement.node_rank.value != 0 || placement.attempt != 0) {
    return;
  }
  const ChosenMode& mode = method.index == 0 ? job.input->mode : job.others.at(method.index - 1).mode;
  std::vector<std::string> reasons;
  if (const std::string& only_mpirun = mode.mpirun.only_mpirun.value; !only_mpirun.empty()) {
    reasons.push_back(only_mpirun + " is for mpirun alone");
  }
  reasons.insert(reasons.end(), method.why_not.begin(), method.why_not.end());
  log_info("ranks of MPI start by way of " + std::string(name_of(mode.method.value())) +
           (reasons.empty() ? "" : ", since " + join(reasons, ", and ")));
}

void Agent::act(const gang::StartAttempt& wanted) {
  const auto& [start, merged] = wanted;
  startup_.cancel();
  outcome_.init_seconds.reset();
  outcome_.notices.clear();
  control_.note_stopping(false);
  LaunchPlan plan = plan_of_attempt(start, merged);
  const AttemptInput input{loop_.io(),      run_,         loop_.guard(), sidecars_,
                           loop_.helpers(), loop_.page(), hang_record_,  facts_.oom_counter};
  hang_record_.begin(log_file(plan.stacks_file));
  hang_hook_.begin(log_file(plan.on_hang_file));
  retire_attempt();
  auto services = services_ ? std::move(services_) : make_services(plan.services);
  services->adjust(plan.services);
  attempt_ = std::make_unique<Attempt>(static_cast<AttemptOwner&>(*this), input, loop_.queues(), std::move(plan),
                                       std::move(services));
  shutdown_.pending_work().add(attempt_name(), [this] { return attempt_->describe_living(); });
  record({.kind = ledger::Kind::AttemptStarted,
          .number = static_cast<std::int64_t>(attempt_->plan().workers.size()),
          .text = gang_.last_to_come()});
  attempt_->start();
  watch_for_hangs();
}

/// One node of the job does. A report is for several ranks, which may wait for each other.
void Agent::watch_for_hangs() {
  const LaunchPlan& plan = attempt_->plan();
  const HangOptions& hangs = run_.options.hangs;
  using Seconds = std::chrono::duration<double>;
  const hang::StallDetector::Limits limits{plan.world_size > 1 ? Seconds(hangs.report).count() : 0,
                                           Seconds(hangs.timeout).count(), Seconds(hangs.first_meeting).count()};
  if (plan.placement.node_rank.value == 0 && !plan.is_transparent && limits.are_any()) {
    control_.watch_for_hangs(hang::StallDetector(limits, plan.world_size));
  }
}

void Agent::act(const gang::Hung& hung) {
  if (attempt_) {
    attempt_->end_hung(hung);
  }
}

/// The command of --on-hang hears of this node's workers alone; those that are named may be on others.
void Agent::act(const gang::StallBegun& stall) {
  record({.kind = ledger::Kind::Stalled, .text = stall.ranks.empty() ? "" : describe_ranks(stall.ranks)});
  if (!attempt_) {
    return;
  }
  auto environment = sidecars_.environment();
  environment[kHangRanksVariable] = join(stall.ranks, ",");
  environment[kHangPidsVariable] = join(attempt_->living_pids(), ",");
  environment[kHangNodeVariable] = to_string(attempt_->plan().placement.node_rank);
  hang_hook_.run(std::move(environment));
}

std::string Agent::log_file(const std::string& name) const {
  return run_.options.needs_files() ? run_.log_folder + name : std::string();
}

std::string Agent::attempt_name() const {
  return "attempt " + std::to_string(attempt_->plan().placement.attempt);
}

void Agent::on_first_failure(const Failure& failure) {
  shutdown_.watch_end();
  record({.kind = ledger::Kind::Failed,
          .rank = failure.service.empty() ? std::optional(failure.global_rank.value) : std::nullopt,
          .text = failure.service.empty() ? failure.start_error : failure.service});
  gang_.notify(failure);
}

void Agent::on_over() {
  shutdown_.pending_work().remove(attempt_name());
  shutdown_.cancel_watch();
  record({.kind = ledger::Kind::AttemptOver});
  if (!shutdown_.has_begun()) {
    startup_.start();  // first: the gang starts nothing anew before it is ready
  }
  keep_evidence();
  progress_.check([this](std::optional<bool> made_progress) { report_attempt_over(made_progress); });
}

/// Notes what the workers may have written about their end. Files of another launcher's `--log-dir` are there alone.
void Agent::keep_evidence() {
  if (!attempt_ || attempt_->has_succeeded() || attempt_->plan().is_transparent) {
    return;
  }
  const bool has_folder = run_.options.needs_files() || !run_.options.log_dir.empty();
  const std::filesystem::path stacks = has_folder ? run_.log_folder + attempt_->plan().stacks_file : "";
  evidence_.end_attempt(attempt_->plan(), attempt_->results(), attempt_->users(), stacks.parent_path().string());
}

void Agent::record(ledger::Event event) {
  if (attempt_) {
    event.node = attempt_->plan().placement.node_rank.value;
    event.attempt = attempt_->plan().placement.attempt;
  }
  record_.add(std::move(event));
}

void Agent::report_attempt_over(std::optional<bool> made_progress) {
  gang::AttemptOver over = attempt_->over();
  over.made_progress = made_progress;
  gang_.notify(std::move(over));
}

/// Logs ranks and address at the start, which are known only once the nodes have met.
void Agent::log_start(const LaunchPlan& plan, const std::string& interface) const {
  const Placement& placement = plan.placement;
  if (run_.job.gang.config.job.most_nodes == 1 && placement.attempt == 0) {
    if (run_.job.plan.awaits_table) {
      log_info(plan.notices.front());
    }
    return;  // otherwise the first log line of the job has said everything
  }
  const auto here = ProcessNames::of(plan.workers);
  const bool has_ranks = here.has_ranks() || here.size() == 0;
  const std::string port = placement.worker_port ? ":" + std::to_string(*placement.worker_port) : "";
  log_info("attempt " + std::to_string(placement.attempt) + ": node " + to_string(placement.node_rank) + " of " +
           std::to_string(placement.nodes) + ", " + here.describe() +
           (has_ranks ? " of " + std::to_string(plan.world_size) : "") + " here, the workers meet at " +
           placement.master_address + port + (interface.empty() ? "" : ", from here by " + interface));
}

/// Destroys the attempt in a later turn of the loop, which still has to call the handlers that are cancelled here.
void Agent::retire_attempt() {
  if (attempt_) {
    attempt_->cancel();
    sidecars_.forget();
    boost::asio::post(loop_.io(), [old = std::shared_ptr<Attempt>(std::move(attempt_))] {});
  }
}

// Services of an attempt, and the file access that they get from the agent.

/// On the leader the services of the next attempt begin here; on other nodes, at the start of the attempt.
Result<AttemptPorts> Agent::reserve_ports() {
  store_.end();  // the old store still listens on the port that the next one needs
  services_ = make_services(run_.job.plan.services);
  return services_->prepare();
}

std::unique_ptr<Services> Agent::make_services(const std::vector<std::string>& names) {
  return std::make_unique<Services>(
      names, ServiceInput{run_.job.plan.cluster.worker_port, run_.run_folder, run_.options.host_name,
                          run_.job.gang.key != nullptr, sidecars_.environment(), &store_, this});
}

bool Agent::ask_store(std::function<void(const std::string& keys)> then) {
  return store_.request_waiting_ranks([this, then = std::move(then)](const store::AwaitedKeys& awaited) {
    const auto nodes = gang_.nodes();
    then(describe_awaited(awaited, nodes.empty() ? std::string() : nodes.front().address, *this));
  });
}

/// Keeps the first answer. The exit report waits for it.
void Agent::ask_who_waits() {
  (void)ask_store([this](const std::string& keys) {
    if (!keys.empty() && outcome_.notices.empty() && !shutdown_.is_concluded()) {
      outcome_.notices.push_back(keys);
    }
  });
}

}  // namespace muster
