// A look every second: nothing tells us that an orphan has come to us.
#include "agent/left_by_ranks.hpp"

#include "process/started_ranks.hpp"

#include <csignal>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRankPollInterval{1};

}  // namespace

RankOrphans::RankOrphans(boost::asio::io_context& io,
                         const LaunchPlan& plan,
                         const Workers& workers,
                         std::chrono::milliseconds grace)
    : plan_(plan),
      workers_(workers),
      timer_(io, kRankPollInterval, [this] { look(); }),
      grace_(grace) {}

void RankOrphans::on_started(std::size_t worker) {
  if (plan_.workers[worker].is_unranked) {
    timer_.ask();
  }
}

void RankOrphans::look() {
  if (!is_a_starter_alive()) {
    return;
  }
  timer_.ask();
  const std::vector<Process> left = left_by_local_ranks();
  if (left.empty() || !seen_) {  // a rank may be started between two looks: the next one asks
    seen_ = left.empty() ? std::nullopt : std::optional(Clock::now());
    return;
  }
  on_left(left);
  if (Clock::now() - *seen_ >= kRankPollInterval + grace_) {
    for (const Process& process : left) {
      signal_exactly(process, SIGKILL);
    }
  }
}

bool RankOrphans::is_a_starter_alive() const {
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (plan_.workers[i].is_unranked && workers_.is_alive(i)) {
      return true;
    }
  }
  return false;
}

}  // namespace muster
