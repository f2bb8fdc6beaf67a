// Decides what to do about this node's workers. Pure: docs/architecture.md has the picture.
#include "supervise/supervisor.hpp"

#include "base/signals.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster {

// The margin keeps our SIGKILL before the platform's.

std::chrono::milliseconds time_to_save(std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  const milliseconds margin = std::clamp(limit / 10, milliseconds(500), milliseconds(3'000));
  return std::max(limit - margin - kLastGrace, milliseconds(0));
}

bool erred_when_asked(WorkerOutcome outcome, const std::optional<ExitStatus>& status) {
  constexpr int kLeastCodeOfSignal = 128;  // a handler may exit as a shell would
  const int code = status ? status->shell_code() : 0;
  return outcome == WorkerOutcome::Stopped && code > 0 && code <= kLeastCodeOfSignal;
}

namespace {

WorkerOutcome outcome_of(const WorkerEnded& ended) {
  return ended.failed_with_exit_0 || !ended.status.ok() ? WorkerOutcome::Failed : WorkerOutcome::Succeeded;
}

}  // namespace

Supervisor::Supervisor(std::vector<bool> decides_success)
    : decides_success_(std::move(decides_success)),
      outcomes_(decides_success_.size(), WorkerOutcome::NeverStarted),
      statuses_(decides_success_.size()) {}

std::vector<Action> Supervisor::start() {
  std::fill(outcomes_.begin(), outcomes_.end(), WorkerOutcome::Running);
  alive_ = outcomes_.size();
  std::vector<Action> actions = {StartWorkers{}};
  if (all_deciding_succeeded()) {
    actions.emplace_back(ReportSuccess{std::nullopt, /*is_last=*/true});
  }
  if (alive_ == 0) {  // no role has a worker here, such as one that exists once per job
    const std::vector<Action> sweep = after_an_end();
    actions.insert(actions.end(), sweep.begin(), sweep.end());
  }
  return actions;
}

std::vector<Action> Supervisor::on(const Event& event) {
  if (state_ == State::Finished) {
    return {};
  }
  return std::visit([this](const auto& happened) { return handle(happened); }, event);
}

std::vector<Action> Supervisor::handle(const WorkerEnded& ended) {
  --alive_;
  statuses_[ended.worker] = ended.status;
  const bool is_stopping = state_ == State::Stopping || state_ == State::Killing;
  const bool may_answer = is_stopping || (notice_has_signal_ && !ended.status.ok());
  const WorkerOutcome outcome = may_answer ? outcome_in_stop(ended) : outcome_of(ended);
  outcomes_[ended.worker] = outcome;
  if (outcome == WorkerOutcome::Failed) {
    failed_.push_back(ended);
    failed_.back().exited_before_stop = !is_stopping || ended.exited_before_stop;
  }
  if (is_stopping) {
    return after_an_end();
  }
  if (outcome == WorkerOutcome::Failed && has_notice_) {
    note_failure(ended.worker, std::max(ended.status.shell_code(), 1));
    return after_an_end();  // others may be saving: whether this is a failure is decided when all have ended
  }
  if (outcome == WorkerOutcome::Failed) {
    return fail(ended.worker, std::max(ended.status.shell_code(), 1));
  }
  std::vector<Action> actions = after_an_end();
  if (decides_success_[ended.worker] && outcome == WorkerOutcome::Succeeded) {
    actions.insert(actions.begin(), ReportSuccess{ended.worker, all_deciding_succeeded()});
  }
  return actions;
}

/// The outcome of a worker that ends during a stop: stopped, if by our signal or by an exit code of its handler.
WorkerOutcome Supervisor::outcome_in_stop(const WorkerEnded& ended) const {
  const auto signal = ended.status.signal();
  const bool is_by_other_signal = signal && !sent_signals_.contains(*signal);
  const bool is_answer = !ended.exited_before_stop && !is_by_other_signal;
  return is_answer ? WorkerOutcome::Stopped : outcome_of(ended);
}

std::vector<Action> Supervisor::handle(const WorkerNotStarted& failed) {
  // No later worker of the plan has been started, nor will be.
  for (std::size_t i = failed.worker; i < outcomes_.size(); ++i) {
    alive_ -= outcomes_[i] == WorkerOutcome::Running ? 1 : 0;
    outcomes_[i] = WorkerOutcome::NeverStarted;
  }
  if (state_ != State::Running) {
    return after_an_end();
  }
  return fail(failed.worker, failed.exit_code);
}

/// Ignores the failure of a service if all workers have ended or are ending, because they do not need it any more.
std::vector<Action> Supervisor::handle(const ServiceFailed& failed) {
  return state_ == State::Running ? fail(std::nullopt, failed.exit_code) : std::vector<Action>{};
}

std::vector<Action> Supervisor::handle(const WorkerHung& hung) {
  return state_ == State::Running ? fail(hung.worker, hung.exit_code) : std::vector<Action>{};
}

std::vector<Action> Supervisor::handle(const StopRequested& request) {
  const bool is_repeated = std::exchange(has_stop_request_, true);
  sent_signals_.insert(request.signal);  // a terminal sends it to workers too
  if (state_ == State::Killing) {
    return {};
  }
  if (is_repeated) {
    return is_from_keyboard(request.signal) ? kill() : std::vector<Action>{TellGrace{request.signal}};
  }
  if (!has_failed_ && !all_deciding_succeeded()) {
    stop_signal_ = request.signal;
  }
  if (state_ == State::Stopping) {
    return {TellGrace{request.signal, /*is_repeated=*/false}};
  }
  // Orphans have got SIGTERM already; their grace goes on.
  return state_ == State::Running ? send_stop_signal(request.signal) : std::vector<Action>{};
}

std::vector<Action> Supervisor::handle(const NoticeGiven& notice) {
  if (state_ == State::Running) {
    has_notice_ = true;
    if (notice.signal) {
      notice_has_signal_ = true;
      sent_signals_.insert(*notice.signal);
    }
  }
  return {};
}

std::vector<Action> Supervisor::handle(const NoticeWithdrawn& /*withdrawn*/) {
  has_notice_ = false;
  notice_has_signal_ = false;
  for (std::size_t i = 0; i < outcomes_.size() && state_ == State::Running; ++i) {
    if (outcomes_[i] == WorkerOutcome::Stopped) {  // it ended because of the notice, and the job is to go on without it
      outcomes_[i] = WorkerOutcome::Failed;
      failed_.push_back({i, *statuses_[i], /*exited_before_stop=*/true});
      note_failure(i, std::max(statuses_[i]->shell_code(), 1));
    }
  }
  return state_ == State::Running && has_failed_ ? fail(first_failure_, exit_code_) : std::vector<Action>{};
}

std::vector<Action> Supervisor::handle(const StopOrdered& order) {
  return state_ == State::Running ? send_stop_signal(order.signal) : std::vector<Action>{};
}

std::vector<Action> Supervisor::handle(const GraceEnded& /*ended*/) {
  const bool is_awaited = grace_runs_ && state_ != State::Killing;
  return is_awaited ? kill() : std::vector<Action>{};
}

std::vector<Action> Supervisor::handle(const GuardLost& /*lost*/) {
  if (!has_failed_ && !stop_signal_ && !all_deciding_succeeded()) {
    stop_signal_ = SIGKILL;
  }
  return state_ == State::Killing ? std::vector<Action>{} : kill();
}

std::vector<Action> Supervisor::handle(const NothingLeft& /*nothing*/) {
  if (alive_ > 0) {
    return {};
  }
  state_ = State::Finished;
  return {Finish{}};
}

std::vector<Action> Supervisor::handle(const GaveUpWaiting& /*gave_up*/) {
  gave_up_ = true;
  state_ = State::Finished;
  return {Finish{}};
}

/// Records the first failure only.
void Supervisor::note_failure(std::optional<std::size_t> worker, int exit_code) {
  if (!std::exchange(has_failed_, true)) {
    first_failure_ = worker;
    exit_code_ = exit_code;
  }
}

std::vector<Action> Supervisor::fail(std::optional<std::size_t> worker, int exit_code) {
  note_failure(worker, exit_code);
  // Workers would wait for a lost one in a collective until their own timeout.
  std::vector<Action> actions = send_stop_signal(SIGTERM);
  actions.insert(actions.begin(), ReportFailure{worker});
  return actions;
}

std::vector<Action> Supervisor::send_stop_signal(int signal) {
  state_ = State::Stopping;
  sent_signals_.insert(signal);
  grace_runs_ = true;
  std::vector<Action> actions = {CancelStart{}, SendStopSignal{signal}, StartGrace{}};
  if (alive_ == 0) {
    actions.emplace_back(StopOrphans{});
  }
  return actions;
}

std::vector<Action> Supervisor::after_an_end() {
  if (alive_ > 0 || state_ == State::Killing) {
    return {};
  }
  if (state_ == State::Running) {
    state_ = State::Sweeping;
  }
  if (grace_runs_) {
    return {StopOrphans{}};
  }
  grace_runs_ = true;
  return {StopOrphans{}, StartGrace{}};
}

std::vector<Action> Supervisor::kill() {
  state_ = State::Killing;
  sent_signals_.insert(SIGKILL);
  return {CancelStart{}, KillEverything{}};
}

bool Supervisor::all_deciding_succeeded() const {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    if (decides_success_[i] && outcomes_[i] != WorkerOutcome::Succeeded) {
      return false;
    }
  }
  return true;
}

AttemptOutcome Supervisor::conclusion() const {
  AttemptOutcome conclusion;
  conclusion.first_failure = first_failure_;
  conclusion.stop_signal = stop_signal_;
  conclusion.gave_up = gave_up_;
  if (has_failed_) {
    conclusion.verdict = Verdict::Failed;
    conclusion.exit_code = exit_code_;
  } else if (stop_signal_) {
    const JobEnd end = end_by_signal(*stop_signal_);
    conclusion.verdict = end.verdict;
    conclusion.exit_code = end.exit_code;
  }
  return conclusion;
}

}  // namespace muster
