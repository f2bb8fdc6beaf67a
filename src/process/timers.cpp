// Implements the timers of an attempt; their owner decides what happens when one ends.
#include "process/timers.hpp"

#include <algorithm>
#include <csignal>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kProgressInterval{10};
/// Processes killed with the last worker disappear at once. What is left after this many rounds is out of reach.
constexpr int kMostBlindRounds = 25;

}  // namespace

void DelayedCall::ask() {
  if (is_pending_) {
    return;
  }
  is_pending_ = true;
  timer_.expires_after(delay_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && is_pending_) {
      is_pending_ = false;
      call_();
    }
  });
}

void DelayedCall::cancel() {
  is_pending_ = false;
  timer_.cancel();
}

void Debounce::ask() {
  constexpr int kMostWhiles = 5;
  latest_ = latest_.value_or(Clock::now() + kMostWhiles * quiet_);
  timer_.expires_at(std::min(Clock::now() + quiet_, *latest_));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && latest_) {
      latest_.reset();
      call_();
    }
  });
}

void Debounce::cancel() {
  latest_.reset();
  timer_.cancel();
}

Grace::Grace(boost::asio::io_context& io, std::chrono::milliseconds length)
    : timer_(io),
      progress_(io, kProgressInterval,
                [this] {
                  progress_.ask();
                  on_progress();
                }),
      length_(length) {}

void Grace::start() {
  runs_ = true;
  timer_.expires_after(length_);
  wait();
  progress_.ask();
}

void Grace::wait() {
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && runs_) {
      on_end();
    }
  });
}

void Grace::shorten(std::chrono::milliseconds most) {
  length_ = std::min(length_, most);
  if (runs_ && Clock::now() + most < timer_.expiry()) {
    timer_.expires_after(most);
    wait();
  }
}

void Grace::cancel() {
  runs_ = false;
  timer_.cancel();
  progress_.cancel();
}

std::chrono::nanoseconds Grace::left() const {
  return timer_.expiry() - Clock::now();
}

void KillLoop::start() {
  runs_ = true;
  deadline_ = Clock::now() + kKillLimit;
  timer_.expires_at(Clock::now());
  wait();
}

void KillLoop::wait() {
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && runs_) {
      round();
    }
  });
}

void KillLoop::round() {
  workers_.signal_all(SIGKILL);  // needs no /proc
  const std::vector<Process> found = sweeper_.kill_round(excluded_.pids());
  const bool is_blind = workers_.living_pids().empty() && !is_proc_ours();
  blind_rounds_ = is_blind ? blind_rounds_ + 1 : 0;
  on_round(found, Clock::now() > deadline_ || blind_rounds_ > kMostBlindRounds);
  if (runs_) {
    timer_.expires_after(kKillRound);
    wait();
  }
}

void KillLoop::cancel() {
  runs_ = false;
  timer_.cancel();
}

}  // namespace muster
