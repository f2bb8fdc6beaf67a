// A look every second: nothing tells us that an orphan has come to us.
#include "left_by_ranks.hpp"

#include "process/started_ranks.hpp"

#include <csignal>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLookInterval{1};

}  // namespace

LeftByRanks::LeftByRanks(boost::asio::io_context& io,
                         const LaunchPlan& plan,
                         const Workers& workers,
                         std::chrono::milliseconds grace)
    : plan_(plan), workers_(workers), look_(io, kLookInterval, [this] { look(); }), grace_(grace) {}

void LeftByRanks::on_started(std::size_t worker) {
  if (plan_.workers[worker].is_unranked) {
    look_.ask();
  }
}

void LeftByRanks::look() {
  if (!is_a_starter_alive()) {
    return;
  }
  look_.ask();
  const std::vector<Process> left = left_by_own_ranks();
  if (left.empty() || !seen_) {  // a rank may be started between two looks: the next one asks
    seen_ = left.empty() ? std::nullopt : std::optional(Clock::now());
    return;
  }
  on_left(left);
  if (Clock::now() - *seen_ >= kLookInterval + grace_) {
    for (const Process& process : left) {
      signal_exactly(process, SIGKILL);
    }
  }
}

bool LeftByRanks::is_a_starter_alive() const {
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (plan_.workers[i].is_unranked && workers_.is_alive(i)) {
      return true;
    }
  }
  return false;
}

}  // namespace muster
