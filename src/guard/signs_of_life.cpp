// Beats. Whoever waits for one waits for the loop to turn: see process/agent_watch.hpp.
#include "guard/signs_of_life.hpp"

#include "guard/agent_watch.hpp"
#include "guard/signal_bell.hpp"
#include "guard/without_guard.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::milliseconds kBeatInterval = AgentWatchdog::kTimeToAnswer / 4;

}  // namespace

void HeartbeatSender::renew(const gang::Lease& lease) {
  link_.page.renew(lease, Clock::now());
  const bool is_leased = lease.limit.has_value();
  if (!std::exchange(is_leased_, is_leased) && is_leased) {
    wake_guard(link_.guard);  // it sleeps while nobody counts on us
  }
}

void HeartbeatSender::listen() {
  if (link_.notifier) {
    signal_notifier_.assign(link_.notifier.release());
    wait_for_bell();
  }
}

void HeartbeatSender::wait_for_bell() {
  using Descriptor = boost::asio::posix::stream_descriptor;
  signal_notifier_.async_wait(Descriptor::wait_read,
                              [this](const boost::system::error_code& error) {
                                if (!error) {
                                  GuardSignalNotifier::silence(signal_notifier_.native_handle());
                                  check_guard();
                                  wait_for_bell();
                                }
                              });
}

/// It may be about to read the signal, or about to stop.
void HeartbeatSender::check_guard() {
  constexpr std::chrono::milliseconds kMoment{100};
  if (!resume_stopped_guard(link_)) {
    return;
  }
  sample_timer_.expires_after(kMoment);
  sample_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      check_guard();
    }
  });
}

void HeartbeatSender::beat_from_now_on() {
  if (!std::exchange(beats_, true)) {
    beat_soon();
  }
}

void HeartbeatSender::go_on_alone() {
  is_alone_ = true;
  feed_parent_death_timer();
  beat_from_now_on();
}

void HeartbeatSender::beat() {
  link_.page.beat(Clock::now());
  if (is_alone_) {
    feed_parent_death_timer();
  }
}

void HeartbeatSender::beat_soon() {
  timer_.expires_after(kBeatInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      beat();
      beat_soon();
    }
  });
}

}  // namespace muster
