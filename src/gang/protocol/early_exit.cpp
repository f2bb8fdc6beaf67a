// The first rank that ended with 0, and how long the others may go on.
#include "gang/protocol/early_exit.hpp"

#include "base/text.hpp"

namespace muster::gang {

void EarlyExit::begin() {
  first_.reset();
  rank_zero_ended_ = false;
  deadline_.reset();
}

void EarlyExit::note_success(NodeRank node,
                             const std::string& host,
                             const Succeeded& worker,
                             Instant now) {
  constexpr std::chrono::seconds kWhenForbidden{10};
  const bool is_worker = worker.pid > 0;  // a node on which no worker decides says so without one
  rank_zero_ended_ = rank_zero_ended_ || (is_worker && worker.global_rank.value == 0);
  if (first_ || !is_worker) {
    return;
  }
  first_ = FirstSuccess{node, host, worker, now};
  if (timeout_) {
    deadline_ = now + *timeout_;
  } else if (on_early_exit_ == OnEarlyExit::Fail) {
    deadline_ = now + kWhenForbidden;
  }
}

JobEnd EarlyExit::end_after_deadline(Instant now) const {
  const Succeeded& worker = first_->worker;
  const std::string since = format_seconds(seconds_of(now - first_->at)) + " s";
  if (on_early_exit_ == OnEarlyExit::Wait) {
    return make_end(EndKind::Hung,
                    "rank " + to_string(worker.global_rank) + " ended with 0 " + since +
                        " ago, and others still run");
  }
  Failure failure;
  failure.node = first_->node;
  failure.host = first_->host;
  failure.role = worker.role;
  failure.global_rank = worker.global_rank;
  failure.local_rank = worker.local_rank;
  failure.pid = worker.pid;
  failure.status = ExitStatus::exited(0);
  failure.exit_code = 1;
  failure.run_time_seconds = worker.run_time_seconds;
  failure.is_early_exit = true;
  JobEnd end = end_by_failure(failure);
  end.reason = "rank " + to_string(failure.global_rank) + " ended early: " + since +
               " later others still run";
  return end;
}

}  // namespace muster::gang
