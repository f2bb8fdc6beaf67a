// Passes events from the system, the workers and the gang to their handlers, and decides nothing itself: that is left
// to the supervisor, the participant and the leader.
#include "agent/agent.hpp"

#include "base/log.hpp"
#include "base/ranks.hpp"
#include "environment/local_host.hpp"
#include "environment/snapshot.hpp"
#include "process/guarantees.hpp"
#include "remote/control_lines.hpp"
#include "services/torch_store/torch_store_service.hpp"

#include <boost/asio/post.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <csignal>
#include <random>
#include <utility>

namespace muster {
namespace {

/// A job end that takes longer is logged with --verbose.
constexpr std::chrono::milliseconds kQuickEnd{300};
constexpr std::chrono::seconds kExitLogInterval{5};
/// Services' files that take longer to write are logged: the workers wait for them.
constexpr std::chrono::seconds kLateFiles{1};

/// Eight characters for the log directory's name, as Python's tempfile chooses them.
std::string make_log_token() {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> one(0, kCharacters.size() - 1);
  std::string token(8, '\0');
  std::generate(token.begin(), token.end(), [&] { return kCharacters[one(random)]; });
  return token;
}

}  // namespace

Agent::Agent(const RunContext& run, GuardLink link)
    : run_(run),
      link_(std::move(link)),
      helpers_(link_.page),
      queues_(io_, helpers_, run.options.console_stall),
      progress_(io_, helpers_, run.job.gang.policy.options.restarts.progress_file),
      store_(io_, helpers_),
      sidecars_(io_, run.inherited, run.variables, run.marker),
      control_(io_, helpers_, run.run_folder, job_state()),
      ports_(muster::reserve_ports(run.job.ports_to_reserve)),
      gang_(io_, setup_with_keys(), *this),
      inputs_(io_, run.job.inputs, run.job.gang.policy.options.inputs_timeout),
      table_(run.job.input),
      route_(io_, run.job.input),
      service_files_(io_, helpers_),
      signals_(io_),
      lifeline_(io_),
      run_id_(boost::uuids::to_string(boost::uuids::random_generator()())),
      log_token_(make_log_token()),
      heartbeat_sender_(io_, link_),
      report_(io_, helpers_),
      slow_files_timer_(io_, kLateFiles, [this] { log_slow_files(); }),
      exit_log_timer_(io_, kQuickEnd, [this] { log_pending_work(); }),
      poll_timer_(io_, kExitLogInterval, [this] { log_pending_work(); }),
      log_flush_timer_(io_, kMoment, [this] { give_up_logs(); }) {}

// --- Requests of the gang ------------------------------------------------------------------------

void Agent::act(const gang::StopAttempt& stop) {
  exit_log_timer_.ask();
  control_.note_stopping(true);
  store_.request_waiting_ranks();
  attempt_->stop(stop.signal, stop.reason, stop.most_grace);
  if (attempt_->has_logged_order()) {
    reported_attempts_.insert(attempt_->plan().placement.attempt);
  }
}

void Agent::act(const gang::PassSignal& wanted) {
  store_.request_waiting_ranks();
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
  const sigset_t signals = handled_signals(run_.options.stop_signals.all());
  signals_.assign(open_signalfd(signals));
  lifeline_.assign(link_.lifeline.release());
  wait_for(lifeline_, &Agent::on_guard_lost);
  wait_for(signals_, &Agent::on_signals);
  heartbeat_sender_.listen();
  pending_work_.add(kEndOfJob);
  store_.on_awaited = std::bind_front(&Agent::note_awaited_keys, this);
  progress_.start();
  start_control();
  if (const auto contributed = contribute(); contributed) {
    wait_for_inputs();  // first: the gang hears at once whether this node is ready
    gang_.start();
  } else {  // the gang never hears of this node
    on_job_end(make_end(EndKind::SystemRefused, contributed.error().message));
    on_gang_closed();
  }
  // The signal and guard descriptors are polled until then, but are not pending work.
  while (!pending_work_.is_empty() && io_.run_one() > 0) {
  }
  return end_ ? end_->exit_code : exit_code_of(EndKind::SystemRefused);
}

// --- Handlers of the event loop -----------------------------------------------------------------

void Agent::wait_for(Descriptor& descriptor, void (Agent::*handler)(const ErrorCode&)) {
  descriptor.async_wait(Descriptor::wait_read, std::bind_front(handler, this));
}

void Agent::on_signals(const ErrorCode& error) {
  if (error) {
    return;
  }
  if (attempt_) {
    attempt_->poll_deaths();  // a worker that ended before the signal arrived ended by itself
  }
  for (const int signal : read_signals(signals_.native_handle())) {
    take_signal(signal);
  }
  wait_for(signals_, &Agent::on_signals);
}

void Agent::on_guard_lost(const ErrorCode& error) {
  if (error) {
    return;
  }
  heartbeat_sender_.continue_alone();
  if (end_) {
    exit_now();
    return;
  }
  log_error("the guard (pid " + std::to_string(link_.guard) + ") was killed: killing every process of the job");
  act_on_failures();
  gang_.notify(gang::GuardGone{});
  if (attempt_) {
    attempt_->kill();  // whatever the gang decides: without the guard, no process may outlive this agent
  }
}

void Agent::take_signal(int signal) {
  if (signal == run_.options.suspend.signal) {
    request_suspend(signal);
  } else if (run_.options.stop_signals.contains(signal)) {
    request_stop(signal);
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

void Agent::request_stop(int signal) {
  if (signal == stop_sent_by_guard_) {
    stop_sent_by_guard_ = 0;
  } else if (!run_.inherited.ignored_signals.contains(signal) && stop_debounce_.is_new()) {
    heartbeat_sender_.start_heartbeats();
    stop(signal);
  }
}

void Agent::stop(int signal) {
  if (end_) {
    exit_now();
    return;
  }
  exit_log_timer_.ask();
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
  launcher_link_ = std::make_unique<LauncherLink>(io_, seat->fd);
  launcher_link_->on_signal = [this](int signal) { take_signal(signal); };
  launcher_link_->on_end = [this] {
    launcher_reports_reason_ = true;
    if (!end_) {
      stop(SIGTERM);
    }
  };
  launcher_link_->on_gone = [this](const std::string& why) {
    log_error(why + ": ending the job");
    stop(SIGTERM);
  };
  launcher_link_->start();
  // Both streams begin with the hello line, by which the launcher recognizes this agent's output.
  for (OutputQueue* const console : {&queues_.out(), &queues_.error()}) {
    (void)console->write(write_control(seat->nonce, kHello, run_.job.gang.policy.version));
  }
  queues_.watch_launcher_terminals(seat->terminals);
  set_log_host(seat->host);
}

/// Watches the input files while the gang meets; the gang starts nothing before all nodes are ready.
void Agent::wait_for_inputs() {
  inputs_.on_change = [this](const std::string& waits_for) {
    if (!attempt_) {  // before a restart the leader logs what it waits for
      log_info(waits_for.empty() ? "all inputs are here" : "waiting for the " + waits_for);
    }
    gang_.notify(gang::InputsChanged{waits_for.empty() ? "" : "its " + waits_for});
  };
  inputs_.on_table = [this](rank_table::TableFile file) { return take_table(std::move(file)); };
  inputs_.on_failure = [this](EndKind kind, const std::string& why) { gang_.notify(gang::InputsFailed{kind, why}); };
  inputs_.then_check = [this] { return find_route(); };
  route_.on_late = [this] { inputs_.check(); };
  if (route_.is_wanted()) {
    inputs_.watch_as_well(route_.file());
  }
  inputs_.start();
}

/// Takes a new or changed rank table of this node and contributes its summary: the leader starts nothing before all
/// nodes are ready.
Result<> Agent::take_table(rank_table::TableFile file) {
  route_.forget();
  auto taken = table_.take(std::move(file), /*is_restart=*/attempt_ != nullptr);
  return taken ? contribute_table() : taken;
}

/// Returns what the route plan still waits for; empty: this node's vote has been sent to the others.
std::string Agent::find_route() {
  std::string missing = route_.check(table_);
  if (auto vote = route_.take_vote()) {
    gang_.contribute(contribution_of<RouteValue>(*vote)).value();  // its size has a limit
  }
  return missing;
}

// --- Callbacks of the gang ----------------------------------------------------------------------

/// Makes the plan of an attempt from exchanged values and from facts that only the system knows.
LaunchPlan Agent::plan_of_attempt(const gang::Start& start, const gang::Exchanged& merged) {
  Placement placement = start.placement;
  placement.ports = find_agreed<PortsValue>(merged).value_or(std::vector<NodePorts>());
  const std::vector<int> planned = route_.decided_ranks(merged, table_);
  const AgreedMethod method = find_agreed<MpiStartValue>(merged).value_or(AgreedMethod());
  LaunchPlan plan = run_.job.of_attempt(placement, table_.part(placement, merged, planned), method.index);
  const LocalEnd own = placement.nodes == 1 ? LocalEnd() : local_end_towards(placement.master_address);
  fill_deferred(plan, {{"run_dir", run_.run_folder},
                       {"shm_dir", run_.shared_folder},
                       {"muster", program_path()},
                       {"job_secret", find_agreed<JobSecretValue>(merged).value_or("")},
                       {"run_id", run_id_},
                       {"log_token", log_token_},
                       {"own_address", own.address},
                       {"own_interface", own.interface}});
  if (placement.attempt > 0) {
    control_.forget_heartbeats(plan.workers.size());
  }
  add_job_environment(plan, start);
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
  inputs_.cancel();
  route_.cancel();
  init_time_.reset();
  control_.note_stopping(false);
  awaited_keys_.clear();
  LaunchPlan plan = plan_of_attempt(start, merged);
  const AttemptInput input{run_, link_.guard, sidecars_, helpers_, link_.page, oom_counter_};
  retire_attempt();
  auto services = services_ ? std::move(services_) : make_services(plan.services);
  services->adjust(plan.services);
  attempt_ = std::make_unique<Attempt>(io_, queues_, input, std::move(plan), std::move(services));
  attempt_->on_failure = [this](const Failure& failure) {
    exit_log_timer_.ask();
    gang_.notify(failure);
  };
  attempt_->on_success = [this](const auto& one) { gang_.notify(one); };
  attempt_->on_asked = std::bind_front(&Agent::on_workers_asked, this);
  attempt_->on_gone = [this] { gang_.notify(gang::WorkersGone{}); };
  attempt_->on_over = [this] { on_attempt_over(); };
  pending_work_.add(attempt_name(), [this] { return attempt_->describe_living(); });
  attempt_->start();
}

std::string Agent::attempt_name() const {
  return "attempt " + std::to_string(attempt_->plan().placement.attempt);
}

void Agent::on_attempt_over() {
  pending_work_.remove(attempt_name());
  exit_log_timer_.cancel();
  poll_timer_.cancel();
  if (!end_) {
    route_.forget();  // the platform may have planned anew for the same table
    inputs_.start();  // first: the gang starts nothing anew before it is ready
  }
  progress_.check([this](std::optional<bool> made_progress) { report_attempt_over(made_progress); });
}

void Agent::report_attempt_over(std::optional<bool> made_progress) {
  NodeFailures failures = attempt_->failures();
  gang_.notify(
      gang::AttemptOver{std::move(failures.first), made_progress, attempt_->gave_up(), std::move(failures.others)});
}

/// Logs ranks and address at the start, which are known only once the nodes have met.
void Agent::log_start(const LaunchPlan& plan, const std::string& interface) const {
  const Placement& placement = plan.placement;
  if (run_.job.gang.policy.job.most_nodes == 1 && placement.attempt == 0) {
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
    boost::asio::post(io_, [old = std::shared_ptr<Attempt>(std::move(attempt_))] {});
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

/// Keeps the first answer. The exit report waits for it.
void Agent::note_awaited_keys(const store::AwaitedKeys& awaited) {
  if (awaited_keys_.empty()) {
    const auto nodes = gang_.nodes();
    awaited_keys_ = describe_awaited(awaited, nodes.empty() ? std::string() : nodes.front().address, *this);
  }
  if (end_) {
    finalize();
  }
}

void Agent::log_slow_files() const {
  log_info("waiting for " + pending_file_ + " to be written");
}

void Agent::add_file_work(HelperTask::Task task) {
  pending_work_.add(kFilesOfServices);
  task.then = [this, then = std::move(task.then)](const HelperTask::Answer& answer) {
    then(answer);
    if (service_files_.is_idle()) {
      pending_work_.remove(kFilesOfServices);
    }
  };
  service_files_.add(std::move(task));
}

void Agent::write_files(std::string what, HelperTask::Work work, HelperTask::Then then) {
  pending_file_ = std::move(what);
  slow_files_timer_.ask();
  const auto end = [this, then = std::move(then)](const HelperTask::Answer& answer) {
    slow_files_timer_.cancel();
    then(answer);
  };
  add_file_work({std::move(work), run_.options.console_stall, end, {}, true});
}

void Agent::remove_files(HelperTask::Work work) {
  static constexpr std::chrono::milliseconds kRemoveTimeout{1'000};
  slow_files_timer_.cancel();
  service_files_.drop();
  add_file_work({std::move(work), kRemoveTimeout, [](const auto& /*answer*/) {}});
}

}  // namespace muster
