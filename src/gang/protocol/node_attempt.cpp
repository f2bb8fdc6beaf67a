// Passes on what happens to the workers of one node, and ends them when the leader says so or is lost.
#include "gang/protocol/node_attempt.hpp"

#include "base/signals.hpp"

#include <csignal>
#include <utility>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;

/// The reason, unless it will be logged with the end of the job: a loss is logged only once.
std::string unlogged_reason(const JobEnd& end, const std::string& reason) {
  return end.verdict == Verdict::Lost ? std::string() : reason;
}

}  // namespace

void NodeAttempt::begin(int attempt) {
  membership_.attempt = attempt;
  membership_.has_run = true;
  local_failure_.reset();
}

void NodeAttempt::run(StartAttempt start) {
  membership_.state = ParticipantState::Running;
  are_workers_gone_ = false;
  membership_.actions.emplace_back(std::move(start));
}

void NodeAttempt::skip() {
  membership_.state = ParticipantState::Over;
  membership_.send(AttemptOver{membership_.attempt, std::nullopt, std::nullopt});
}

void NodeAttempt::end_without_leader(const std::string& why, std::optional<milliseconds> most_grace) {
  std::optional<JobEnd>& end = membership_.known_end;
  if (!end) {
    end = membership_.in_this_attempt(signal_here_ ? end_by_signal(*signal_here_) : make_end(EndKind::Lost, why));
    end->first_failure = signal_here_ ? std::nullopt : local_failure_;
    // The report is logged with the end.
    membership_.say(signal_here_ ? Level::Error : Level::Debug, why);
  }
  if (membership_.has_workers()) {
    stop_workers(SIGTERM, unlogged_reason(*end, why), most_grace);
  } else {
    membership_.leave(*end);
  }
}

void NodeAttempt::stop_workers(int signal, std::string reason, std::optional<milliseconds> most_grace) {
  membership_.state = ParticipantState::Stopping;
  membership_.actions.emplace_back(StopAttempt{signal, std::move(reason), most_grace});
}

// --- Events of this node ------------------------------------------------------------------------

void NodeAttempt::on(const Failure& failure) {
  if (membership_.state == ParticipantState::Running) {
    membership_.state = ParticipantState::Stopping;
    local_failure_ = failure;
    membership_.send(Failed{membership_.attempt, failure});
  }
}

void NodeAttempt::on(const Succeeded& worker) {
  if (membership_.state == ParticipantState::Running) {
    Succeeded message = worker;
    message.attempt = membership_.attempt;
    membership_.send(std::move(message));
  }
}

void NodeAttempt::on(const WorkersGone& /*gone*/) {
  are_workers_gone_ = true;
}

void NodeAttempt::on(const AttemptOver& over) {
  membership_.state = ParticipantState::Over;
  if (over.failure) {
    local_failure_ = over.failure;
  }
  if (!membership_.is_linked) {
    membership_.leave(*membership_.known_end);
    return;
  }
  AttemptOver message = over;
  message.attempt = membership_.attempt;
  membership_.send(std::move(message));
}

/// Handles a stop signal. A person who repeats a request means "now". A scheduler signals every node, so a signal
/// that came here and elsewhere is one request.
void NodeAttempt::on(const StopSignal& stop) {
  const bool is_known = signal_here_ || (signal_elsewhere_ && signal_elsewhere_ != stop.signal);
  const bool is_urgent = is_known && is_from_keyboard(stop.signal);
  urgent_stops_ += is_urgent ? 1 : 0;
  signal_here_ = signal_here_.value_or(stop.signal);
  const bool limits_grace = is_known && stop.most_grace;  // the leader tells all nodes, this one too
  if (membership_.has_workers() && !stop.workers_know && !limits_grace) {
    membership_.actions.emplace_back(PassSignal{stop.signal});
  }
  membership_.send(StopFromAgent{stop.signal, is_urgent, stop.most_grace, stop.requester});
  if (membership_.has_workers()) {
    return;
  }
  // The leader informs the other nodes before it leaves. No node waits for an agent without workers, unless the agent
  // does not know yet how the job ended.
  const std::optional<JobEnd>& end = membership_.known_end;
  const bool is_over = membership_.state == ParticipantState::Over;
  const bool awaits_the_end = (membership_.is_leader && urgent_stops_ < 2) || (is_over && !end && urgent_stops_ == 0);
  if (!awaits_the_end) {
    membership_.leave(end ? *end : membership_.in_this_attempt(end_by_signal(*signal_here_)));
  }
}

void NodeAttempt::on(const WorkSaved& saved) {
  if (membership_.state == ParticipantState::Running) {
    membership_.send(WorkSaved{membership_.attempt, saved.process});
  }
}

/// Reports a hang, as node 0 does, even if this node's own workers have ended: only the leader knows whether the
/// attempt still runs.
void NodeAttempt::on(const Hung& hung) {
  if (membership_.state == ParticipantState::Running || membership_.state == ParticipantState::Over) {
    membership_.send(Hung{membership_.attempt, hung.why, hung.ranks});
  }
}

void NodeAttempt::on(const GuardGone& /*gone*/) {
  membership_.known_end = membership_.in_this_attempt(end_by_signal(SIGKILL));
  membership_.is_linked = false;
  membership_.actions.emplace_back(CloseLink{});
  if (membership_.has_workers()) {
    membership_.state = ParticipantState::Stopping;
    membership_.actions.emplace_back(KillAttempt{});
  } else {
    membership_.leave(*membership_.known_end);
  }
}

// --- Messages of the leader ---------------------------------------------------------------------

void NodeAttempt::take(const Stop& stop) {
  if (stop.attempt != membership_.attempt || !membership_.has_run) {
    return;  // of an attempt that is over
  }
  if (stop.end) {
    membership_.known_end = stop.end;
    signal_elsewhere_ = stop.end->verdict == Verdict::Stopped ? std::optional(stop.signal) : std::nullopt;
  }
  if (membership_.has_workers() && stop.is_urgent) {
    membership_.actions.emplace_back(KillAttempt{});
  } else if (membership_.has_workers()) {
    stop_workers(stop.signal, stop.end ? unlogged_reason(*stop.end, stop.reason) : stop.reason, stop.most_grace);
  }
}

void NodeAttempt::take(const Suspend& suspend) {
  if (suspend.attempt == membership_.attempt && membership_.has_workers()) {
    membership_.actions.emplace_back(suspend.notice);
  }
}

void NodeAttempt::take(const Hung& hung) {
  if (hung.attempt == membership_.attempt && membership_.state == ParticipantState::Running) {
    membership_.actions.emplace_back(hung);
  }
}

void NodeAttempt::take(const Finish& finish) {
  membership_.known_end = finish.end;
  if (membership_.has_workers()) {  // the leader gave up on this node and does not wait for it
    stop_workers(SIGTERM, unlogged_reason(finish.end, finish.end.reason));
    return;
  }
  membership_.leave(finish.end);
}

}  // namespace muster::gang
