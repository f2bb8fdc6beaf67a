// What an attempt tells its user while it runs.
#include "attempt.hpp"

#include <muster/base/text.hpp>
#include <muster/logs/messages.hpp>

namespace muster {
namespace {

double seconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string Attempt::describe_worker(std::size_t worker) const {
  const WorkerPlan& planned = plan_.workers[worker];
  return describe_rank(planned.global_rank, planned.label) + " (pid " +
         std::to_string(workers_.pid(worker)) + ")";
}

std::vector<int> Attempt::living_ranks() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i)) {
      ranks.push_back(plan_.workers[i].global_rank.value);
    }
  }
  return ranks;
}

std::string Attempt::describe_failure(std::size_t worker) const {
  if (unstartable_ == worker) {
    const WorkerPlan& planned = plan_.workers[worker];
    return describe_rank(planned.global_rank, planned.label) + " could not be started";
  }
  return describe_worker(worker) + " failed (" + supervisor_.status(worker)->describe() + ")";
}

/// The wait may be long, so it is said at its start what happened and how long it can take.
void Attempt::say_why_it_stops() const {
  const std::size_t living = living_ranks().size();
  if (living == 0) {
    return;
  }
  const Conclusion conclusion = supervisor_.conclusion();
  std::string reason;
  if (conclusion.first_failure) {
    reason = describe_failure(*conclusion.first_failure);
  } else if (conclusion.stop_signal) {
    reason = signal_name(*conclusion.stop_signal) + " received";
  } else if (!order_.empty()) {
    reason = order_;
  }
  say_info(reason + ": asking " + count_of(living, "worker") + " to end (" +
           signal_name(asked_with_) + "), killing what is left after " +
           format_seconds(seconds_of(grace_)) + " s");
}

void Attempt::say_death(const Death& death) const {
  if (is_said(Level::Debug)) {
    const std::vector<int> living = living_ranks();
    say_debug(describe_worker(death.worker) + " ended: " + death.status.describe() +
              (living.empty() ? "" : "; still running: ranks " + describe_ranges(living)));
  }
}

void Attempt::say_who_is_awaited() const {
  const std::vector<int> ranks = living_ranks();
  const double left = seconds_of(grace_timer_.expiry() - Clock::now());
  say_info(
      "waiting for " +
      (ranks.empty() ? "processes that workers left behind" : "ranks " + describe_ranges(ranks)) +
      " to end, " + format_seconds(left) + " s left");
}

/// Once, however many workers it concerns: containers forbid the call for all of them.
void Attempt::say_memory_refusal() {
  if (workers_.memory_refusal() == 0 || said_memory_refusal_) {
    return;
  }
  said_memory_refusal_ = true;
  say_warning(system_error("the workers are bound to their CPUs but not to their memory, which is "
                           "taken where it is first touched: set_mempolicy",
                           workers_.memory_refusal())
                  .message);
}

void Attempt::say_what_is_left(const std::vector<Process>& left) {
  const bool is_success = supervisor_.conclusion().verdict == Verdict::Succeeded && order_.empty();
  if (left.empty() || !is_success || leftovers_were_said_) {
    return;
  }
  leftovers_were_said_ = true;
  const bool is_one = left.size() == 1;
  say_warning("all workers have ended, but " +
              (is_one ? std::string("1 process that they started is")
                      : std::to_string(left.size()) + " processes that they started are") +
              " left behind: " + describe_processes(left) + "; ending " + (is_one ? "it" : "them"));
}

void Attempt::say_who_was_stopped() {
  for (const Stopped& stopped : workers_.reaper().collect_stopped()) {
    if (terminal_.is_ours() && stopped.worker == reader_of_input()) {
      terminal_.stop_guard();                // Ctrl-Z
    } else if (stopped.signal != SIGTSTP) {  // that one came through us
      say_warning(describe_worker(stopped.worker) + " was stopped by " +
                  signal_name(stopped.signal) + "; it goes on with 'kill -CONT " +
                  std::to_string(stopped.pid) + "'");
    }
  }
}

void Attempt::say_who_is_overdue() const {
  const double seconds = seconds_of(grace_);
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      say_warning(describe_worker(i) + " did not end within " + format_seconds(seconds) + " s of " +
                  signal_name(asked_with_) + ": killing it");
    }
  }
}

}  // namespace muster
