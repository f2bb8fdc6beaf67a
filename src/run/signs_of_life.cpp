// Beats. Whoever waits for one waits for the loop to turn: see process/agent_watch.hpp.
#include "signs_of_life.hpp"

#include "process/agent_watch.hpp"
#include "process/signal_bell.hpp"
#include "process/without_guard.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::milliseconds kBeatInterval = AgentWatch::kTimeToAnswer / 4;

}  // namespace

void SignsOfLife::renew(const gang::Lease& lease) {
  link_.page.renew(lease, Clock::now());
  const bool is_leased = lease.limit.has_value();
  if (!std::exchange(is_leased_, is_leased) && is_leased) {
    wake_guard(link_.guard);  // it sleeps while nobody counts on us
  }
}

void SignsOfLife::listen() {
  if (link_.bell) {
    bell_.assign(link_.bell.release());
    wait_for_bell();
  }
}

void SignsOfLife::wait_for_bell() {
  using Descriptor = boost::asio::posix::stream_descriptor;
  bell_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error) {
      SignalBell::silence(bell_.native_handle());
      look_at_guard();
      wait_for_bell();
    }
  });
}

/// It may be about to read the signal, or about to stop.
void SignsOfLife::look_at_guard() {
  constexpr std::chrono::milliseconds kMoment{100};
  if (!continue_guard_that_was_asked(link_)) {
    return;
  }
  look_.expires_after(kMoment);
  look_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      look_at_guard();
    }
  });
}

void SignsOfLife::beat_from_now_on() {
  if (!std::exchange(beats_, true)) {
    beat_soon();
  }
}

void SignsOfLife::go_on_alone() {
  is_alone_ = true;
  put_off_end();
  beat_from_now_on();
}

void SignsOfLife::beat() {
  link_.page.beat(Clock::now());
  if (is_alone_) {
    put_off_end();
  }
}

void SignsOfLife::beat_soon() {
  timer_.expires_after(kBeatInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      beat();
      beat_soon();
    }
  });
}

}  // namespace muster
