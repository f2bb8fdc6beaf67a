// Passes events from the system, the workers and the gang to the parts of the agent, and decides nothing itself: that
// is left to the supervisor, the participant and the leader.
#include "agent/agent.hpp"

#include "agent/attempt_plan.hpp"
#include "agent/worker_starter.hpp"
#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "exchange/startup_values.hpp"
#include "plan/host_tasks.hpp"
#include "preflight/judge.hpp"
#include "preflight/link_judge.hpp"
#include "process/descendants.hpp"
#include "process/reaper.hpp"
#include "run/hang_variables.hpp"

#include <boost/asio/post.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <limits>
#include <utility>

namespace muster {
namespace {

/// True if the nodes are expected to be alike. Roles may have different machines; tasks may share a host.
bool compares_nodes(const gang::GangConfig& config) {
  return config.options.preflight.compares != gang::ComparesNodes::Never &&
         config.job.most_nodes >= static_cast<int>(gang::kFewestCompared) && config.job.roles.size() <= 1 &&
         config.job.endpoints.size() <= 1 && !config.job.are_tasks;
}

/// True where the ranks of each node follow from its place alone: no rank table gives them, now or when it comes.
bool are_ranks_by_place(const JobPlan& job) {
  const bool has_table = std::ranges::any_of(job.inputs, &Input::is_rank_table) ||
                         (job.input && (job.input->ranked || job.input->generated || job.input->job.network ||
                                        job.input->job.route || job.input->job.generates.wanted));
  return job.input && !has_table && !job.plan.awaits_table && job.others.empty();
}

/// Reads the memory of this node's control group, at most four times a second: a leader is asked by each node.
class MemoryReader {
 public:
  explicit MemoryReader(const MemoryGroup& group) : group_(&group) {}

  gang::MemoryUse read() {
    constexpr std::chrono::milliseconds kFresh{250};
    const auto now = std::chrono::steady_clock::now();
    if (!read_at_ || now - *read_at_ >= kFresh) {
      read_at_ = now;
      use_ = {.used_mib = mebibytes(read_used_memory(*group_).value_or(0)),
              .limit_mib = mebibytes(group_->limit),
              .oom_kills = static_cast<int>(read_oom_counter(group_->oom_counter).value_or(0))};
    }
    return use_;
  }

 private:
  static int mebibytes(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(bytes >> 20U, kMost));
  }

  const MemoryGroup* group_;
  std::optional<std::chrono::steady_clock::time_point> read_at_;
  gang::MemoryUse use_;
};

/// The gang's setup with one key for each exchanged value.
gang::GangSetup setup_with_keys(const RunContext& run, boost::asio::io_context& io) {
  const JobPlan& job = run.job;
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
  if (compares_nodes(setup.config)) {
    const bool is_strict = setup.config.options.preflight.compares == gang::ComparesNodes::Strictly;
    setup.config.judge_facts = [is_strict, &io](const auto& told) {
      gang::return_memory(io, told.size());
      return preflight::judge(told, is_strict);
    };
    if (setup.config.options.preflight.measures_links) {
      setup.config.judge_links = preflight::judge_links;
    }
  }
  setup.config.memory_use = [reader = MemoryReader(run.memory_group)]() mutable { return reader.read(); };
  return setup;
}

/// The name under which `Shutdown` lists this attempt as pending work.
std::string name_of(const Attempt& attempt) {
  return "attempt " + std::to_string(attempt.plan().placement.attempt);
}

}  // namespace

Agent::Agent(const RunContext& run, GuardLink link)
    : run_(run),
      loop_(std::move(link), run.options, run.inherited, *this),
      shutdown_(loop_, *this, run.exit_report.stream),
      records_{{loop_, shutdown_.pending_work(), run_},
               {loop_.io(), loop_.helpers(), run.job.gang.config.options.restarts.progress_file},
               {loop_.io(), loop_.helpers(), run_}},
      gang_(loop_.io(), setup_with_keys(run, loop_.io()), *this),
      startup_(loop_.io(), run_, gang_),
      services_(loop_, shutdown_.pending_work(), run_, gang_, attempt_),
      reporter_(loop_, run_, gang_, services_, attempt_),
      preflight_(loop_, shutdown_.pending_work(), run_, gang_),
      control_(loop_, shutdown_.pending_work(), run_, gang_, reporter_),
      suspend_requests_(loop_, shutdown_, run.options, gang_),
      head_start_(loop_, shutdown_.pending_work(), run_) {
  services_.on_ranks_met = [this](std::chrono::nanoseconds time) {
    outcome_.init_seconds = std::chrono::duration<double>(time).count();
    record({.kind = ledger::Kind::RanksMet});
  };
  head_start_.caches().record = [this](ledger::Event event) { record(std::move(event)); };
  head_start_.read_ahead().record = [this](ledger::Event event) { record(std::move(event)); };
  reporter_.standbys = [this] { return head_start_.standbys().ready(); };
  records_.events.ranks = [this] { return reporter_.rank_states(); };
  records_.events.asked = [this] { return reporter_.asked(); };
}

