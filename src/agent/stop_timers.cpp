// Implements the timers of a stop; their owner decides what happens when one ends.
#include "agent/stop_timers.hpp"

#include <algorithm>
#include <csignal>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kProgressInterval{10};
/// Limit of rounds without /proc and without a living worker. What is left after these rounds is out of reach.
constexpr int kMostBlindRounds = 25;

}  // namespace

Grace::Grace(StopTimersOwner& owner, boost::asio::io_context& io, std::chrono::milliseconds length)
    : owner_(owner),
      timer_(io),
      progress_(io, kProgressInterval,
                [this] {
                  progress_.ask();
                  owner_.on_grace_progress();
                }),
      length_(length) {}

void Grace::start() {
  end_after(length_);
  progress_.ask();
}

void Grace::shorten(std::chrono::milliseconds most) {
  length_ = std::min(length_, most);
  if (timer_.is_pending() && Clock::now() + most < timer_.expiry()) {
    end_after(most);
  }
}

void Grace::cancel() {
  timer_.cancel();
  progress_.cancel();
}

std::chrono::nanoseconds Grace::left() const {
  return timer_.expiry() - Clock::now();
}

void KillLoop::start() {
  deadline_ = Clock::now() + kKillLimit;
  timer_.start({}, [this] { round(); });
}

void KillLoop::round() {
  workers_.signal_all(SIGKILL);  // needs no /proc
  const std::vector<Process> found = sweeper_.kill_round(excluded_());
  const bool is_blind = workers_.living_pids().empty() && !is_proc_ours();
  blind_rounds_ = is_blind ? blind_rounds_ + 1 : 0;
  timer_.start(kKillRound, [this] { round(); });
  owner_.on_kill_round(found, Clock::now() > deadline_ || blind_rounds_ > kMostBlindRounds);
}

}  // namespace muster