int Agent::run() {
  const auto launcher = connect_launcher();
  for (const std::string& text : run_.job.plan.notices) {
    log_info(text);
  }
  loop_.start();
  records_.progress.start();
  if (!run_.job.plan.is_transparent) {
    control_.start();
    suspend_requests_.start();
  }
  const auto opened = records_.events.open();
  record({.kind = ledger::Kind::Joining});
  if (const auto contributed = opened ? startup_.contribute() : opened; contributed) {
    startup_.start();  // first: the gang hears at once whether this node is ready
    head_start_.start();
    fill_caches();
    gang_.start();
  } else {  // the gang never hears of this node
    on_job_end(make_end(EndKind::SystemRefused, contributed.error().message));
    on_gang_closed();
  }
  shutdown_.run();
  return shutdown_.has_begun() ? outcome_.end.exit_code : exit_code_of(EndKind::SystemRefused);
}

/// Fills the compilers' caches while this node waits for others.
void Agent::fill_caches() {
  if (head_start_.caches().are_wanted()) {
    startup_.wait_for("compile caches");
    head_start_.caches().fill([this] { startup_.wait_for(""); });
  }
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
  if (attempt_) {
    attempt_->act_on_failures();  // before the end: a worker that failed earlier is its reason
  }
  gang_.notify(gang::GuardGone{});
  preflight_.end();
  head_start_.end();
  if (attempt_) {
    attempt_->kill();  // whatever the gang decides: without the guard, no process may outlive this agent
  } else {
    kill_descendants(::getpid());  // what imports of early standbys have started
  }
}

void Agent::on_signal(int signal) {
  if (signal == run_.options.suspend.signal) {
    suspend_requests_.request(signal);
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
  if (attempt_) {
    attempt_->act_on_failures();  // before the stop: a worker that failed earlier is the reason of the end
  }
  gang_.notify(gang::StopSignal{signal});
}

/// Connects to the remote launcher, if that has started this agent.
std::unique_ptr<LauncherLink> Agent::connect_launcher() {
  const auto& seat = run_.options.launcher;
  if (!seat) {
    return nullptr;
  }
  outcome_.is_printed_elsewhere = !seat->is_first;
  auto link = std::make_unique<LauncherLink>(loop_, *seat);
  link->on_signal = std::bind_front(&Agent::on_signal, this);
  link->on_end = [this] {
    outcome_.is_printed_elsewhere = true;  // the launcher's reason
    if (!shutdown_.has_begun()) {
      stop(SIGTERM);
    }
  };
  link->on_gone = [this](const std::string& why) {
    log_error(why + ": ending the job");
    stop(SIGTERM);
  };
  link->start(run_.job.gang.config.version);
  return link;
}

// --- Requests of the gang -----------------------------------------------------------------------

void Agent::act(const gang::StartAttempt& wanted) {
  startup_.cancel();
  outcome_.init_seconds.reset();
  outcome_.notices.clear();
  LaunchPlan plan = plan_of_attempt(run_, startup_, wanted);
  control_.begin_attempt(plan);
  preflight_.begin_attempt(plan);
  reporter_.begin_attempt(plan);
  if (attempt_) {  // destroyed in a later turn of the loop, which still has to call the handlers that are cancelled here
    attempt_->cancel();
    services_.sidecars().forget();
    boost::asio::post(loop_.io(), [old = std::shared_ptr<Attempt>(std::move(attempt_))] {});
  }
  auto services = services_.take(plan);
  const AttemptInput input{loop_.io(),
                           run_,
                           loop_.guard(),
                           services_.sidecars(),
                           loop_.helpers(),
                           loop_.page(),
                           control_.hangs().record(),
                           head_start_.standbys(),
                           head_start_.read_ahead()};
  head_start_.begin_attempt(plan);
  attempt_ = std::make_unique<Attempt>(static_cast<AttemptOwner&>(*this), input, loop_.queues(), std::move(plan),
                                       std::move(services));
  shutdown_.pending_work().add(name_of(*attempt_), [this] { return attempt_->describe_living(); });
  record({.kind = ledger::Kind::AttemptStarted,
          .number = static_cast<std::int64_t>(attempt_->plan().workers.size()),
          .text = gang_.last_to_come()});
  attempt_->start();
  control_.hangs().start(attempt_->plan());
}

void Agent::act(const gang::StopAttempt& stop) {
  shutdown_.watch_end();
  control_.note_stopping();
  ask_who_waits();
  head_start_.end_attempt();
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

void Agent::act(const gang::Hung& hung) {
  if (attempt_) {
    attempt_->end_hung(hung);
  }
}

/// Runs the command of --on-hang with this node's pids only, although the ranks that are named may be elsewhere.
void Agent::act(const gang::StallBegun& stall) {
  record({.kind = ledger::Kind::Stalled, .text = stall.ranks.empty() ? "" : describe_ranks(stall.ranks)});
  if (!attempt_) {
    return;
  }
  auto environment = services_.sidecars().environment();
  environment[kHangRanksVariable] = join(stall.ranks, ",");
  environment[kHangPidsVariable] = join(attempt_->results().living_pids(), ",");
  environment[kHangNodeVariable] = to_string(attempt_->plan().placement.node_rank);
  control_.hangs().hook().run(std::move(environment));
}

void Agent::act(const gang::StatusQuery& wanted) {
  if (!preflight_.answer(wanted, services_.sidecars().environment())) {
    reporter_.describe(wanted);
  }
}

void Agent::act(const gang::SuspendNotice& notice) {
  control_.take_notice(notice, attempt_->plan().placement.attempt);
  record({.kind = ledger::Kind::Notice, .text = notice.source + (notice.is_withdrawn ? " (withdrawn)" : "")});
  suspend_requests_.on_delivered();
  head_start_.read_ahead().stop();
  head_start_.caches().on_notice();
  control_.confirm_notice(attempt_->take_notice(notice.is_withdrawn, run_.options.suspend.worker_signal));
  log_info(notice.is_withdrawn ? "the notice (" + notice.source + ") is withdrawn: the job goes on"
                               : "the job is to be suspended (" + notice.source + "): the workers have " +
                                     format_seconds(std::chrono::duration<double>(notice.within).count()) +
                                     " s to save; " + control_.describe_delivery());
}

// --- Events of the attempt ----------------------------------------------------------------------

void Agent::on_first_failure(const Failure& failure) {
  shutdown_.watch_end();
  record({.kind = ledger::Kind::Failed,
          .rank = failure.service.empty() ? std::optional(failure.global_rank.value) : std::nullopt,
          .text = failure.service.empty() ? failure.start_error : failure.service});
  gang_.notify(failure);
}

void Agent::on_over() {
  shutdown_.pending_work().remove(name_of(*attempt_));
  head_start_.end_attempt();
  shutdown_.cancel_watch();
  record({.kind = ledger::Kind::AttemptOver});
  if (!shutdown_.has_begun()) {
    startup_.start();  // first: the gang starts nothing anew before it is ready
  }
  keep_evidence();
  head_start_.caches().end_attempt(attempt_->has_succeeded());
  records_.progress.check([this](std::optional<bool> made_progress) {
    gang::AttemptOver over = attempt_->results().over();
    over.made_progress = made_progress;
    gang_.notify(std::move(over));
  });
}

/// Keeps what workers may have written about their end: in the log folder, also in another launcher's `--log-dir`.
void Agent::keep_evidence() {
  if (!attempt_ || attempt_->has_succeeded() || attempt_->plan().is_transparent) {
    return;
  }
  const bool has_folder = run_.options.needs_files() || !run_.options.log_dir.empty();
  const std::filesystem::path stacks = has_folder ? run_.log_folder + attempt_->plan().stacks_file : "";
  const AttemptResults& results = attempt_->results();
  records_.evidence.end_attempt(attempt_->plan(), results.of_workers(), results.users(), stacks.parent_path().string());
}

void Agent::record(ledger::Event event) {
  if (attempt_) {
    event.node = attempt_->plan().placement.node_rank.value;
    event.attempt = attempt_->plan().placement.attempt;
  }
  records_.events.add(std::move(event));
}

/// Asks the store for which keys ranks wait, and keeps the first answer. The exit report waits for it.
void Agent::ask_who_waits() {
  (void)services_.ask_store([this](const std::string& keys) {
    if (!keys.empty() && outcome_.notices.empty() && !shutdown_.is_concluded()) {
      outcome_.notices.push_back(keys);
    }
  });
}

}  // namespace muster
